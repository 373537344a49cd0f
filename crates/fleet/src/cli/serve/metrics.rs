//! What hosts report, as OpenMetrics.

use std::fmt::Write;

use takt_fleet::operator::{HostView, View};

pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Metric = (
    &'static str,
    &'static str,
    &'static str,
    fn(&HostView) -> u64,
);

/// Name, kind, meaning and value.
const METRICS: [Metric; 11] = [
    (
        "takt_fleet_host_revision",
        "gauge",
        "Number of the revision that the host obeys.",
        |host| host.report.number,
    ),
    (
        "takt_fleet_host_policy_revision",
        "gauge",
        "Number of the revision that brought the policy in force.",
        |host| host.report.in_force,
    ),
    (
        "takt_fleet_host_drifted",
        "gauge",
        "Whether another policy than the fleet's is in force.",
        |host| u64::from(host.report.drifted),
    ),
    (
        "takt_fleet_host_problems",
        "gauge",
        "Problems that takt status names.",
        |host| u64::from(host.report.sums.problems),
    ),
    (
        "takt_fleet_host_sent_packets",
        "counter",
        "Packets sent, of all classes.",
        |host| host.report.sums.sent,
    ),
    (
        "takt_fleet_host_dropped_packets",
        "counter",
        "Packets dropped, of all classes.",
        |host| host.report.sums.dropped,
    ),
    (
        "takt_fleet_host_forged_revisions",
        "counter",
        "Refused: no pinned key signed them.",
        |host| host.report.refused.forged,
    ),
    (
        "takt_fleet_host_replayed_revisions",
        "counter",
        "Refused: their numbers had been used.",
        |host| host.report.refused.replayed,
    ),
    (
        "takt_fleet_host_foreign_revisions",
        "counter",
        "Refused: of another fleet, or not understood.",
        |host| host.report.refused.foreign,
    ),
    (
        "takt_fleet_host_flooded_messages",
        "counter",
        "Not looked at: there were too many.",
        |host| host.report.refused.flooded,
    ),
    (
        "takt_fleet_host_duplicate_reports",
        "counter",
        "Reports of the host's identity by another agent.",
        |host| host.report.refused.duplicate,
    ),
];

/// All of a fleet.
pub fn text(view: &View) -> String {
    let mut text = String::new();
    for (name, kind, help, value) in METRICS {
        let total = if kind == "counter" { "_total" } else { "" };
        let _ = writeln!(text, "# TYPE {name} {kind}\n# HELP {name} {help}");
        for host in &view.hosts {
            let _ = writeln!(
                text,
                "{name}{total}{{{}}} {}",
                labels(view, host),
                value(host)
            );
        }
    }
    let name = "takt_fleet_host_age_seconds";
    let _ = writeln!(
        text,
        "# TYPE {name} gauge\n# UNIT {name} seconds\n# HELP {name} Since the last report."
    );
    for host in &view.hosts {
        let _ = writeln!(text, "{name}{{{}}} {}", labels(view, host), host.age_s);
    }
    let name = "takt_fleet_host_state";
    let _ = writeln!(
        text,
        "# TYPE {name} info\n# HELP {name} How the host is with what is assigned to it."
    );
    for host in &view.hosts {
        let labels = labels(view, host);
        let _ = writeln!(text, "{name}_info{{{labels},state=\"{}\"}} 1", host.state);
    }
    text + "# EOF\n"
}

/// Values of labels and identities have no character that would need escaping.
fn labels(view: &View, host: &HostView) -> String {
    let mut text = format!("fleet=\"{}\",host=\"{}\"", view.fleet, host.report.id);
    for label in ["site", "role"] {
        if let Some(value) = host.report.labels.get(label) {
            let _ = write!(text, ",{label}=\"{value}\"");
        }
    }
    text
}
