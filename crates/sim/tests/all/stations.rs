//! Stations on the air: packets arrive or are counted, a weak station's weight leaves more to the
//! others, and what does not fit together is refused.

use proptest::prelude::*;
use takt_sim::{
    Outcome, Setup,
    qdisc::{Airtime, Fifo, FqCodel, FqCodelTerms, Iwfq, Qdisc, Takt},
};

use crate::common::{of, policy, run, setup};

const NS_PER_S: u64 = 1_000_000_000;

/// A link below what the air carries, with weights or without.
fn link(weighs: bool) -> String {
    let radio = if weighs { "[radio]\n" } else { "" };
    policy("30mbit", &[]) + radio
}

/// A station for each strength, in dB, and a source to each.
fn traffic(medium: &str, snrs: &[i32], source: &str) -> String {
    let head = format!("[device]\nmedium = \"{medium}\"\n[measure]\nafter = \"1s\"\n");
    let each = snrs.iter().enumerate().map(|(at, snr)| {
        format!(
            "[[station]]\nname = \"n{at}\"\naddress = \"192.0.2.{at}\"\nsnr = {snr}\n\
             [[source]]\nname = \"s{at}\"\n{source}\nheaders = {{ dst = \"192.0.2.{at}\" }}\n"
        )
    });
    head + &each.collect::<String>()
}

fn total_bps(outcome: &Outcome) -> f64 {
    let stations = outcome.stations.iter();
    stations.map(|station| station.delivered_bps).sum()
}

fn takt(setup: &Setup) -> Takt {
    Takt::new(setup.tables.clone())
}

#[test]
fn a_weak_station_costs_the_others_less_with_weights() {
    let cbr = "kind = \"cbr\"\nrate = \"15mbit\"";
    let traffic = traffic("802.11g", &[3, 25, 25, 25], cbr);
    let setup_with = setup(&link(true), &traffic);
    let setup_without = setup(&link(false), &traffic);
    let with = run(&setup_with, &mut takt(&setup_with), 20 * NS_PER_S);
    let without = run(&setup_without, &mut takt(&setup_without), 20 * NS_PER_S);
    let gain = total_bps(&with) / total_bps(&without);
    assert!(gain > 1.5, "{gain}");
    // At 3 dB the law of SoCPS has 0.15.
    let weight = with.stations[0].weight.expect("a weight");
    assert!((0.1..0.25).contains(&weight), "{weight}");
    assert_eq!(with.stations[1].weight, Some(1.0));
    assert_eq!(without.stations[0].weight, None);
    let ratio = with.stations[0].delivered_bps / with.stations[1].delivered_bps;
    assert!((weight - ratio).abs() < 0.05, "{weight} {ratio}");
}

#[test]
fn a_station_that_goes_away_is_weighed_again() {
    let path = "[[\"3s\", 25], [\"4s\", -10], [\"8s\", -10], [\"9s\", 25]]";
    let cbr = "kind = \"cbr\"\nrate = \"15mbit\"";
    let traffic =
        traffic("802.11g", &[25, 25], cbr).replacen("snr = 25", &format!("snr = {path}"), 1);
    let setup = setup(&link(true), &traffic);
    let there = run(&setup, &mut takt(&setup), 3 * NS_PER_S);
    let away = run(&setup, &mut takt(&setup), 8 * NS_PER_S);
    let back = run(&setup, &mut takt(&setup), 20 * NS_PER_S);
    let weight = |outcome: &Outcome| outcome.stations[0].weight.expect("a weight");
    assert!(
        weight(&there) > 0.99 && weight(&away) < 0.5,
        "{}",
        weight(&away)
    );
    assert!(weight(&back) > weight(&away) + 0.1, "{}", weight(&back));
}

