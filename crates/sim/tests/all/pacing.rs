//! Rates and shares under Takt, with timers that are late.

use proptest::prelude::*;
use takt_sim::{Outcome, qdisc::Takt};

use crate::common::{of, policy, run, setup};

const GBIT: u64 = 1_000_000_000;
const NS_PER_S: u64 = 1_000_000_000;
const LATE: [&str; 3] = ["0ns", "1us", "50us"];

fn takt(policy: &str, traffic: &str, duration_ns: u64) -> Outcome {
    let setup = setup(policy, traffic);
    run(&setup, &mut Takt::new(setup.tables.clone()), duration_ns)
}

/// Flows that always have packets waiting, one for each class.
fn greedy(flows: usize, late: &str) -> String {
    format!(
        "[host]\ntimer_late = [\"0ns\", \"{late}\"]\n[measure]\nafter = \"50ms\"\n\
         [[source]]\nname = \"all\"\nkind = \"backlog\"\npackets = 200\nflows = {flows}\n\
         headers = {{ dst_port = \"0-{}\" }}\n",
        flows - 1
    )
}

/// Paper 004, figure 2: every tenth of its rates, and faster links. `--example experiments` has them all.
#[test]
fn rates_are_exact_to_one_in_a_million() {
    let steps = (1..=10).map(|step| (10 * GBIT, step * GBIT));
    let faster = [40, 100, 400].map(|gbit| (gbit * GBIT, gbit * GBIT));
    for (link_bps, rate_bps) in steps.chain(faster) {
        let policy = policy(
            &format!("{link_bps}bit"),
            &[("a", &format!("{rate_bps}bit"))],
        );
        // As many packets at any rate.
        let duration_ns = NS_PER_S / 20 + 2 * NS_PER_S * 10 / (link_bps / GBIT);
        for late in LATE {
            let outcome = takt(&policy, &greedy(1, late), duration_ns);
            let error_ppm = of(&outcome.classes, "a").rate_error_ppm.unwrap();
            assert!(
                error_ppm.abs() < 1.0,
                "{rate_bps} late {late}: {error_ppm} ppm"
            );
        }
    }
}

/// Paper 004, figure 3.
#[test]
fn guarantees_that_do_not_fit_share_in_proportion() {
    let rates = [4, 4, 4, 2, 2].map(|gbit| format!("{gbit}gbit"));
    let classes: Vec<(&str, &str)> = ["a", "b", "c", "d", "e"]
        .into_iter()
        .zip(rates.iter().map(String::as_str))
        .collect();
    for late in LATE {
        let outcome = takt(&policy("10gbit", &classes), &greedy(5, late), NS_PER_S);
        for (name, share_bps) in ["a", "b", "c", "d", "e"]
            .into_iter()
            .zip([2.5e9, 2.5e9, 2.5e9, 1.25e9, 1.25e9])
        {
            let got_bps = of(&outcome.classes, name).delivered_bps;
            let error_ppm = (got_bps / share_bps - 1.0) * 1e6;
            assert!(
                error_ppm.abs() < 100.0,
                "{name} late {late}: {error_ppm} ppm"
            );
        }
    }
}

/// When some stop, the others get their rates again, and no more.
#[test]
fn no_class_is_ahead_when_others_stop() {
    let policy = policy("10gbit", &[("a", "4gbit"), ("b", "4gbit"), ("c", "8gbit")]);
    let source = |name: &str, port: u16, stop: &str| {
        format!(
            "[[source]]\nname = \"{name}\"\nkind = \"backlog\"\npackets = 100\n{stop}\n\
             headers = {{ dst_port = {port} }}\n"
        )
    };
    let traffic = format!(
        "[measure]\nafter = \"501ms\"\n{}{}{}",
        source("a", 0, ""),
        source("b", 1, ""),
        source("c", 2, "stop = \"500ms\"")
    );
    let outcome = takt(&policy, &traffic, NS_PER_S);
    for name in ["a", "b"] {
        let error_ppm = of(&outcome.classes, name).rate_error_ppm.unwrap();
        assert!(error_ppm.abs() < 1.0, "{name}: {error_ppm}");
    }
}

