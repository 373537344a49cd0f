//! The two text formats of metrics. The client library for OpenMetrics does not write the older one,
//! which node_exporter reads.

use std::fmt::Write;

use super::families::{Family, Kind, Labels};

/// How metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0: a counter's family is named without `_total`, units are told, and the end is
    /// marked.
    OpenMetrics,
    /// Prometheus' text format 0.0.4, which node_exporter reads.
    Text,
}

/// All families, also those without samples: their names are known then.
pub fn exposition(families: &[Family], format: Format) -> String {
    let mut text = String::new();
    for family in families {
        // Writing to a string does not fail.
        let _ = write_family(&mut text, family, format);
    }
    if format == Format::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

fn write_family(text: &mut String, family: &Family, format: Format) -> std::fmt::Result {
    let name = match family.unit {
        "" => family.name.to_owned(),
        unit => format!("{}_{unit}", family.name),
    };
    let (kind, sample) = match family.kind {
        Kind::Counter => ("counter", format!("{name}_total")),
        Kind::Gauge => ("gauge", name.clone()),
    };
    let described = match format {
        Format::OpenMetrics => &name,
        Format::Text => &sample,
    };
    writeln!(text, "# HELP {described} {}", family.help)?;
    writeln!(text, "# TYPE {described} {kind}")?;
    if format == Format::OpenMetrics && !family.unit.is_empty() {
        writeln!(text, "# UNIT {described} {}", family.unit)?;
    }
    for (labels, value) in &family.samples {
        writeln!(text, "{sample}{} {value}", braced(labels))?;
    }
    Ok(())
}

fn braced(labels: &Labels) -> String {
    let label = |(name, value): &(&str, String)| format!("{name}=\"{}\"", escaped(value));
    let labels: Vec<_> = labels.iter().map(label).collect();
    if labels.is_empty() {
        String::new()
    } else {
        format!("{{{}}}", labels.join(","))
    }
}

/// Names of devices may hold quotes and backslashes.
fn escaped(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    escaped.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families() -> [Family; 2] {
        [
            Family {
                name: "takt_class_sent",
                unit: "bytes",
                kind: Kind::Counter,
                help: "Bytes on the wire",
                samples: vec![(vec![("device", "a\"b\\".to_owned())], 1e15)],
            },
            Family {
                name: "takt_policy_pending",
                unit: "",
                kind: Kind::Gauge,
                help: "Whether",
                samples: vec![(Vec::new(), 0.25)],
            },
        ]
    }

    #[test]
    fn openmetrics_has_units_and_an_end() {
        assert_eq!(
            exposition(&families(), Format::OpenMetrics),
            "# HELP takt_class_sent_bytes Bytes on the wire\n\
             # TYPE takt_class_sent_bytes counter\n\
             # UNIT takt_class_sent_bytes bytes\n\
             takt_class_sent_bytes_total{device=\"a\\\"b\\\\\"} 1000000000000000\n\
             # HELP takt_policy_pending Whether\n\
             # TYPE takt_policy_pending gauge\n\
             takt_policy_pending 0.25\n\
             # EOF\n"
        );
    }

    #[test]
    fn the_text_format_names_counters_by_their_samples() {
        let text = exposition(&families(), Format::Text);
        assert!(text.starts_with(
            "# HELP takt_class_sent_bytes_total Bytes on the wire\n\
             # TYPE takt_class_sent_bytes_total counter\n\
             takt_class_sent_bytes_total{"
        ));
        assert!(!text.contains("UNIT") && !text.contains("EOF"));
    }
}
