//! Experiments on this very machine, without an emulator: an answer to "an emulator is no hardware".
//!
//! All that they make goes with their process, however that ends: networks, qdiscs, BPF pins and
//! takt's records lie in namespaces and file systems that no other process sees. Takt's state of
//! the host is neither read nor changed.

use std::io;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use thiserror::Error;

use crate::guest::{self, lay_pair};

/// Experiments that are about the packets of one machine, and take minutes at most.
pub const NAMES: [&str; 2] = ["cost", "pacing"];

/// File systems of this process's own: names of network namespaces and takt's records are in the
/// first, its pins in the second.
const OWN: [(&str, &str); 2] = [("tmpfs", "/run"), ("bpf", "/sys/fs/bpf")];

/// Why the machine could not be made ready.
#[derive(Debug, Error)]
pub enum NativeError {
    /// Namespaces take CAP_SYS_ADMIN.
    #[error("cannot have namespaces of its own ({0}); run it as root")]
    Unshare(io::Error),
    /// A file system cannot be mounted in them.
    #[error("cannot mount a {kind} of its own at {at}: {source}")]
    Mount {
        /// The file system's kind.
        kind: &'static str,
        /// Where.
        at: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The pair of devices could not be made.
    #[error("{0}; it takes iproute2, ethtool, and a kernel with veth")]
    Network(#[from] guest::Error),
}

/// Moves this process, which has one thread still, into namespaces of its own with the lab's pair
/// of devices.
pub fn enter() -> Result<(), NativeError> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET)
        .map_err(|errno| NativeError::Unshare(errno.into()))?;
    // What is mounted from here on is not seen outside.
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mounted("mount namespace", "/", |at| {
        mount(None::<&str>, at, None::<&str>, private, None::<&str>)
    })?;
    for (kind, at) in OWN {
        mounted(kind, at, |at| {
            mount(Some(kind), at, Some(kind), MsFlags::empty(), None::<&str>)
        })?;
    }
    Ok(lay_pair()?)
}

fn mounted(
    kind: &'static str,
    at: &'static str,
    mount: impl FnOnce(&str) -> nix::Result<()>,
) -> Result<(), NativeError> {
    mount(at).map_err(|errno| NativeError::Mount {
        kind,
        at,
        source: errno.into(),
    })
}