/// Weights that no program renews count for 5 s; then all stations weigh 1, and the link carries what it
/// does without weights at least: in all, with the source's death at 5 s of 40, and from 10 s on.
#[test]
fn a_dead_source_costs_nothing() {
    let sources = [
        "kind = \"poisson\"\nrate = \"20mbit\"\nforwarded = true",
        "kind = \"tcp\"\nrtt = \"20ms\"\nforwarded = true",
    ];
    for source in sources {
        for medium in ["wavelan", "802.11g", "802.11n", "today", "today-ac"] {
            // At 2 Mbit/s totals of TCP differ by 14 % between seeds.
            if medium == "wavelan" && source.contains("tcp") {
                continue;
            }
            for first_db in [3, 25] {
                for after in ["1s", "10s"] {
                    let traffic = traffic(medium, &[first_db, 25, 25, 25], source).replacen(
                        "after = \"1s\"",
                        &format!("after = \"{after}\""),
                        1,
                    );
                    let setup_with = setup(&link(true), &traffic);
                    let setup_without = setup(&link(false), &traffic);
                    let mut silent = takt(&setup_with).silent_from(5 * NS_PER_S);
                    let with = run(&setup_with, &mut silent, 40 * NS_PER_S);
                    let without = run(&setup_without, &mut takt(&setup_without), 40 * NS_PER_S);
                    let part = total_bps(&with) / total_bps(&without);
                    assert!(
                        part >= 0.99,
                        "{medium}, {source}, {first_db} dB, after {after}: {part}"
                    );
                }
            }
        }
    }
}

/// In a queue of its own a connection would take back what a FIFO's round trips keep from it.
#[test]
fn tcp_beside_a_weak_station_has_what_a_fifo_has() {
    let tcp = "kind = \"tcp\"\nrtt = \"20ms\"\nforwarded = true";
    for medium in ["802.11g", "802.11n", "today", "today-ac"] {
        for first_db in [3, 6] {
            let traffic = traffic(medium, &[first_db, 25, 25, 25, 25, 25, 25, 25], tcp);
            let link = "[link.wlan0]\nrate = \"400mbit\"\n";
            let setup_with = setup(&format!("{link}[radio]\n"), &traffic);
            let setup_without = setup(link, &traffic);
            let seconds = if medium == "today-ac" { 15 } else { 40 };
            let with = run(&setup_with, &mut takt(&setup_with), seconds * NS_PER_S);
            let fifo = run(&setup_without, &mut Fifo::new(1000), seconds * NS_PER_S);
            let part = total_bps(&with) / total_bps(&fifo);
            assert!(part >= 0.98, "{medium}, {first_db} dB: {part}");
            assert!(
                with.stations[0].delivered_bps > 0.0,
                "{medium}, {first_db} dB"
            );
        }
    }
}

/// Eight hundred short frames a second cost a slow card's air what SoCPS saw (figure 21).
#[test]
fn reports_take_the_air_and_tell_strengths() {
    let cbr = "kind = \"cbr\"\nrate = \"1500kbit\"\nforwarded = true";
    let traffic = traffic("wavelan", &[3, 25, 25, 25, 25, 25, 25, 25], cbr);
    let outcome = |interval: &str, key: &str| {
        let policy = link(false) + &format!("[radio]\ninterval = \"{interval}\"\n{key}");
        let setup = setup(&policy, &traffic);
        run(&setup, &mut takt(&setup), 20 * NS_PER_S)
    };
    let known = outcome("200ms", "");
    let reported = outcome("200ms", "key_file = \"radio.key\"\n");
    let often = outcome("20ms", "key_file = \"radio.key\"\n");
    let (least, most) = (total_bps(&often), total_bps(&known));
    assert!(least < 0.75 * most, "{least} of {most}");
    let some = total_bps(&reported);
    assert!((0.85..0.99).contains(&(some / most)), "{some} of {most}");
    let weight = reported.stations[0].weight.expect("a weight");
    assert!((0.02..0.25).contains(&weight), "{weight}");
    let good = reported.stations[1].weight.expect("a weight");
    assert!(good > 0.95, "{good}");
}

