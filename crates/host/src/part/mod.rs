//! A part: one capability's share of a transaction.
//!
//! Links, trees, beats, crowd and radio each implement [`Part`], in the file `part.rs` of their room,
//! and decide what a policy changes of them in a constructor of their own. `apply`, `revert`
//! and `status` know a capability by this trait and no further (`apply/parts.rs` lists all).
//!
//! ```text
//! decide ── verify                      a dry run ends here
//!    └───── prepare ── commit ── tidy   undo, if any part fails before tidy
//! ```

pub(crate) mod followed;
mod foreign;
mod host;

use crate::{error::Error, state::source::Source};

pub use foreign::Foreign;
pub(crate) use host::Host;

/// What is removed of the beats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The scheduler, with all that it runs.
    All,
    /// The policy's tasks; ad hoc tasks stay.
    Policy,
}

/// What taking a part out did.
pub(crate) struct Undone<T> {
    pub done: T,
    /// What other programs changed, and was left alone.
    pub foreign: Vec<Foreign>,
}

impl<T> Undone<T> {
    pub fn all(done: T) -> Self {
        Self {
            done,
            foreign: Vec::new(),
        }
    }
}

/// What `takt status` wants to know, and what parts cannot find out themselves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query {
    /// Every flow, not only their totals.
    pub with_flows: bool,
    /// Whether the helper of this network namespace runs.
    pub helper_running: bool,
}

/// A value of it is what a policy changes of the part: decided, and not in force yet. All
/// methods need the host's lock, except [`status`](Self::status).
pub(crate) trait Part {
    /// What `takt revert` reports.
    type Undone
    where
        Self: Sized;
    /// What `takt status` reports.
    type Status
    where
        Self: Sized;

    /// Remove what a takt that died, or a network namespace that is gone, has left.
    fn sweep(_: &mut Host) -> Result<(), Error>
    where
        Self: Sized,
    {
        Ok(())
    }

    /// Restore the state before the first policy of this network namespace.
    fn revert(host: &mut Host, ending: Ending) -> Result<Undone<Self::Undone>, Error>
    where
        Self: Sized;

    /// The policy of this network namespace that the part follows.
    fn source(host: &mut Host) -> Result<Option<Source>, Error>
    where
        Self: Sized;

    /// The state of the part now.
    fn status(host: &mut Host, query: Query) -> Result<Self::Status, Error>
    where
        Self: Sized;

    /// Unload what no network namespace needs any more. Returns whether any namespace has a
    /// policy of the part.
    fn settle() -> Result<bool, Error>
    where
        Self: Sized;

    /// Changes nothing, but checks that what would be loaded does load.
    fn verify(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The invisible work: whatever can fail or take long.
    fn prepare(&mut self, _: &mut Host) -> Result<(), Error> {
        Ok(())
    }

    /// The visible change.
    fn commit(&mut self, host: &mut Host) -> Result<(), Error>;

    /// This or another part failed in `prepare` or `commit`: restore the state before
    /// `prepare`, however far this part came. A failure does not stop the rest, so there may be
    /// several.
    fn undo(&mut self, host: &mut Host) -> Vec<Error>;

    /// Remove what the new state no longer needs.
    fn tidy(&mut self, host: &mut Host) -> Result<(), Error>;
}
