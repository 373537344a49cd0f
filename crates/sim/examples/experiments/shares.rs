//! Paper 004's figure 3 at full scale: five classes of 4, 4, 4, 2 and 2 Gbit/s on 10 Gbit/s, of
//! which one more begins every 10 s. A class has its rate as long as all fit, and then a part of
//! the link in proportion.

use serde_json::json;
use takt_report::Row;
use takt_sim::Outcome;

use super::parallel::in_parallel;
use super::setting::{self, NS_PER_S, qdisc, row, setup};

const SCHEDULERS: [&str; 4] = ["takt", "takt-tree", "takt-departure", "pspacer"];
const RATES_GBIT: [u64; 5] = [4, 4, 4, 2, 2];
const LINK_GBIT: u64 = 10;
const STEP_S: u64 = 10;

pub fn run() -> Vec<Row> {
    let rows = in_parallel(&SCHEDULERS, |name| of_scheduler(name));
    rows.into_iter().flatten().collect()
}

fn of_scheduler(name: &str) -> Vec<Row> {
    let mut policy = format!("[link.eth0]\nrate = \"{LINK_GBIT}gbit\"\noverhead = 24\n");
    // Departure times cannot order what a wire of just the link's rate holds back.
    let wire_gbit = if name == "takt-departure" {
        40
    } else {
        LINK_GBIT
    };
    let mut traffic =
        format!("[host]\ntimer_late = [\"0ns\", \"1us\"]\n[device]\nrate = \"{wire_gbit}gbit\"\n");
    for (port, rate_gbit) in RATES_GBIT.iter().enumerate() {
        policy += &format!(
            "[[link.eth0.class]]\nname = \"c{port}\"\nrate = \"{rate_gbit}gbit\"\n\
             match = {{ proto = \"udp\", dst_port = {port} }}\n"
        );
        traffic += &format!(
            "[[source]]\nname = \"c{port}\"\nkind = \"backlog\"\npackets = 64\n\
             start = \"{}s\"\nheaders = {{ dst_port = {port} }}\n",
            port as u64 * STEP_S
        );
    }
    let setup = setup(&policy, &traffic);
    let duration_ns = RATES_GBIT.len() as u64 * STEP_S * NS_PER_S;
    let outcome = setting::run(&setup, &mut *qdisc(name, &setup), duration_ns);
    let steps = 1..=RATES_GBIT.len();
    steps
        .map(|active| of_step(name, active, &outcome))
        .collect()
}

fn of_step(name: &str, active: usize, outcome: &Outcome) -> Row {
    let asked: u64 = RATES_GBIT[..active].iter().sum();
    let fits = LINK_GBIT.min(asked) as f64 / asked as f64;
    let begins_ns = (active as u64 - 1) * STEP_S * NS_PER_S;
    // Half a second before and after a step is left out.
    let inner_ns = begins_ns + NS_PER_S / 2..begins_ns + STEP_S * NS_PER_S - NS_PER_S / 2;
    let classes = RATES_GBIT[..active].iter().zip(&outcome.classes);
    let errors = classes.flat_map(|(rate_gbit, class)| {
        let share_bps = (rate_gbit * NS_PER_S) as f64 * fits;
        let points = class.rate_curve_bps.iter();
        let inner = points.filter(|(at_ns, _)| inner_ns.contains(at_ns));
        inner.map(move |(_, bps)| (*bps as f64 / share_bps - 1.0).abs() * 100.0)
    });
    let got = outcome.classes.iter().map(|class| {
        let points = class.rate_curve_bps.iter();
        let inner: Vec<u64> = points
            .filter(|(at_ns, _)| inner_ns.contains(at_ns))
            .map(|(_, bps)| *bps)
            .collect();
        inner.iter().sum::<u64>() / inner.len().max(1) as u64
    });
    row(
        name,
        &format!("shares-{active}"),
        [
            ("share_error_max_percent", json!(errors.fold(0.0, f64::max))),
            ("class_bps", json!(got.collect::<Vec<_>>())),
        ],
    )
}
