//! Work inside one of the lab's network namespaces.

use super::error::{ExperimentError, Result};
use crate::guest::enter_netns;

/// A namespace by the name `ip netns` has for it.
#[derive(Debug, Clone, Copy)]
pub struct Namespace(pub &'static str);

impl Namespace {
    /// Runs `work` on a thread of its own inside the namespace. Sockets stay in
    /// the namespace they were opened in, and programs in the one they were
    /// started in, so both may outlive the thread.
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
