//! Beginning and ending a change of the host: its lock, what is left of a takt that died, and
//! what is no longer needed.

use std::{fs, path::Path, time::Duration};

use crate::{
    apply::parts,
    bpf::pins,
    download,
    error::Error,
    helper,
    link::conflict,
    segments,
    state::{
        lock::Lock,
        runtime_dir::{self, DIR},
    },
    stock,
};

/// How long a takt waits for another one. No takt holds the lock this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Directories that hold only records, one for each kind.
const RECORDS: [&str; 8] = [
    "links",
    segments::RECORDS_DIR,
    stock::RECORDS_DIR,
    "beats",
    "radio",
    "crowd",
    conflict::RECORDS_DIR,
    download::RECORDS_DIR,
];

/// A change of the host: no other takt makes one meanwhile.
pub(crate) struct Session(Lock);

impl Session {
    pub fn begin() -> Result<Self, Error> {
        Self::begin_within(PATIENCE)
    }

    /// As [`Self::begin`], for a caller that has less time.
    pub fn begin_within(patience: Duration) -> Result<Self, Error> {
        pins::root()?;
        let lock = Lock::take_within(patience)?;
        if let Err(error) = pins::tidy() {
            // The directory was not needed, unless something is managed.
            let _ = fs::remove_dir(DIR);
            return Err(error);
        }
        Ok(Self(lock))
    }

    /// The work is done, successfully or not: remove what the parts do not need, and if no
    /// policy is in force, everything.
    pub fn end(self) -> Result<(), Error> {
        helper::sweep();
        if parts::settle()? {
            return Ok(());
        }
        pins::sweep()?;
        for records in RECORDS {
            runtime_dir::remove_all(&Path::new(DIR).join(records))?;
        }
        self.0.leave();
        Ok(())
    }
}
