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
mod shown;
mod taktd;

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use miniz_oxide::inflate::decompress_to_vec;
use serde::Serialize;
use takt_policy::Code;

/// A reason under its code.
#[derive(Debug)]
pub struct Reason {
    /// Such as `takt::host::capability`.
    pub code: &'static str,
    /// Its name in `takt status` and `takt doctor`: a key of their JSON, a column or a word.
    shown_as: &'static [&'static str],
}

/// Explanations by code, without its leading `takt::` (`build.rs`).
static EXPLANATIONS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/explanations.z"));
    let bytes = decompress_to_vec(packed).unwrap_or_default();
    let all = String::from_utf8(bytes).unwrap_or_default();
    let texts: Vec<&str> = all.split_terminator('\0').collect();
    let pairs = texts.chunks_exact(2);
    pairs
        .map(|pair| (pair[0].to_owned(), pair[1].to_owned()))
        .collect()
});

impl Reason {
    /// The code without its leading `takt::`.
    pub fn short(&self) -> &'static str {
        bare(self.code)
    }
}

/// Declares the reasons of one area, and a list of them. `build.rs` reads the explanations.
macro_rules! reasons {
    ($($name:ident = $code:literal $([$($word:literal),+])?: $explanation:literal;)*) => {
        $(pub static $name: $crate::reasons::Reason = $crate::reasons::Reason {
            code: $code,
            shown_as: &[$($($word),+)?],
        };)*
        pub static ALL: &[&$crate::reasons::Reason] = &[$(&$name),*];
    };
}
use reasons;

/// The output of `takt explain` for one code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub code: Cow<'static, str>,
    pub shown_as: &'static [&'static str],
    pub explanation: Cow<'static, str>,
}

impl Entry {
    /// Its area: the second part of its code.
    pub fn area(&self) -> &str {
        bare(&self.code).split("::").next().unwrap_or_default()
    }

    /// The first sentence of its explanation, on one line.
    pub fn title(&self) -> String {
        let end = self
            .explanation
            .find(['.', ':'])
            .unwrap_or(self.explanation.len());
        self.explanation[..end].replace('\n', " ")
    }
}

impl From<&'static Reason> for Entry {
    fn from(reason: &'static Reason) -> Self {
        Self {
            code: reason.code.into(),
            shown_as: reason.shown_as,
            explanation: { EXPLANATIONS.get(reason.short()) }
                .map_or("", String::as_str)
                .trim_ascii()
                .into(),
        }
    }
}

impl From<Code> for Entry {
    fn from(code: Code) -> Self {
        Self {
            code: code.as_str().into(),
            shown_as: &[],
            explanation: code.explanation().into(),
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
        shown::ALL,
    ];
    let of_policies = Code::ALL.iter().map(|code| Entry::from(*code));
    of_policies.chain(
        rooms
            .into_iter()
            .flatten()
            .map(|reason| Entry::from(*reason)),
    )
}

/// By code, with or without the leading `takt::`; by the displayed word; by a code's last part, if no
/// other code ends so; or as a key of policies.
pub fn find(name: &str) -> Option<Entry> {
    let is_named = |entry: &Entry| entry.code == name || bare(&entry.code) == name;
    all()
        .find(is_named)
        .or_else(|| all().find(|entry| entry.shown_as.contains(&name)))
        .or_else(|| by_last_part(name))
        .or_else(|| of_policies(name))
}

fn by_last_part(name: &str) -> Option<Entry> {
    let mut found = all().filter(|entry| entry.code.rsplit("::").next() == Some(name));
    found.next().filter(|_| found.next().is_none())
}

fn of_policies(name: &str) -> Option<Entry> {
    let meanings = takt_policy::meanings(name);
    (!meanings.is_empty()).then(|| Entry {
        code: format!("takt::key::{name}").into(),
        shown_as: &[],
        explanation: meanings.join("\n").into(),
    })
}

/// Every code begins with the program's name, which may be left out.
fn bare(code: &str) -> &str {
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
            let code = entry.code.as_ref();
            assert_eq!(find(code), Some(entry.clone()), "{code}");
            let bare = code.strip_prefix("takt::").expect(code);
            assert_eq!(find(bare), Some(entry.clone()), "{bare}");
            assert!(entry.explanation.len() > 60, "{code}");
        }
    }

    #[test]
    fn no_code_and_no_word_means_two_things() {
        let mut seen = BTreeSet::new();
        for entry in all() {
            assert!(seen.insert(entry.code.clone()), "{}", entry.code);
            for word in entry.shown_as {
                assert!(seen.insert((*word).into()), "{word} of {}", entry.code);
                assert_eq!(find(word), Some(entry.clone()), "{word}");
            }
        }
    }

    /// All counters have an explanation; a new one belongs into the list of one.
    #[test]
    fn every_counter_is_explained() {
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
            processor_behind: 0,
            refused: 0,
            stocked: 0,
            feeder_running: true,
        };
        let tasks = TaskCounters {
            releases: 0,
            missed: 0,
            outside: 0,
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
                assert!(find(name).is_some(), "{name}");
            }
        }
    }
}
