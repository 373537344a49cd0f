//! What joining costs beside terminals without Takt: docs/crowd-law.md, "Competing".

use takt_crowd_model::{AccessPoint, Figures, Interval, Setup, measure};
use takt_medium::{Profile, SnrPath};

const S_NS: u64 = 1_000_000_000;
/// Each with another terminal that begins first: that one has most.
const SEEDS: u64 = 10;

/// From 10 to 60 s after the beginning.
fn runs(setup: &Setup, members: usize) -> Vec<Figures> {
    let run = |seed: u64| {
        let mut setup = setup.clone().with_members(members);
        let count = setup.terminals.len();
        for (at, terminal) in setup.terminals.iter_mut().enumerate() {
            let place = (at + seed as usize) % count;
            terminal.flows[0].begins_ns = place as u64 * S_NS / 20;
        }
        measure(&setup, seed, &[10 * S_NS, 60 * S_NS]).remove(1)
    };
    (1..=SEEDS).map(run).collect()
}

/// The mean rate of the first terminals.
fn rate_of_first(runs: &[Figures], terminals: usize) -> Interval {
    let rates = runs.iter().map(|figures| {
        let rates = &figures.rates_mbps[..terminals];
        rates.iter().sum::<f64>() / terminals as f64
    });
    Interval::from_values(&rates.collect::<Vec<f64>>())
}

fn check(setup: &Setup, members: usize, least_part: f64) {
    let with = rate_of_first(&runs(setup, members), members);
    let without = rate_of_first(&runs(setup, 0), members);
    println!(
        "{members} of 10 over {}: {:.2} ± {:.2} Mbit/s, CUBIC {:.2} ± {:.2}",
        setup.profile.name, with.mean, with.half, without.mean, without.half
    );
    assert!(with.mean >= least_part * without.mean, "{members}");
}

#[test]
fn adopters_at_a_plain_queue_have_what_cubic_has() {
    for (members, least_part) in [(1, 0.8), (3, 0.8), (5, 0.8), (9, 0.85)] {
        check(&Setup::uploads(10, 16), members, least_part);
    }
}

#[test]
fn so_have_those_whose_devices_send_aggregates() {
    let profile = Profile::today();
    let mut setup = Setup {
        access_point: AccessPoint::MAC80211,
        own_queue_ns: S_NS >> 7,
        ..Setup::uploads(10, 16)
    };
    for terminal in &mut setup.terminals {
        terminal.rate = profile.rate_choice;
        terminal.path = SnrPath::constant(3500);
    }
    setup.profile = profile;
    check(&setup, 5, 0.8);
}

/// A group that is alone does not take itself for strangers, however it begins.
#[test]
fn groups_alone_do_not_compete() {
    for (terminals, delay_ms) in [(1, 16), (3, 16), (10, 0), (10, 16), (10, 256)] {
        let setup = Setup::uploads(terminals, delay_ms);
        for figures in &runs(&setup, terminals)[..3] {
            let p99_ms = figures.rtt_ms(0.99);
            assert!(
                p99_ms < delay_ms as f64 + 120.0,
                "{terminals}, {delay_ms} ms: {p99_ms}"
            );
        }
    }
}
