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

/// In one of so many rounds a test runs whose machine works for so many seconds: these few are most of
/// what all take.
const LONG: [(f64, usize); 2] = [(40.0, 4), (12.0, 2)];

/// The number of rounds of which a test runs in one.
pub fn shares(machine: &str, test: &str) -> usize {
    let known = BASELINE.machines.get(machine);
    let cost_s = known.and_then(|known| known.tests.get(test));
    cost_s.map_or(1, |cost_s| shares_of(*cost_s))
}

fn shares_of(cost_s: f64) -> usize {
    let long = LONG.iter().find(|(from_s, _)| cost_s >= *from_s);
    long.map_or(1, |(_, shares)| *shares)
}

#[test]
fn long_tests_take_turns() {
    assert_eq!([0.1, 11.9].map(shares_of), [1, 1]);
    assert_eq!([12.0, 39.9, 40.0, 400.0].map(shares_of), [2, 2, 4, 4]);
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
