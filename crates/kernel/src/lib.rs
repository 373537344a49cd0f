//! Takt's hands: what reads and changes the running kernel.

mod apply;
mod bpffs;
mod btf;
mod capability;
mod cgroup;
mod change;
mod decide;
pub mod doctor;
mod error;
mod gap;
mod helper;
mod log;
mod managed;
pub mod netlink;
mod port;
mod program;
mod record;
mod revert;
mod sockets;
mod status;
mod syscall;

pub use apply::{Action, Options, Outcome, apply};
pub use decide::Undecided;
pub use error::{Error, Foreign};
pub use gap::NoGap;
pub use helper::{Stay, feed};
pub use program::Program;
pub use record::Source;
pub use revert::{Reverted, revert};
pub use sockets::NoUser;
pub use status::{
    BackgroundStatus, ClassStatus, Counters, FlowStatus, FlowTotals, GapStatus, LinkStatus, Share,
    Status, TenantStatus, applied_policy, status,
};

/// The running kernel's release, as `uname -r` prints it.
pub fn release() -> String {
    nix::sys::utsname::uname()
        .map(|system| system.release().to_string_lossy().into_owned())
        .unwrap_or_default()
}