/// Gap frames: distances on the wire depend on no timer.
#[test]
fn gap_frames_space_packets_to_the_byte() {
    for rate in ["1gbit", "3gbit", "7.7gbit"] {
        let policy = policy("10gbit", &[("a", rate)]);
        let policy = policy.replacen("overhead", "pacing = \"gap\"\noverhead", 1);
        let outcome = takt(&policy, &greedy(1, "50us"), NS_PER_S / 2);
        let class = of(&outcome.classes, "a");
        assert!(
            class.rate_error_ppm.unwrap().abs() < 1.0,
            "{rate}: {class:?}"
        );
        // A gap frame is no shorter than 84 bytes, 67 ns: by half of that a packet may be off.
        assert!(
            class.spacing_error.unwrap().max_ns <= 36,
            "{rate}: {class:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the rates are, shares are exact to 100 ppm and a frame.
    #[test]
    fn any_guarantees_share_in_proportion(
        mbits in prop::collection::vec(200..2_000u64, 2..9), late in 0..3usize,
    ) {
        let sum: u64 = mbits.iter().sum();
        let link_mbit = sum * 2 / 3;
        let rates: Vec<(String, String)> = mbits
            .iter()
            .enumerate()
            .map(|(at, mbit)| (format!("c{at}"), format!("{mbit}mbit")))
            .collect();
        prop_assume!(mbits.iter().all(|mbit| *mbit <= link_mbit));
        let classes: Vec<(&str, &str)> =
            rates.iter().map(|(name, rate)| (name.as_str(), rate.as_str())).collect();
        let policy = policy(&format!("{link_mbit}mbit"), &classes);
        let outcome = takt(&policy, &greedy(classes.len(), LATE[late]), NS_PER_S);
        for ((name, _), mbit) in classes.iter().zip(&mbits) {
            let share_bps = *mbit as f64 * 1e6 * 2.0 / 3.0 * (link_mbit * 3) as f64 / (sum * 2) as f64;
            let got_bps = of(&outcome.classes, name).delivered_bps;
            // One frame at each end of the time, which is 0.95 s.
            let slack_bps = share_bps * 1e-4 + 2.0 * 1538.0 * 8.0 / 0.95;
            prop_assert!((got_bps - share_bps).abs() < slack_bps, "{name}: {got_bps} of {share_bps}");
        }
    }

    /// Constant senders below their class's rate lose nothing, and wait for no more than a frame of
    /// each other class.
    #[test]
    fn packets_within_their_rates_hardly_wait(parts in prop::collection::vec(10..90u64, 2..6)) {
        let count = parts.len() as u64;
        let names: Vec<String> = (0..count).map(|at| format!("c{at}")).collect();
        let rate = format!("{}mbit", 1000 / count);
        let classes: Vec<(&str, &str)> =
            names.iter().map(|name| (name.as_str(), rate.as_str())).collect();
        let sources = names.iter().zip(&parts).enumerate().map(|(port, (name, part))| {
            let bps = 10_000_000 * part / count;
            format!(
                "[[source]]\nname = \"{name}\"\nkind = \"cbr\"\nrate = \"{bps}bit\"\n\
                 headers = {{ dst_port = {port} }}\n"
            )
        });
        let traffic: String = sources.collect();
        let outcome = takt(&policy("1gbit", &classes), &traffic, NS_PER_S / 10);
        for source in &outcome.sources {
            prop_assert_eq!(source.lost.packets(), 0);
            let delay_ns = source.delay.map_or(0, |delay| delay.max_ns);
            prop_assert!(delay_ns <= (count + 1) * 12_304, "{}: {delay_ns} ns", source.name);
        }
    }
}
