//! Paper 004's figure 2, and beyond: one class at 100 rates of a 10 Gbit/s link, then at 40, 100 and
//! 400 Gbit/s, with timers that are late by up to 0, 1 and 50 us. Prints how far each rate is off
//! under Takt and under its backend of HTB classes, in ppm.

use takt_planner::tree::tree;
use takt_sim::{
    Setup, Terms,
    qdisc::{Htb, Qdisc, Takt},
};

const GBIT: u64 = 1_000_000_000;
/// Simulated time; faster links have more packets in it.
const DURATION_NS: u64 = 2_000_000_000;
const LATE: [&str; 3] = ["0ns", "1us", "50us"];

fn setup(link_bps: u64, rate_bps: u64, late: &str) -> Setup {
    let policy = format!(
        "[link.eth0]\nrate = \"{link_bps}bit\"\noverhead = 24\n\
         [[link.eth0.class]]\nname = \"paced\"\nrate = \"{rate_bps}bit\"\n\
         match = {{ proto = \"udp\" }}\n"
    );
    let traffic = format!(
        "[host]\ntimer_late = [\"0ns\", \"{late}\"]\n[measure]\nafter = \"20ms\"\n\
         [[source]]\nname = \"udp\"\nkind = \"backlog\"\npackets = 200\n"
    );
    let policy = takt_policy::parse("policy", &policy).expect("a policy");
    let traffic = takt_policy::traffic::parse("traffic", &traffic).expect("traffic");
    Setup::new(&policy, "policy", None, &traffic).expect("a setup")
}

fn error_ppm(setup: &Setup, qdisc: &mut dyn Qdisc) -> f64 {
    let terms = Terms {
        seed: 1,
        duration_ns: DURATION_NS,
    };
    let outcome = takt_sim::run(setup, "", qdisc, terms);
    outcome.classes[0]
        .rate_error_ppm
        .expect("it never ran empty")
}

/// Under both, for each lateness.
fn errors_ppm(link_bps: u64, rate_bps: u64) -> [f64; 6] {
    let setups = LATE.map(|late| setup(link_bps, rate_bps, late));
    let htb = |setup: &Setup| Htb::new(&tree(&setup.link, &setup.ids, 1500));
    let takt = setups.each_ref();
    let takt = takt.map(|setup| error_ppm(setup, &mut Takt::new(setup.tables.clone())));
    let peer = setups
        .each_ref()
        .map(|setup| error_ppm(setup, &mut htb(setup)));
    let [a, b, c] = takt;
    let [d, e, f] = peer;
    [a, b, c, d, e, f]
}

fn print(name: &str, errors: [f64; 6]) {
    let [a, b, c, d, e, f] = errors;
    println!("{name:>13} {a:>10.6} {b:>10.6} {c:>10.6} {d:>10.1} {e:>10.1} {f:>10.1}");
}

fn main() {
    let steps = (1..=100).map(|step| (10 * GBIT, step * GBIT / 10));
    let more = [40, 100, 400].map(|gbit| (gbit * GBIT, gbit * GBIT));
    println!("{:>13} {:>32} {:>32}", "", "takt", "tree");
    println!(
        "{:>13} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "late up to", LATE[0], LATE[1], LATE[2], LATE[0], LATE[1], LATE[2]
    );
    let mut worst = [0f64; 6];
    for (link_bps, rate_bps) in steps.chain(more) {
        let errors = errors_ppm(link_bps, rate_bps);
        for (worst, error) in worst.iter_mut().zip(errors) {
            *worst = if error.abs() > worst.abs() {
                error
            } else {
                *worst
            };
        }
        print(&takt_policy::format_rate(rate_bps), errors);
    }
    print("worst", worst);
}
