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

use takt_report::Row;

use self::cable::Cable;
use super::bench::Bench;
use super::error::Result;
use super::pair;

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let _cable = Cable::with_queues(processors)?;
    let _dropped = pair::drop_on_arrival()?;
    let mut rows = crowding::run(bench, processors)?;
    rows.extend(sharing::run(bench, processors)?);
    Ok(rows)
}
