//! The crowd's law costs its sender next to nothing. A processor here executes an instruction in
//! a nanosecond, so the kernel's own times of programs count instructions.

use std::{fs, time::Instant};

use libbpf_rs::query::ProgInfoIter;

use crate::{
    machine::DEFAULT,
    metronome::sleep_ms,
    terminals::{Terminals, Upload},
};

const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";
/// Of the two programs of an acknowledgement: 302 of CUBIC's functions that they call and of the
/// kernel's counting (6.18, with the law taken out), and for the law a hundredth of the 26,500 that
/// a sender takes for an acknowledgement of two segments.
const MOST_NS: u64 = 302 + 265;
/// Of /proc/stat.
const JIFFY_NS: u64 = 10_000_000;

#[test]
fn an_acknowledgement_takes_few_instructions() {
    DEFAULT.run(|| {
        let _terminals = Terminals::new();
        let _members = [1, 2].map(|n| Terminals::join_as(n, ""));
        let _uploads = [1, 2].map(|n| Upload::start(n, None));
        sleep_ms(3000);
        fs::write(STATISTICS, "1").unwrap();
        let (began, idle, before) = (Instant::now(), idle_ns(), counted());
        sleep_ms(5000);
        let (elapsed_ns, idle, after) = (
            began.elapsed().as_nanos() as u64,
            idle_ns() - idle,
            counted(),
        );
        fs::write(STATISTICS, "0").unwrap();
        let (acks, took_ns) = (after.0 - before.0, after.1 - before.1);
        assert!(acks > 1000, "{acks}");
        println!(
            "{acks} acknowledgements: {} ns each in the congestion control, of {} ns of the machine",
            took_ns / acks,
            elapsed_ns.saturating_sub(idle) / acks
        );
        assert!(took_ns <= acks * MOST_NS, "{took_ns} ns for {acks}");
    });
}

/// Acknowledgements, and what the congestion control's programs took for them.
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

fn idle_ns() -> u64 {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let all = stat.lines().next().unwrap();
    // Idle and waiting for I/O come after user, nice and system.
    let idle = all.split_whitespace().skip(4).take(2);
    idle.map(|time| time.parse::<u64>().unwrap() * JIFFY_NS)
        .sum()
}
