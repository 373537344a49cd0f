//! How many machines run at once, whoever starts them: one for each processor of
//! the host, as one takes all of a processor, and one more, as those with the host's
//! time also sleep. Those with virtual time do not mind the company, and the others
//! promise no time.

use std::fs::File;
use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use nix::fcntl::Flock;

use super::error::Doing;
use super::{Result, cache};

/// Places are files, and nobody can wait for one of several.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How many it takes to keep every processor busy, if they never sleep.
pub fn busy_count() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// One machine's place, until this is dropped or the process ends.
pub struct Place {
    number: usize,
    _lock: Flock<File>,
}

impl Place {
    /// Waits until there is one; says so once if it has to wait.
    pub fn take() -> Result<Place> {
        let mut said = false;
        loop {
            if let Some(place) = Place::try_take()? {
                return Ok(place);
            }
            if !said {
                eprintln!(
                    "takt lab: every processor has a lab machine to run, waiting for one to end"
                );
                said = true;
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn try_take() -> Result<Option<Place>> {
        for number in 0..=busy_count() {
            if let Some(lock) = cache::try_turn(&format!("machine.{number}.lock"))? {
                return Ok(Some(Place {
                    number,
                    _lock: lock,
                }));
            }
        }
        Ok(None)
    }

    /// Where what the machine's console says is kept, for the curious; the next
    /// machine in this place overwrites it.
    pub fn console_log(&self) -> Result<File> {
        let path = cache::dir()?.join(format!("console.{}.log", self.number));
        File::create(&path).doing(|| format!("create {}", path.display()))
    }
}
