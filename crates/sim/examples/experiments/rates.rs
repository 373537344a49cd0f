//! Paper 004's figure 2 in full, and beyond: 100 rates of a 10 Gbit/s link, then 40, 100 and 400
//! Gbit/s, by timer and by gap frames, as one class and as ten that have the rate together, with
//! timers that are late by up to 1 and 50 us.

use std::ops::RangeInclusive;

use serde_json::json;
use takt_report::Row;

use super::parallel::in_parallel;
use super::setting::{self, FRAME_BITS, GBIT, NS_PER_S, qdisc, row, setup};

/// `htb` has the classes of `takt-tree` with bursts that an expert would give them, where timers are
/// late.
const SCHEDULERS: [&str; 5] = ["takt", "takt-gap", "takt-tree", "htb", "pspacer"];
const LATE: [&str; 2] = ["1us", "50us"];
/// In a second of simulated time, at least and at most.
const PACKETS: RangeInclusive<u64> = 200_000..=1_000_000;
/// After a timer that was late by 50 us packets are late until the clock has made up for it, for
/// 5 ms at 9.9 Gbit/s on 10. A second has so few of these that they look like 3 ppm.
const NEAR_THE_LINKS_S: u64 = 4;
const MANY: u64 = 10;

pub fn run() -> Vec<Row> {
    let steps = (1..=100).map(|step| (10 * GBIT, step * GBIT / 10));
    let more = [40, 100, 400].map(|gbit| (gbit * GBIT, gbit * GBIT));
    let rates = steps.chain(more);
    let all: Vec<_> = rates
        .flat_map(|(link_bps, rate_bps)| SCHEDULERS.map(|name| (name, link_bps, rate_bps)))
        .collect();
    in_parallel(&all, |(name, link_bps, rate_bps)| {
        of_rate(name, *link_bps, *rate_bps)
    })
}

fn of_rate(name: &str, link_bps: u64, rate_bps: u64) -> Row {
    let [one_us, fifty_us] = LATE.map(|late| measure(name, link_bps, rate_bps, 1, late));
    let [many_one_us, many_fifty_us] =
        LATE.map(|late| measure(name, link_bps, rate_bps, MANY, late));
    let case = format!("rate/{}", takt_policy::format_rate(rate_bps));
    row(
        name,
        &case,
        [
            ("target_bps", json!(rate_bps)),
            ("error_1us_ppm", json!(one_us.0)),
            ("error_50us_ppm", json!(fifty_us.0)),
            ("many_error_1us_ppm", json!(many_one_us.0)),
            ("many_error_50us_ppm", json!(many_fifty_us.0)),
            ("spacing_error_1us_p99_ns", json!(one_us.1)),
            ("spacing_error_50us_p99_ns", json!(fifty_us.1)),
            ("many_spacing_error_1us_p99_ns", json!(many_one_us.1)),
            ("many_spacing_error_50us_p99_ns", json!(many_fifty_us.1)),
        ],
    )
}

/// The error of the class that is furthest off, and the largest p99 of spacing errors.
fn measure(name: &str, link_bps: u64, rate_bps: u64, classes: u64, late: &str) -> (f64, u64) {
    let pacing = match name {
        "takt-gap" => "pacing = \"gap\"\n",
        _ => "",
    };
    let mut policy = format!("[link.eth0]\nrate = \"{link_bps}bit\"\noverhead = 24\n{pacing}");
    for port in 0..classes {
        policy += &format!(
            "[[link.eth0.class]]\nname = \"c{port}\"\nrate = \"{}bit\"\n\
             match = {{ proto = \"udp\", dst_port = {port} }}\n",
            rate_bps / classes
        );
    }
    // A timer that is late by 50 us has to find that much to send.
    let packets = 200.max(3 * link_bps / 20_000 / FRAME_BITS).min(1000);
    let is_near = rate_bps < link_bps && rate_bps * 10 >= link_bps * 9;
    let seconds = if is_near { NEAR_THE_LINKS_S } else { 1 };
    let of_second = (rate_bps / FRAME_BITS).clamp(*PACKETS.start(), *PACKETS.end());
    let all_packets = of_second * seconds;
    let duration_ns = all_packets * FRAME_BITS * (NS_PER_S / 1000) / (rate_bps / 1000);
    let traffic = format!(
        "[host]\ntimer_late = [\"0ns\", \"{late}\"]\n[measure]\nafter = \"{}us\"\n\
         [[source]]\nname = \"udp\"\nkind = \"backlog\"\npackets = {packets}\n\
         flows = {classes}\nheaders = {{ dst_port = \"0-{}\" }}\n",
        duration_ns / 20_000,
        classes - 1
    );
    let setup = setup(&policy, &traffic);
    let outcome = setting::run(&setup, &mut *qdisc(name, &setup), duration_ns);
    let errors = outcome
        .classes
        .iter()
        .filter_map(|class| class.rate_error_ppm);
    let furthest = errors.max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let spacing = outcome
        .classes
        .iter()
        .filter_map(|class| class.spacing_error);
    let p99_ns = spacing.map(|spacing| spacing.p99_ns).max();
    (furthest.unwrap_or(f64::NAN), p99_ns.unwrap_or_default())
}
