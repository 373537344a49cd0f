//! Threads that run when released, and record the time.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use takt_beats::Beat;

use crate::experiment::beats::clock::{Rhythm, now_ns, sleep_until};
use crate::experiment::beats::script::{Job, Record, Wait, Window};
use crate::experiment::error::Result;

use super::work::Piece;

/// Two readings of the clock further apart than this have something between them: reading takes
/// a tenth of it, the shortest interrupt twice as long.
const PAUSE_NS: u64 = 600;
/// Spans that a thread records.
const SPANS_MAX: usize = 1 << 17;
/// A thread may start this much before its beat, and still for it.
const EARLY_NS: u64 = 100;

/// A job on every beat during which the thread is free.
pub fn beats(
    rhythm: Rhythm,
    wait: Wait,
    work: Piece,
    window: Window,
    enter: impl FnOnce() -> Result<()>,
) -> Result<Record> {
    let mut record = Record {
        jobs: Vec::with_capacity(rhythm.count(window.begin_ns, window.end_ns) as usize + 1),
        ..Record::default()
    };
    if wait == Wait::YieldPeriod {
        // Periods count from the moment the thread enters its class.
        sleep_until(rhythm.next_after(now_ns()));
    }
    enter()?;
    let mut last_ns = 0;
    loop {
        let lead_ns = match wait {
            Wait::Sleep { lead_ns } | Wait::Yield { lead_ns } => lead_ns,
            Wait::YieldPeriod => 0,
        };
        let beat_ns = rhythm.next_after((now_ns() + lead_ns).max(last_ns));
        last_ns = beat_ns;
        if beat_ns >= window.end_ns {
            return Ok(record);
        }
        let woke_ns = match wait {
            Wait::Sleep { .. } => {
                sleep_until(beat_ns - lead_ns);
                now_ns()
            }
            Wait::Yield { .. } | Wait::YieldPeriod => {
                let (woke_ns, early) = yield_until(beat_ns - lead_ns);
                if window.contains(beat_ns) {
                    record.early += early;
                }
                woke_ns
            }
        };
        let mut start_ns = woke_ns;
        while lead_ns > 0 && start_ns < beat_ns {
            start_ns = now_ns();
        }
        work.perform();
        let end_ns = now_ns();
        if window.contains(beat_ns) {
            record.jobs.push(Job {
                beat_ns,
                woke_ns,
                start_ns,
                end_ns,
            });
        }
    }
}

/// The first reading of the clock from about `release_ns` on, and the number of readings before.
fn yield_until(release_ns: u64) -> (u64, u64) {
    let mut early = 0;
    loop {
        std::thread::yield_now();
        let woke_ns = now_ns();
        if woke_ns + EARLY_NS >= release_ns {
            return (woke_ns, early);
        }
        early += 1;
    }
}

/// Works and yields, repeatedly.
pub fn relay(work: Piece, window: Window, enter: impl FnOnce() -> Result<()>) -> Result<Record> {
    let mut record = watching();
    enter()?;
    loop {
        let start_ns = now_ns();
        work.perform();
        let end_ns = now_ns();
        note(&mut record, window, (start_ns, end_ns));
        if end_ns >= window.end_ns {
            return Ok(record);
        }
        std::thread::yield_now();
    }
}

/// Members that have had a turn in this job. No two of them run at the same time, so this needs
/// no more than a load and a store.
static TURNS: AtomicU32 = AtomicU32::new(0);
/// The last of so many turns ends its job.
const TURNS_MAX: u32 = 4;

/// Works and passes its turn to any member, repeatedly.
pub fn pass(
    (member, members): (u32, u32),
    work: Piece,
    window: Window,
    enter: impl FnOnce() -> Result<()>,
) -> Result<Record> {
    let mut record = watching();
    record.choices = Vec::with_capacity(SPANS_MAX);
    enter()?;
    let beat = Beat::without();
    // Each member chooses otherwise, and each run is the same.
    let mut random = Pcg64Mcg::seed_from_u64(member.into());
    loop {
        let start_ns = now_ns();
        work.perform();
        let turn = TURNS.load(Relaxed) + 1;
        let choice = if turn < TURNS_MAX {
            random.random_range(1..=members)
        } else {
            0
        };
        TURNS.store(turn % TURNS_MAX, Relaxed);
        let end_ns = now_ns();
        let noted = record.spans.len();
        note(&mut record, window, (start_ns, end_ns));
        if record.spans.len() > noted {
            record.choices.push(choice);
        }
        if end_ns >= window.end_ns {
            return Ok(record);
        }
        match choice {
            0 => beat.end(),
            member => beat.pass(member),
        }
    }
}

/// Reads the clock without end from a first beat on, and records the spans in which no other
/// thread ran.
pub fn watch(rhythm: Rhythm, window: Window, enter: impl FnOnce() -> Result<()>) -> Result<Record> {
    let mut record = watching();
    // Not before the window: under SCHED_FIFO no other thread would start.
    sleep_until(rhythm.next_after(window.begin_ns - 1));
    enter()?;
    let mut from_ns = now_ns();
    let mut last_ns = from_ns;
    while last_ns < window.end_ns {
        let now_ns = now_ns();
        if now_ns - last_ns > PAUSE_NS {
            note(&mut record, window, (from_ns, last_ns));
            from_ns = now_ns;
        }
        last_ns = now_ns;
    }
    note(&mut record, window, (from_ns, last_ns));
    Ok(record)
}

fn watching() -> Record {
    Record {
        spans: Vec::with_capacity(SPANS_MAX),
        ..Record::default()
    }
}

fn note(record: &mut Record, window: Window, span: (u64, u64)) {
    // An earlier begin does not show its cause.
    if window.contains(span.0) && record.spans.len() < record.spans.capacity() {
        record.spans.push(span);
    }
}
