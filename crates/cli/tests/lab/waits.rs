//! How long an ordinary thread waits while beats are loaded: others may be many and heavy.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
};

use crate::{
    machine::DEFAULT,
    metronome::{MS, assert_stands, now_ns, sleep_ms},
    takt::{apply, assert_no_trace, takt},
};

const UNUSED: &str = "[[task]]\nname = \"unused\"\nperiod = \"40ms\"\nbudget = \"1ms\"\n";
const S: u64 = 1000 * MS;

/// Threads of this process that never sleep, until this is dropped.
struct Busy {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    fn new(count: usize) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let busy = |_| {
            let ends = Arc::clone(&ends);
            thread::spawn(move || while !ends.load(SeqCst) {})
        };
        let threads = (0..count).map(busy).collect();
        Self { ends, threads }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.ends.store(true, SeqCst);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn set_nice(value: i32) {
    // SAFETY: it takes numbers alone.
    let done = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) };
    assert_eq!(done, 0);
}

/// The longest time that a thread of this nice value did not run in so long.
fn longest_wait_ns(nice: i32, for_ns: u64) -> u64 {
    let waits = thread::spawn(move || {
        set_nice(nice);
        let begin_ns = now_ns();
        let (mut last_ns, mut longest_ns) = (begin_ns, 0);
        while last_ns < begin_ns + for_ns {
            let now_ns = now_ns();
            longest_ns = longest_ns.max(now_ns - last_ns);
            last_ns = now_ns;
        }
        longest_ns
    });
    waits.join().unwrap()
}

/// By weights alone it would wait for 31 s, and the kernel ends a scheduler after 30.
#[test]
fn the_least_thread_beside_a_hundred_waits_for_seconds() {
    DEFAULT.run(|| {
        apply(UNUSED).ok();
        let busy = Busy::new(115);
        let longest_ns = longest_wait_ns(19, 10 * S);
        drop(busy);
        println!("{longest_ns} ns");
        assert!(longest_ns < 4 * S, "{longest_ns} ns");
        assert_stands();
        takt("revert").ok();
        assert_no_trace();
    });
}

/// A thread that waited for long does not come before the others for it: weights hold.
#[test]
fn who_has_waited_gets_no_more_than_its_weight() {
    DEFAULT.run(|| {
        apply(UNUSED).ok();
        let busy = Busy::new(20);
        sleep_ms(500);
        let cpu_ns = || {
            let used = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID);
            let used = used.unwrap();
            used.tv_sec() as u64 * S + used.tv_nsec() as u64
        };
        let light = thread::spawn(move || {
            set_nice(19);
            let end_ns = now_ns() + 8 * S;
            while now_ns() < end_ns {}
            cpu_ns()
        });
        let used_ns = light.join().unwrap();
        drop(busy);
        println!("{used_ns} ns");
        // 15 of 20,495 parts of 8 s are 6 ms; and a run of 4 ms for each time that it was overdue.
        assert!(used_ns < 30 * MS, "{used_ns} ns");
        takt("revert").ok();
        assert_no_trace();
    });
}
