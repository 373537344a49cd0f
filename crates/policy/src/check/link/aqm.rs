//! Which classes' queues are managed, and how.

use super::background;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{AQM_MAX_NS, ReadClass, ReadLink, bps_of};
use crate::{Aqm, AqmKind, Code, Gate};

/// RFC 8289, section 4.4: 5 % to 10 % of the interval.
const TARGET_DEFAULT_NS: u64 = 5_000_000;
/// RFC 8289, section 4.3: round trips of most paths are below it.
const INTERVAL_DEFAULT_NS: u64 = 100_000_000;
/// A queue that holds one frame does not stand (RFC 8289, section 4.4): at low rates the target is at
/// least one and a half of these.
const FRAME_BITS: u64 = 1514 * 8;
const NS_PER_S: u64 = 1_000_000_000;

/// Target and interval of a class that sends at this rate at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    target_ns: u32,
    interval_ns: u32,
}

impl Times {
    pub fn at(rate_bps: u64) -> Self {
        let frames_ns = 3 * FRAME_BITS * NS_PER_S / (2 * rate_bps.max(1));
        let target_ns = frames_ns.clamp(TARGET_DEFAULT_NS, AQM_MAX_NS);
        // It leaves a round trip the same time.
        let interval_ns = (INTERVAL_DEFAULT_NS + target_ns - TARGET_DEFAULT_NS).min(AQM_MAX_NS);
        Self {
            target_ns: target_ns as u32,
            interval_ns: interval_ns as u32,
        }
    }

    /// The times of a class that holds for a link of another rate as well: those that the file does not
    /// state follow the rate.
    pub fn moved(aqm: Aqm, from: Self, to: Self) -> Aqm {
        let follow = |now, from, to| if now == from { to } else { now };
        Aqm {
            target_ns: follow(aqm.target_ns, from.target_ns, to.target_ns),
            interval_ns: follow(aqm.interval_ns, from.interval_ns, to.interval_ns),
            ..aqm
        }
    }
}

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
pub(super) fn resolve(class: &ReadClass, has_stations: bool, link_bps: u64) -> Aqm {
    let kind = class.aqm.kind.as_ref().map(|(kind, _)| *kind);
    let limit_bps = class.share.limit().and_then(|limit| limit.bps);
    let times = Times::at(limit_bps.unwrap_or(link_bps).min(link_bps));
    Aqm {
        kind: kind.unwrap_or_else(|| default_kind(class, has_stations)),
        target_ns: class.aqm.target_ns.unwrap_or(times.target_ns),
        interval_ns: class.aqm.interval_ns.unwrap_or(times.interval_ns),
    }
}

/// That of a class without any keys.
pub(super) fn implicit(has_stations: bool, link_bps: u64) -> Aqm {
    let times = Times::at(link_bps);
    Aqm {
        kind: if has_stations {
            AqmKind::Off
        } else {
            AqmKind::FqCodel
        },
        target_ns: times.target_ns,
        interval_ns: times.interval_ns,
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
