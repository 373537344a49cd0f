//! What does one lock for all queues of a device cost?
//!
//! A sender on each processor, each with a transmit queue of its own, sends small packets as fast as
//! it can: [`crowding`]. Then the senders share a class's rate over all queues: [`sharing`]. The
//! [`cable`] has as many queues as the machine has processors, [`senders`] are the threads, and
//! [`contender`] has the settings.
//!
//! More than one processor is the host's time: figures are compared within a round, and rounds
//! follow each other.

mod cable;
mod contender;
mod crowding;
mod senders;
mod sharing;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use takt_report::Row;

use self::cable::Cable;
use super::bench::Bench;
use super::error::{Result, WhileDoing};
use super::pair;

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let processors = processors()?;
    let _cable = Cable::with_queues(&processors)?;
    let _dropped = pair::drop_on_arrival()?;
    let mut rows = crowding::run(bench, &processors)?;
    rows.extend(sharing::run(bench, &processors)?);
    Ok(rows)
}

/// By their numbers.
fn processors() -> Result<Vec<usize>> {
    let all = sched_getaffinity(Pid::from_raw(0)).doing("ask for the processors")?;
    let is_one = |number: &usize| all.is_set(*number).unwrap_or(false);
    Ok((0..CpuSet::count()).filter(is_one).collect())
}
