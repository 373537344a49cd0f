//! Runs all programs at once, for the measured time.

use std::path::Path;
use std::time::Duration;

use super::beat::{Beats, MS};
use super::clock::now_ns;
use super::contender::Contender;
use super::process::Process;
use super::script::{Part, Record, Role, Window};
use crate::experiment::error::Result;
use crate::experiment::namespace::Namespace;
use crate::experiment::pair::A;

/// In this time every program starts, and every thread has its first beats.
const WARM_UP_NS: u64 = 300 * MS;
/// Windows begin with a frame: every period of this experiment divides it.
const FRAME_NS: u64 = 40 * MS;

/// The programs, each in its network namespace.
pub type Cast = Vec<(Namespace, Vec<Role>)>;

/// The records of all threads.
pub struct Played {
    pub window: Window,
    /// In the order of the cast.
    pub records: Vec<Vec<Record>>,
}

/// The window for programs that are started now.
pub fn window(length: Duration) -> Window {
    let begin_ns = (now_ns() + WARM_UP_NS).next_multiple_of(FRAME_NS);
    Window {
        begin_ns,
        end_ns: begin_ns + length.as_nanos() as u64,
    }
}

/// Starts the programs in their order and waits for all of them.
pub fn play(takt: &Path, length: Duration, cast: Cast) -> Result<Played> {
    play_beside(takt, length, cast, |_| Ok(())).map(|(played, ())| played)
}

/// As [`play`], with work of this thread in the meantime.
pub fn play_beside<T>(
    takt: &Path,
    length: Duration,
    cast: Cast,
    work: impl FnOnce(Window) -> Result<T>,
) -> Result<(Played, T)> {
    let window = window(length);
    let processes = cast
        .into_iter()
        .map(|(namespace, threads)| Process::start(takt, namespace, window, threads))
        .collect::<Result<Vec<_>>>()?;
    let done = work(window)?;
    let records = processes
        .into_iter()
        .map(Process::finish)
        .collect::<Result<_>>()?;
    Ok((Played { window, records }, done))
}

/// The program whose threads are to run on the beat.
pub fn beats(contender: Contender, beats: &Beats) -> (Namespace, Vec<Role>) {
    let threads = beats.threads.iter().enumerate().map(|(at, beat)| Role {
        name: beat.name.clone(),
        class: contender.class(at, beat),
        part: Part::Jobs {
            rhythm: beat.rhythm,
            wait: contender.wait(beats),
            work_ns: beat.work_ns(),
        },
    });
    (A, threads.collect())
}

/// A program without threads on the beat.
pub fn ordinary(threads: Vec<Role>) -> (Namespace, Vec<Role>) {
    (A, threads)
}
