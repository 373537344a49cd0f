//! How many packets are simulated in a second of the processor's time, by the number of flows: for
//! each scheduler, flows of constant rates that fill nine tenths of a link of 100 Gbit/s.
//!
//! A name of a column, and a number of flows behind it, run that alone.

use nix::time::{ClockId, clock_gettime};
use takt_sim::{
    Setup, Terms,
    qdisc::{Fq, FqCodel, FqCodelTerms, FqTerms, Htb, Qdisc, Takt},
};

const LINK_BPS: u64 = 100_000_000_000;
const PACKETS: u64 = 4_000_000;
const FRAME_BITS: u64 = 1538 * 8;
const COLUMNS: [&str; 6] = ["queue", "turns", "clocks", "htb", "fq_codel", "fq"];
const FLOWS: [u64; 4] = [100, 1_000, 10_000, 100_000];

/// A class of the column: with one queue, with flows that take turns, or with clocks for each flow.
fn class(column: &str) -> &'static str {
    match column {
        "turns" => "name = \"default\"",
        "clocks" => {
            "name = \"flows\"\nper_flow = true\nrate = \"1gbit\"\nmatch = { proto = \"udp\" }"
        }
        _ => "name = \"default\"\nrate = \"100gbit\"\naqm = \"codel\"",
    }
}

fn setup(flows: u64, class: &str) -> Setup {
    let rate_bps = LINK_BPS * 9 / 10 / flows;
    let policy = format!(
        "[link.eth0]\nrate = \"{LINK_BPS}bit\"\noverhead = 24\n[[link.eth0.class]]\n{class}\n"
    );
    let traffic = format!(
        "[[source]]\nname = \"all\"\nkind = \"cbr\"\nflows = {flows}\nrate = \"{rate_bps}bit\"\n\
         headers = {{ dst = \"10.0.0.0/8\" }}\n"
    );
    let policy = takt_policy::parse("policy", &policy).expect("a policy");
    let traffic = takt_policy::traffic::parse("traffic", &traffic).expect("traffic");
    Setup::new(&policy, "policy", None, &traffic).expect("a setup")
}

fn qdisc(column: &str, setup: &Setup) -> Box<dyn Qdisc> {
    match column {
        "htb" => Box::new(Htb::new(&takt_planner::tree::tree(
            &setup.link,
            &setup.ids,
            1500,
        ))),
        "fq_codel" => Box::new(FqCodel::new(FqCodelTerms::default())),
        "fq" => Box::new(Fq::new(FqTerms::default())),
        _ => Box::new(Takt::new(setup.tables.clone())),
    }
}

/// What this process has used so far.
fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every Linux has it");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

/// Millions of packets a second.
fn speed(column: &str, flows: u64) -> f64 {
    let setup = setup(flows, class(column));
    let mut qdisc = qdisc(column, &setup);
    let terms = Terms {
        seed: 1,
        duration_ns: PACKETS * FRAME_BITS * 10 / 9 / (LINK_BPS / 1_000_000_000),
    };
    let began_s = processor_s();
    let outcome = takt_sim::run(&setup, "speed", &mut *qdisc, terms);
    outcome.delivered_packets as f64 / (processor_s() - began_s) / 1e6
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (column, flows) = (args.next(), args.next());
    let is_asked = |name: &&str| column.as_ref().is_none_or(|column| column == name);
    let columns: Vec<&str> = COLUMNS.into_iter().filter(is_asked).collect();
    let heads = columns.iter().map(|head| format!("{head:>9}"));
    println!("{:>8} {}", "flows", heads.collect::<String>());
    for count in FLOWS {
        if flows
            .as_ref()
            .is_some_and(|flows| *flows != count.to_string())
        {
            continue;
        }
        let speeds = columns.iter().map(|column| speed(column, count));
        let cells = speeds.map(|speed| format!("{speed:>9.2}"));
        println!("{count:>8} {}", cells.collect::<String>());
    }
}
