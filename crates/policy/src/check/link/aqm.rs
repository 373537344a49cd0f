//! Which classes' queues are managed, and how.

use super::background;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{ReadClass, ReadLink, bps_of};
use crate::{Aqm, AqmKind, Code, Gate};

/// RFC 8289, section 4.4: 5 % to 10 % of the interval.
const TARGET_DEFAULT_NS: u32 = 5_000_000;
/// RFC 8289, section 4.3: round trips of most paths are below it.
const INTERVAL_DEFAULT_NS: u32 = 100_000_000;

pub(super) fn check(link: &ReadLink, findings: &mut Findings) {
    for class in link.classes.iter() {
        let Some((AqmKind::FqCodel, span)) = &class.aqm.kind else {
            continue;
        };
        let why = if class.per_flow {
            "it is per_flow, so that every flow has a queue already"
        } else if background::gate(class) == Some(Gate::Sender) {
            "its gate blocks the class as a whole"
        } else {
            continue;
        };
        let error = Diagnostic::error(
            Code::AqmWithoutTurns,
            format!(
                "flows of class `{}` cannot take turns: {why}",
                class.shown_name()
            ),
            "write aqm = \"codel\", or take the key out",
        );
        findings.add(error.at(span, "flow queues of a class"));
    }
}

/// The class's queue management, with defaults filled in.
pub(super) fn resolve(class: &ReadClass, has_stations: bool) -> Aqm {
    let kind = class.aqm.kind.as_ref().map(|(kind, _)| *kind);
    Aqm {
        kind: kind.unwrap_or_else(|| default_kind(class, has_stations)),
        target_ns: class.aqm.target_ns.unwrap_or(TARGET_DEFAULT_NS),
        interval_ns: class.aqm.interval_ns.unwrap_or(INTERVAL_DEFAULT_NS),
    }
}

/// That of a class without any keys.
pub(super) fn implicit(has_stations: bool) -> Aqm {
    Aqm {
        kind: match has_stations {
            true => AqmKind::Off,
            false => AqmKind::FqCodel,
        },
        target_ns: TARGET_DEFAULT_NS,
        interval_ns: INTERVAL_DEFAULT_NS,
    }
}

fn default_kind(class: &ReadClass, has_stations: bool) -> AqmKind {
    let rate_bps = bps_of(&class.share.rate);
    let is_paced =
        rate_bps.is_some() && class.share.limit().and_then(|limit| limit.bps) == rate_bps;
    if has_stations {
        // A weight of 0 is to hold packets, not to drop them.
        AqmKind::Off
    } else if class.per_flow || is_paced || background::gate(class) == Some(Gate::Sender) {
        AqmKind::Codel
    } else {
        AqmKind::FqCodel
    }
}
