//! Limits the machines that run at once, over all processes: one for each processor of the
//! host, since a machine uses all of a processor, and one more, since machines with the host's
//! time also sleep. Machines with virtual time are not affected by others, and the rest make no
//! promise about time.

use std::fs::File;
use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use nix::fcntl::Flock;

use super::error::Doing;
use super::{Result, cache};

/// Slots are locked files, and a process cannot wait for any one of several.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The number that keeps every processor busy, if they never sleep.
pub fn busy_count() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// One machine's slot, until this is dropped or the process ends.
pub struct MachineSlot {
    number: usize,
    _lock: Flock<File>,
}

impl MachineSlot {
    /// Waits for a free slot; prints a message once if it has to wait.
    pub fn take() -> Result<MachineSlot> {
        let mut said = false;
        loop {
            if let Some(slot) = MachineSlot::try_take()? {
                return Ok(slot);
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

    fn try_take() -> Result<Option<MachineSlot>> {
        for number in 0..=busy_count() {
            if let Some(lock) = cache::try_turn(&format!("machine.{number}.lock"))? {
                return Ok(Some(MachineSlot {
                    number,
                    _lock: lock,
                }));
            }
        }
        Ok(None)
    }

    /// The file of the machine's console output, for debugging; the next machine in this slot
    /// overwrites it.
    pub fn console_log(&self) -> Result<File> {
        let path = cache::dir()?.join(format!("console.{}.log", self.number));
        File::create(&path).doing(|| format!("create {}", path.display()))
    }
}
