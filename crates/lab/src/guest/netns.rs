//! Moving a thread from one network namespace to another.

use std::fs::File;
use std::io;
use std::path::Path;

use nix::sched::{CloneFlags, setns};

/// Moves the calling thread only into the network namespace that `ip netns` calls `name`. Works
/// outside the lab too, given CAP_SYS_ADMIN.
pub fn enter_netns(name: &str) -> io::Result<()> {
    let path = Path::new("/run/netns").join(name);
    let namespace = File::open(&path)
        .map_err(|e| io::Error::new(e.kind(), format!("network namespace {name}: {e}")))?;
    setns(namespace, CloneFlags::CLONE_NEWNET)?;
    Ok(())
}
