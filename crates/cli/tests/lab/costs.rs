//! What machines and tests are known to take: a run's ledger, recorded in `lab-baseline.json`.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

/// Machines by name without their part.
#[derive(Debug, Deserialize)]
struct Baseline {
    machines: BTreeMap<String, Known>,
}

#[derive(Debug, Default, Deserialize)]
struct Known {
    /// The emulator's time, of all boots.
    cpu_s: f64,
    /// The machine's time.
    tests: BTreeMap<String, f64>,
}

static BASELINE: LazyLock<Baseline> = LazyLock::new(|| {
    let text = include_str!("../lab-baseline.json");
    serde_json::from_str(text).expect("recorded by takt-suite")
});

/// In seconds; none is known of a new machine, which then comes last.
pub fn of_machine(machine: &str) -> f64 {
    let known = BASELINE.machines.get(machine);
    known.map_or(0.0, |known| known.cpu_s)
}

/// The part of a machine's tests that a test belongs to, where all take about as long; none for a
/// new test.
pub fn part(machine: &str, parts: usize, test: &str) -> Option<usize> {
    let known = &BASELINE.machines.get(machine)?.tests;
    if !known.contains_key(test) {
        return None;
    }
    let mut longest_first: Vec<_> = known.iter().collect();
    longest_first.sort_by(|one, other| other.1.total_cmp(one.1));
    let mut taken_s = vec![0.0_f64; parts];
    for (name, cost_s) in longest_first {
        let least = (0..parts).min_by(|one, other| taken_s[*one].total_cmp(&taken_s[*other]))?;
        taken_s[least] += cost_s;
        if name == test {
            return Some(least);
        }
    }
    None
}
