//! A task's thread, as the keeper and the processors' threads share it.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use hdrhistogram::Histogram;

use crate::{attributes::Attributes, page::Page, processes::Stat};

/// With fixed bounds nothing is allocated when a release is noted.
const LATE_MAX_NS: u64 = 1_000_000_000;
/// 1 us of 1 ms.
const DIGITS: u8 = 3;

/// A thread that has a task.
#[derive(Debug)]
pub struct Thread {
    pub pid: i32,
    pub tid: i32,
    pub started: u64,
    /// Its class out of slots, and its CPUs before it came.
    pub before: Attributes,
    pub page: Page,
    /// `/proc/TID/stat`, which stays that thread's.
    pub stat: File,
    /// Whether it was asleep at the end of a slot: until then it may still be starting.
    pub settled: AtomicBool,
    pub is_gone: AtomicBool,
}

impl Thread {
    /// `None` if it has ended.
    pub fn look(&self) -> Option<Stat> {
        let mut text = [0; 512];
        let length = self.stat.read_at(&mut text, 0).ok()?;
        Stat::parse(&text[..length]).filter(|stat| stat.started == self.started)
    }
}

/// A task's place. A processor's thread never waits for the locks. The keeper has that of the thread
/// for some instructions when a thread comes or goes, but may be preempted in these.
#[derive(Debug)]
pub struct Member {
    pub thread: Mutex<Option<Arc<Thread>>>,
    /// The number of the last one that began, from the clock's zero.
    pub job: AtomicU64,
    pub jobs: AtomicU64,
    pub overruns: AtomicU64,
    /// How much later than its slot's beginning a thread was released.
    pub late_ns: Mutex<Histogram<u64>>,
    /// Slots in which the keeper had the thread, or which failed.
    pub skipped: AtomicU64,
}

impl Member {
    pub fn new() -> Self {
        Self {
            thread: Mutex::new(None),
            job: AtomicU64::new(0),
            jobs: AtomicU64::new(0),
            overruns: AtomicU64::new(0),
            // Only other bounds or more digits are refused.
            late_ns: Mutex::new(
                Histogram::new_with_bounds(1, LATE_MAX_NS, DIGITS).expect("bounds"),
            ),
            skipped: AtomicU64::new(0),
        }
    }

    pub fn note_release(&self, late_ns: u64) {
        self.jobs.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut histogram) = self.late_ns.try_lock() {
            histogram.saturating_record(late_ns);
        }
    }
}
