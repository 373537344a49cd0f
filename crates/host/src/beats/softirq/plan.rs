//! What to change: from what is wanted, what is found and what was changed before.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use takt_policy::Beats;

/// Below /proc/sys/net/core, of the host. The first bounds how many packets the backlog of a
/// CPU, in a thread or not, hands up at once, and how many a qdisc hands down. The second
/// bounds how many one run of the receive softirq polls in all. A device's own poll takes up to
/// 64 packets, and there is no such file for it. netdev_budget_usecs counts whole ticks, and so
/// small a batch is done by then.
pub(super) const BATCH_SYSCTLS: [&str; 2] = ["dev_weight", "netdev_budget"];

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Knob {
    /// Whether a device processes in threads: 1, or 0. Another device may have its name later,
    /// but not its name and its index.
    Threaded { ifindex: u32, name: String },
    /// A file below /proc/sys/net/core.
    Sysctl(String),
}

/// A setting and its previous value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Setting {
    pub knob: Knob,
    pub before: u32,
    pub set: u32,
}

/// What to set, given what is found. `last` was set before and may still be in force.
pub(super) fn plan(beats: &Beats, found: &BTreeMap<Knob, u32>, last: &[Setting]) -> Vec<Setting> {
    let setting = |(knob, now): (&Knob, &u32)| {
        let set = wanted(beats, knob, *now)?;
        let ours = last
            .iter()
            .find(|last| last.knob == *knob && last.set == *now);
        let before = ours.map_or(*now, |ours| ours.before);
        (before != set).then(|| Setting {
            knob: knob.clone(),
            before,
            set,
        })
    };
    found.iter().filter_map(setting).collect()
}

/// The value that a setting should have; `None` to leave it alone.
fn wanted(beats: &Beats, knob: &Knob, now: u32) -> Option<u32> {
    match knob {
        // 2 is a thread that polls all the time, which an administrator has chosen.
        Knob::Threaded { .. } => (beats.threaded_napi && now <= 1).then_some(1),
        Knob::Sysctl(_) => Some(beats.batch_packets),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beats(threaded_napi: bool, batch_packets: u32) -> Beats {
        Beats {
            threaded_napi,
            batch_packets,
            ..Beats::default()
        }
    }

    fn eth(ifindex: u32) -> Knob {
        Knob::Threaded {
            ifindex,
            name: format!("eth{ifindex}"),
        }
    }

    fn weight() -> Knob {
        Knob::Sysctl("dev_weight".to_owned())
    }

    fn found<const N: usize>(values: [(Knob, u32); N]) -> BTreeMap<Knob, u32> {
        BTreeMap::from(values)
    }

    fn setting(knob: Knob, before: u32, set: u32) -> Setting {
        Setting { knob, before, set }
    }

    #[test]
    fn devices_get_threads_and_batches_a_bound() {
        let found = found([(eth(1), 0), (weight(), 64)]);
        assert_eq!(
            plan(&beats(true, 8), &found, &[]),
            [setting(eth(1), 0, 1), setting(weight(), 64, 8)]
        );
        assert_eq!(
            plan(&beats(false, 8), &found, &[]),
            [setting(weight(), 64, 8)]
        );
    }

    #[test]
    fn a_value_that_is_set_already_is_not_restored_later() {
        let found = found([(eth(1), 1), (eth(2), 2), (weight(), 8)]);
        assert_eq!(plan(&beats(true, 8), &found, &[]), []);
    }

    #[test]
    fn again_remembers_what_stood_before_the_first() {
        let first = plan(&beats(true, 8), &found([(eth(1), 0), (weight(), 64)]), &[]);
        let now = found([(eth(1), 1), (eth(2), 0), (weight(), 8)]);
        assert_eq!(
            plan(&beats(true, 16), &now, &first),
            [
                setting(eth(1), 0, 1),
                setting(eth(2), 0, 1),
                setting(weight(), 64, 16)
            ]
        );
        // As it was before takt: nothing to set, and the first is restored.
        assert_eq!(plan(&beats(false, 64), &found([(weight(), 8)]), &first), []);
    }

    #[test]
    fn a_value_set_meanwhile_becomes_the_previous_value() {
        let first = plan(&beats(false, 8), &found([(weight(), 64)]), &[]);
        assert_eq!(
            plan(&beats(false, 8), &found([(weight(), 300)]), &first),
            [setting(weight(), 300, 8)]
        );
    }
}