/// With every channel known at every moment, as only a model can, a station that is behind catches up.
#[test]
fn compensation_gives_a_weak_station_more() {
    let cbr = "kind = \"cbr\"\nrate = \"1500kbit\"\nforwarded = true";
    let setup = setup(&link(false), &traffic("wavelan", &[3, 25, 25, 25], cbr));
    let iwfq = run(&setup, &mut Iwfq::new(12), 60 * NS_PER_S);
    let fifo = run(&setup, &mut Fifo::new(50), 60 * NS_PER_S);
    let airtime = run(&setup, &mut Airtime::new(), 60 * NS_PER_S);
    assert!(total_bps(&iwfq) > 1.5 * total_bps(&fifo));
    let bad_bps = |outcome: &Outcome| outcome.stations[0].delivered_bps;
    let (caught_up, fair) = (bad_bps(&iwfq), bad_bps(&airtime));
    assert!(caught_up > 2.0 * fair, "{caught_up} and {fair}");
}

#[test]
fn airtime_fairness_gives_a_weak_station_as_much_air_as_others() {
    for medium in ["802.11g", "today-ac"] {
        let source = "kind = \"cbr\"\nrate = \"50mbit\"\nforwarded = true";
        let setup = setup(&link(false), &traffic(medium, &[3, 25, 25, 25], source));
        let outcome = run(&setup, &mut Airtime::new(), 20 * NS_PER_S);
        let air = outcome.stations.iter().map(|station| station.air_percent);
        let (least, most) = (
            air.clone().fold(f64::MAX, f64::min),
            air.fold(0.0, f64::max),
        );
        assert!(most < 1.05 * least, "{medium}: {least} to {most} %");
        let fifo = run(&setup, &mut Fifo::new(1000), 20 * NS_PER_S);
        assert!(total_bps(&outcome) > 2.0 * total_bps(&fifo), "{medium}");
    }
}

#[test]
fn air_time_adds_up() {
    let setup = setup(
        &link(true),
        &traffic("802.11g", &[8, 25, 40], "kind = \"backlog\"\npackets = 50"),
    );
    let outcome = run(&setup, &mut takt(&setup), 10 * NS_PER_S);
    let sum: f64 = outcome
        .stations
        .iter()
        .map(|station| station.air_percent)
        .sum();
    assert!((sum - outcome.utilisation_percent).abs() < 1.0, "{sum}");
    assert!((50.0..100.0).contains(&sum), "{sum}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn what_comes_arrives_or_is_lost(
        snrs in prop::collection::vec(-5..40i32, 1..6),
        medium in prop::sample::select(&takt_policy::traffic::MEDIA),
        source in prop::sample::select(&[
            "kind = \"backlog\"\npackets = 40",
            "kind = \"cbr\"\nrate = \"3mbit\"",
            "kind = \"request\"\nrtt = \"3ms\"\nthink = \"1ms\"",
            "kind = \"tcp\"\nrtt = \"5ms\"",
            "kind = \"tcp\"\nrtt = \"5ms\"\nbytes = 30000\nthink = \"2ms\"",
        ]),
    ) {
        let source = format!("{source}\nstop = \"2s\"");
        let traffic = traffic(medium, &snrs, &source).replacen("after = \"1s\"", "after = \"0s\"", 1);
        for weighs in [true, false] {
            let setup = setup(&link(weighs), &traffic);
            let all: [Box<dyn Qdisc>; 5] = [
                Box::new(takt(&setup)),
                Box::new(Airtime::new()),
                Box::new(Iwfq::new(100)),
                Box::new(Fifo::new(100)),
                Box::new(FqCodel::new(FqCodelTerms::default())),
            ];
            for mut qdisc in all {
                let outcome = run(&setup, &mut *qdisc, 600 * NS_PER_S);
                for (at, station) in outcome.stations.iter().enumerate() {
                    let source = of(&outcome.sources, &format!("s{at}"));
                    let gone = source.delivered_packets + source.lost.packets();
                    let held = source.offered_packets - gone;
                    // A station of weight 0 has its queue's packets held, and so has one without a
                    // good channel where that is known.
                    let may_be_held = station.weight.is_some_and(|weight| weight < 0.2)
                        || qdisc.wants_signals() && snrs[at] < 12;
                    prop_assert!(held == 0 || may_be_held && held <= 100, "{} of s{}", held, at);
                }
            }
        }
    }
}
