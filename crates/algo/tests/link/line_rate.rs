//! The rate of a line that changes: it counts from the next frame on, and no longer than it lasts.

use takt_algo::sys::{self, takt_line_rate, takt_link};

use super::{
    plan::{self, MBIT},
    raw::{dequeue, laid_out, pass},
};

/// On a link of 100 Mbit/s they take 100 us.
const BYTES: u32 = 1_250;

fn set(link: &mut takt_link, bps: u64, until_ns: u64) {
    link.line = takt_line_rate {
        bps,
        until_ns,
        ..takt_line_rate::default()
    };
}

fn link() -> (Box<sys::takt_plan>, Box<takt_link>) {
    (
        plan::of(100 * MBIT, &[plan::best_effort(MBIT, 3)]),
        laid_out(),
    )
}

#[test]
fn frames_on_the_fast_path_cost_what_the_line_takes() {
    let (plan, mut link) = link();
    let start_ns = 1 << 40;
    for (bps, cost_ns) in [(0, 100_000), (10 * MBIT, 1_000_000), (200 * MBIT, 50_000)] {
        set(&mut link, bps, u64::MAX);
        let now_ns = link.clock.due_ns.max(start_ns);
        assert_eq!(
            pass(&mut link, &plan, 1, BYTES, 1, now_ns),
            sys::TAKT_FAST_PATH
        );
        assert_eq!(link.clock.due_ns, now_ns + cost_ns, "{bps}");
        // It is taken before the next one comes.
        link.fast_id = 0;
    }
}

#[test]
fn queued_frames_follow_at_once_and_the_policys_rate_comes_back() {
    let (plan, mut link) = link();
    let start_ns = 1 << 40;
    let until_ns = start_ns + 5_000_000;
    set(&mut link, 10 * MBIT, until_ns);
    for _ in 0..40 {
        pass(&mut link, &plan, 1, BYTES, 0, start_ns);
    }
    let (mut now_ns, mut sent) = (start_ns, Vec::new());
    while sent.len() < 20 {
        let choice = dequeue(&mut link, &plan, now_ns);
        match choice.packet {
            0 => now_ns = choice.wake_ns,
            _ => sent.push(now_ns - start_ns),
        }
    }
    // Those of 1 ms until the end; that which begins then is the first of 100 us.
    let expected: Vec<u64> = (0..20)
        .map(|frame: u64| match frame {
            0..=5 => 1_000_000 * frame,
            _ => 5_000_000 + 100_000 * (frame - 5),
        })
        .collect();
    assert_eq!(sent, expected);
}

/// After any number of changes, time is what the frames took at the rate of each.
#[test]
fn changes_add_no_time_and_lose_less_than_a_nanosecond_each() {
    let (plan, mut link) = link();
    let start_ns: u64 = 1 << 40;
    for _ in 0..900 {
        pass(&mut link, &plan, 1, BYTES, 0, start_ns);
    }
    let (mut now_ns, mut exact_ns) = (start_ns, 0.0);
    for frame in 0..900u64 {
        let bps = 7_000_003 + 1_234_567 * (frame % 13);
        set(&mut link, bps, u64::MAX);
        let choice = loop {
            let choice = dequeue(&mut link, &plan, now_ns);
            match choice.packet {
                0 => now_ns = choice.wake_ns,
                _ => break choice,
            }
        };
        assert_eq!(choice.len, BYTES);
        exact_ns += f64::from(BYTES) * 8e9 / bps as f64;
    }
    let took_ns = (link.clock.due_ns - start_ns) as f64;
    assert!(
        (took_ns - exact_ns).abs() < 900.0,
        "{took_ns} of {exact_ns}"
    );
}
