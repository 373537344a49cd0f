//! `[radio]` and the links with stations.

use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{ReadClass, ReadLink, ReadRadio};
use crate::value::closest;
use crate::{AqmKind, Code, Link, Radio, RadioSource};

pub(super) fn check(radio: &ReadRadio, links: &[ReadLink], findings: &mut Findings) {
    for (device, span) in radio.links.iter().flatten() {
        if links.iter().any(|link| link.device == *device) {
            continue;
        }
        let known = links.iter().map(|link| link.device.as_str());
        let help = match closest(device, known) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => {
                format!("add it, [link.\"{device}\"] with its rate, or take it out of the list")
            }
        };
        let error = Diagnostic::error(
            Code::UnknownLink,
            format!("the policy has no link `{device}`"),
            help,
        );
        findings.add(error.at(span, "unknown link"));
    }
    let mut covered = links.iter().filter(|link| radio.covers(&link.device));
    let is_empty = radio.links.as_ref().map_or(links.is_empty(), Vec::is_empty);
    if is_empty && !radio.reports() && !findings.has_errors() {
        let error = Diagnostic::error(
            Code::NoStations,
            "the policy has [radio] and no link with stations",
            "add the link, [link.wlan0] with its rate, or report_to on a client",
        );
        findings.add(error.at(&radio.span, "for nothing"));
    }
    let takes_turns = |class: &&ReadClass| matches!(class.aqm.kind, Some((AqmKind::FqCodel, _)));
    let apart = covered.find_map(|link| {
        let mut classes = link.classes.iter();
        let class = classes.find(|class| class.per_flow || takes_turns(class))?;
        Some((link, class))
    });
    if let Some((link, class)) = apart {
        let (key, instead) = if class.per_flow {
            ("per_flow", "take per_flow out")
        } else {
            ("aqm", "write aqm = \"codel\"")
        };
        let error = Diagnostic::error(
            Code::StationsPerFlow,
            format!(
                "class `{}` tells flows apart, and {} stations",
                class.shown_name(),
                link.device
            ),
            format!(
                "{instead}, or leave {} out of links in [radio]",
                link.device
            ),
        );
        let error = error.at(&class.span, key);
        findings.add(error.at(&radio.span, "stations"));
    }
}

/// The model; `links` know already whether they have stations.
pub(super) fn resolve(radio: ReadRadio, links: &[Link]) -> Radio {
    let has_stations = links.iter().any(|link| link.has_stations);
    let source = radio.source.unwrap_or(match radio.key_file {
        Some(_) if has_stations => RadioSource::Reports,
        _ => RadioSource::None,
    });
    let names = |links: Vec<(String, _)>| links.into_iter().map(|(name, _)| name).collect();
    Radio {
        interval_ns: radio.interval_ns,
        smoothing_ppm: radio.smoothing_ppm,
        decay_ppm: radio.decay_ppm,
        law: radio.law,
        links: radio.links.map(names),
        source,
        listen: radio.listen,
        key_file: radio.key_file,
        report: radio.report,
    }
}
