//! How many packets are simulated in a second of the processor's time, by the number of flows: for
//! each scheduler, flows of constant rates that fill nine tenths of a link of 100 Gbit/s.

use nix::time::{ClockId, clock_gettime};
use takt_sim::{
    Setup, Terms,
    qdisc::{Fq, FqCodel, FqCodelTerms, FqTerms, Htb, Qdisc, Takt},
};

const LINK_BPS: u64 = 100_000_000_000;
const PACKETS: u64 = 4_000_000;
const FRAME_BITS: u64 = 1538 * 8;

/// A class with one queue, with flows that take turns, or with clocks for each flow.
const CLASSES: [&str; 3] = [
    "name = \"default\"\nrate = \"100gbit\"\naqm = \"codel\"",
    "name = \"default\"",
    "name = \"flows\"\nper_flow = true\nrate = \"1gbit\"\nmatch = { proto = \"udp\" }",
];

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

/// What this process has used so far.
fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every Linux has it");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

/// Millions of packets a second.
fn speed(setup: &Setup, qdisc: &mut dyn Qdisc) -> f64 {
    let terms = Terms {
        seed: 1,
        duration_ns: PACKETS * FRAME_BITS * 10 / 9 / (LINK_BPS / 1_000_000_000),
    };
    let began_s = processor_s();
    let outcome = takt_sim::run(setup, "speed", qdisc, terms);
    outcome.delivered_packets as f64 / (processor_s() - began_s) / 1e6
}

fn main() {
    let heads = ["queue", "turns", "clocks", "htb", "fq_codel", "fq"];
    println!(
        "{:>8} {}",
        "flows",
        heads.map(|head| format!("{head:>9}")).concat()
    );
    for flows in [100, 1_000, 10_000, 100_000] {
        let setups = CLASSES.map(|class| setup(flows, class));
        let takt = setups.each_ref();
        let takt = takt.map(|setup| speed(setup, &mut Takt::new(setup.tables.clone())));
        let one = &setups[0];
        let tree = takt_planner::tree::tree(&one.link, &one.ids, 1500);
        let peers = [
            speed(one, &mut Htb::new(&tree)),
            speed(one, &mut FqCodel::new(FqCodelTerms::default())),
            speed(one, &mut Fq::new(FqTerms::default())),
        ];
        let speeds: Vec<f64> = takt.into_iter().chain(peers).collect();
        let columns = speeds.iter().map(|speed| format!("{speed:>9.2}"));
        println!("{flows:>8} {}", columns.collect::<String>());
    }
}
