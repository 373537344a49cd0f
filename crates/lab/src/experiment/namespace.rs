//! Work inside one of the lab's network namespaces.

use super::error::{ExperimentError, Result};
use crate::guest::enter_netns;

/// A namespace, by its name for `ip netns`.
#[derive(Debug, Clone, Copy)]
pub struct Namespace(pub &'static str);

impl Namespace {
    /// Runs `work` on a thread of its own inside the namespace. Sockets stay in the namespace
    /// in which they were opened, and programs in the one in which they were started, so both
    /// may outlive the thread.
    ///
    /// `ip netns exec` would also change the mount namespace, and hide the
    /// BPF file system in which Takt keeps its maps.
    pub fn run<T: Send>(self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let inside = || {
            enter_netns(self.0).map_err(|source| ExperimentError::Namespace {
                name: self.0,
                source,
            })?;
            work()
        };
        std::thread::scope(|scope| match scope.spawn(inside).join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }
}
