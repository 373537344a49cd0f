//! Every reason why something is refused, throttled, blocked, dropped or late, for `takt explain`.
//! Errors of a policy have their codes in `takt_policy`; these are the host's.

mod beats;
mod doctor;
mod host;
mod links;
mod of;
mod policies;
mod radio;
mod reservations;
mod taktd;

use serde::Serialize;
use takt_policy::Code;

/// A reason under its code.
#[derive(Debug)]
pub struct Reason {
    /// Such as `takt::host::capability`.
    pub code: &'static str,
    /// Its name in `takt status` and `takt doctor`: a key of their JSON, a column or a word.
    shown_as: &'static [&'static str],
    explanation: &'static str,
}

impl Reason {
    /// The code without its leading `takt::`.
    pub fn short(&self) -> &'static str {
        bare(self.code)
    }
}

/// Declares the reasons of one area, and a list of them.
macro_rules! reasons {
    ($($name:ident = $code:literal $([$($word:literal),+])?: $explanation:literal;)*) => {
        $(pub static $name: $crate::reasons::Reason = $crate::reasons::Reason {
            code: $code,
            shown_as: &[$($($word),+)?],
            explanation: $explanation,
        };)*
        pub static ALL: &[&$crate::reasons::Reason] = &[$(&$name),*];
    };
}
use reasons;

/// The output of `takt explain` for one code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub code: &'static str,
    pub shown_as: &'static [&'static str],
    pub explanation: &'static str,
}

impl From<&'static Reason> for Entry {
    fn from(reason: &'static Reason) -> Self {
        Self {
            code: reason.code,
            shown_as: reason.shown_as,
            explanation: reason.explanation.trim_ascii(),
        }
    }
}

impl From<Code> for Entry {
    fn from(code: Code) -> Self {
        Self {
            code: code.as_str(),
            shown_as: &[],
            explanation: code.explanation(),
        }
    }
}

/// All explanations: policies first, then by area.
pub fn all() -> impl Iterator<Item = Entry> {
    let rooms = [
        policies::ALL,
        host::ALL,
        reservations::ALL,
        taktd::ALL,
        links::ALL,
        radio::ALL,
        beats::ALL,
        doctor::ALL,
    ];
    let of_policies = Code::ALL.iter().map(|code| Entry::from(*code));
    of_policies.chain(
        rooms
            .into_iter()
            .flatten()
            .map(|reason| Entry::from(*reason)),
    )
}

/// By code, with or without the leading `takt::`, or by the displayed word.
pub fn find(name: &str) -> Option<Entry> {
    all()
        .find(|entry| entry.code == name || bare(entry.code) == name)
        .or_else(|| all().find(|entry| entry.shown_as.contains(&name)))
}

/// Every code begins with the program's name, which may be left out.
fn bare(code: &'static str) -> &'static str {
    code.strip_prefix("takt::").unwrap_or(code)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use takt_host::{Counters, Datagrams, DepartureStatus, FlowTotals, GapStatus, TaskCounters};

    use super::*;

    #[test]
    fn every_code_is_found_and_says_something() {
        for entry in all() {
            assert_eq!(find(entry.code), Some(entry), "{}", entry.code);
            let bare = entry.code.strip_prefix("takt::").expect(entry.code);
            assert_eq!(find(bare), Some(entry), "{bare}");
            assert!(entry.explanation.len() > 60, "{}", entry.code);
        }
    }

    #[test]
    fn no_code_and_no_word_means_two_things() {
        let mut seen = BTreeSet::new();
        for entry in all() {
            assert!(seen.insert(entry.code), "{}", entry.code);
            for word in entry.shown_as {
                assert!(seen.insert(word), "{word} of {}", entry.code);
                assert_eq!(find(word), Some(entry), "{word}");
            }
        }
    }

    /// Counters of completed work need no explanation; all others have one. A new counter belongs
    /// to one of these lists.
    #[test]
    fn every_counter_of_something_amiss_is_explained() {
        const PLAIN: &[&str] = &[
            "enqueued_packets",
            "enqueued_bytes",
            "sent_packets",
            "sent_bytes",
            "live",
            "created",
            "waiting_packets",
            "delayed_packets",
            "gap_frames",
            "gap_bytes",
            "stocked",
            "releases",
            "started",
            "completed",
            "passed",
            "used_ns",
            "used_max_ns",
            "read",
            "heard",
        ];
        let flows = FlowTotals {
            live: 0,
            created: 0,
            forgotten: 0,
            no_room_packets: 0,
        };
        let departures = DepartureStatus {
            waiting_packets: 0,
            delayed_packets: 0,
            beyond_horizon_packets: 0,
            undelayed_packets: 0,
        };
        let gap = GapStatus {
            gap_frames: 0,
            gap_bytes: 0,
            gap_missed: 0,
            fallbacks: 0,
            refused: 0,
            stocked: 0,
            feeder_running: true,
        };
        let tasks = TaskCounters {
            releases: 0,
            missed: 0,
            started: 0,
            completed: 0,
            overruns: 0,
            passed: 0,
            skipped: 0,
            used_ns: 0,
            used_max_ns: 0,
            cut_late_max_ns: 0,
            stolen_interrupts_ns: 0,
            stolen_higher_ns: 0,
        };
        let counted = [
            serde_json::to_value(Counters::default()),
            serde_json::to_value(Datagrams::default()),
            serde_json::to_value(tasks),
            serde_json::to_value(flows),
            serde_json::to_value(departures),
            serde_json::to_value(gap),
        ];
        for counters in counted {
            let counters = counters.expect("it is plain data");
            for name in counters.as_object().expect("it has names").keys() {
                let is_plain = PLAIN.contains(&name.as_str());
                assert!(is_plain != find(name).is_some(), "{name}");
            }
        }
    }
}
