//! Paper 004's figure 2, and beyond: one class at 100 rates of a 10 Gbit/s link, then at 40, 100 and
//! 400 Gbit/s, with timers that are late. Prints how far each rate is off, in ppm.

use takt_sim::{Setup, Terms, qdisc::Takt};

const GBIT: u64 = 1_000_000_000;
/// Simulated time; faster links have more packets in it.
const DURATION_NS: u64 = 2_000_000_000;

/// How far a class of this rate is off, with timers late by 0 to `late`.
fn error_ppm(link_bps: u64, rate_bps: u64, late: &str) -> f64 {
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
    let setup = Setup::new(&policy, "policy", None, &traffic).expect("a setup");
    let terms = Terms {
        seed: 1,
        duration_ns: DURATION_NS,
    };
    let mut qdisc = Takt::new(setup.tables.clone());
    let outcome = takt_sim::run(&setup, "takt", &mut qdisc, terms);
    outcome.classes[0]
        .rate_error_ppm
        .expect("it never ran empty")
}

fn main() {
    let steps = (1..=100).map(|step| (10 * GBIT, step * GBIT / 10));
    let more = [40, 100, 400].map(|gbit| (gbit * GBIT, gbit * GBIT));
    println!(
        "{:>14} {:>12} {:>12} {:>12}",
        "rate", "late 0", "late 1us", "late 50us"
    );
    let mut worst = [0f64; 3];
    for (link_bps, rate_bps) in steps.chain(more) {
        let errors = ["0ns", "1us", "50us"].map(|late| error_ppm(link_bps, rate_bps, late));
        for (worst, error) in worst.iter_mut().zip(errors) {
            *worst = worst.max(error.abs());
        }
        let [at_0, at_1, at_50] = errors;
        println!("{rate_bps:>14} {at_0:>12.6} {at_1:>12.6} {at_50:>12.6}");
    }
    let [at_0, at_1, at_50] = worst;
    println!("{:>14} {at_0:>12.6} {at_1:>12.6} {at_50:>12.6}", "worst");
}
