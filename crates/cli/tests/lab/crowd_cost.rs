//! The crowd's law costs its sender next to nothing. A processor here executes an instruction in
//! a nanosecond, so the kernel's own times of programs count instructions.

use std::fs;

use libbpf_rs::query::ProgInfoIter;

use crate::{
    machine::DEFAULT,
    metronome::sleep_ms,
    terminals::{Terminals, Upload},
};

const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";
/// Of the two programs of an acknowledgement, with CUBIC's functions that they call and the
/// kernel's own counting: these two alone took 302, the law 251 (6.18). A sender takes about 27,000
/// for an acknowledgement of two segments, so the law is a hundredth of it.
const MOST_NS: u64 = 650;

#[test]
fn an_acknowledgement_takes_few_instructions() {
    DEFAULT.run(|| {
        let _terminals = Terminals::new();
        let _members = [1, 2].map(|n| Terminals::join_as(n, ""));
        let _uploads = [1, 2].map(|n| Upload::start(n, None));
        sleep_ms(3000);
        fs::write(STATISTICS, "1").unwrap();
        let before = counted();
        sleep_ms(5000);
        let after = counted();
        fs::write(STATISTICS, "0").unwrap();
        let (acks, took_ns) = (after.0 - before.0, after.1 - before.1);
        println!("{acks} acknowledgements, {} ns each", took_ns / acks);
        assert!(acks > 1000);
        assert!(took_ns <= acks * MOST_NS, "{took_ns} ns for {acks}");
    });
}

/// Acknowledgements, and what the law's programs took for them.
fn counted() -> (u64, u64) {
    let (mut acks, mut took_ns) = (0, 0);
    for program in ProgInfoIter::default() {
        // The kernel keeps fifteen characters of takt_crowd_acked and takt_crowd_avoid.
        match program.name.to_str() {
            Some("takt_crowd_acke") => acks += program.run_cnt,
            Some("takt_crowd_avoi") => {}
            _ => continue,
        }
        took_ns += program.run_time_ns;
    }
    (acks, took_ns)
}
