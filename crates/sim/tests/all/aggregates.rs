//! What an access point of 802.11ac carries, whose radio sends frames of one station together, if
//! those come one after another: beside first in, first out, mac80211's queues, and Takt's stations
//! frame by frame.

use takt_report::Interval;
use takt_sim::{
    Outcome, Setup, Terms,
    qdisc::{Airtime, Fifo, Qdisc, Takt},
};

use crate::common::{of, setup};

const NS_PER_S: u64 = 1_000_000_000;
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

const UDP: &str = "kind = \"poisson\"\nrate = \"50mbit\"";
const TCP: &str = "kind = \"tcp\"\nrtt = \"20ms\"";

/// A rate that is no limit, and none at all.
const RATES: [&str; 2] = ["400mbit", "line"];

/// Eight stations, the first of which has this strength; what else they are sent.
fn traffic(source: &str, first_db: i32, more: &str) -> String {
    let mut text = "[device]\nmedium = \"today-ac\"\n[measure]\nafter = \"2s\"\n".to_owned();
    for at in 0..8 {
        let snr = if at == 0 { first_db } else { 25 };
        text += &format!(
            "[[station]]\nname = \"n{at}\"\naddress = \"192.0.2.{at}\"\nsnr = {snr}\n\
             [[source]]\nname = \"s{at}\"\n{source}\nforwarded = true\n\
             headers = {{ dst = \"192.0.2.{at}\" }}\n"
        );
    }
    text + more
}

fn link(rate: &str, classes: &str, weighs: bool) -> String {
    let radio = if weighs { "[radio]\n" } else { "" };
    format!("[link.wlan0]\nrate = \"{rate}\"\n{classes}{radio}")
}

fn run(setup: &Setup, qdisc: &mut dyn Qdisc, seed: u64, seconds: u64) -> Outcome {
    let duration_ns = seconds * NS_PER_S;
    takt_sim::run(setup, "test", qdisc, Terms { seed, duration_ns })
}

/// What all stations have in Mbit/s: the mean and half of its interval.
fn total(setup: &Setup, qdisc: impl Fn(&Setup) -> Box<dyn Qdisc>) -> (f64, f64) {
    let totals = SEEDS.map(|seed| {
        let outcome = run(setup, &mut *qdisc(setup), seed, 32);
        let all = outcome.stations.iter().map(|it| it.delivered_bps / 1e6);
        all.sum::<f64>()
    });
    let Interval { mean, half } = Interval::from_values(&totals);
    (mean, half)
}

fn takt(setup: &Setup) -> Box<dyn Qdisc> {
    Box::new(Takt::new(setup.tables.clone()))
}

/// Stations take turns frame by frame.
fn frame_by_frame(setup: &Setup) -> Box<dyn Qdisc> {
    let mut tables = setup.tables.clone();
    tables.station_burst_bytes = 0;
    Box::new(Takt::new(tables))
}

fn fifo(_: &Setup) -> Box<dyn Qdisc> {
    Box::new(Fifo::new(1000))
}

fn airtime(_: &Setup) -> Box<dyn Qdisc> {
    Box::new(Airtime::new())
}

#[test]
fn good_stations_have_what_their_radio_carries() {
    for source in [UDP, TCP] {
        let traffic = traffic(source, 25, "");
        let others = setup(&link("400mbit", "", false), &traffic);
        let (fifo, airtime) = (total(&others, fifo).0, total(&others, airtime).0);
        for rate in RATES {
            let (got, _) = total(&setup(&link(rate, "", true), &traffic), takt);
            assert!(
                got >= 0.95 * fifo && got >= 0.95 * airtime,
                "{source}, {rate}: {got} Mbit/s, first in first out {fifo}, by airtime {airtime}"
            );
        }
    }
}

#[test]
fn one_bad_station_costs_no_more_than_without_weights() {
    for source in [UDP, TCP] {
        let traffic = traffic(source, 3, "");
        let others = setup(&link("400mbit", "", false), &traffic);
        let (fifo, interval) = total(&others, fifo);
        for rate in RATES {
            let setup = setup(&link(rate, "", true), &traffic);
            let (got, own_interval) = total(&setup, takt);
            let (by_frames, _) = total(&setup, frame_by_frame);
            assert!(got >= by_frames, "{source}, {rate}: {got} of {by_frames}");
            // All bursts of TCP's windows are together where nothing puts them in order.
            let least = match source {
                UDP => fifo - interval - own_interval,
                _ => 0.98 * fifo,
            };
            assert!(got >= least, "{source}, {rate}: {got} Mbit/s of {fifo}");
        }
    }
}

/// Calls go before everything, and wait for what the radio has: a transmission and its repetitions.
#[test]
fn calls_wait_for_no_burst() {
    let calls = (1..8).map(|at| {
        format!(
            "[[source]]\nname = \"call{at}\"\nkind = \"cbr\"\nrate = \"93kbit\"\nframe = 350\n\
             forwarded = true\nheaders = {{ dst = \"192.0.2.{at}\", dst_port = 5060 }}\n"
        )
    });
    let traffic = traffic(UDP, 25, &calls.collect::<String>());
    let class = "[[link.wlan0.class]]\nname = \"calls\"\npriority = 1\n\
                 match = [{ dst_port = 5060 }]\n";
    let setup = setup(&link("400mbit", class, true), &traffic);
    let p99_ns = |qdisc: fn(&Setup) -> Box<dyn Qdisc>| {
        let outcome = run(&setup, &mut *qdisc(&setup), 1, 12);
        let calls = (1..8).map(|at| of(&outcome.sources, &format!("call{at}")).delay);
        calls.map(|delay| delay.expect("packets").p99_ns).max()
    };
    let (bursts, frames) = (p99_ns(takt), p99_ns(frame_by_frame));
    assert!(
        bursts <= frames.map(|frames| frames + 10_000_000),
        "{bursts:?} and {frames:?}"
    );
}
