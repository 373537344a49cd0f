//! Takt's hands: what reads and changes the running kernel.

mod address;
mod apply;
pub mod background;
mod beats;
mod bpffs;
mod btf;
mod buffer;
mod capability;
mod cgroup;
mod change;
mod clock;
mod counted;
mod crowd;
mod decide;
pub mod doctor;
mod error;
mod files;
mod flock;
mod gap;
mod helper;
mod levels;
mod lock;
mod log;
mod managed;
mod monitor;
mod names;
mod namespace;
mod netlink;
mod note;
mod pending;
pub mod places;
mod port;
mod privilege;
mod program;
mod radio;
mod receive;
mod record;
mod registered;
mod rest;
mod restore;
mod revert;
pub mod runtime_dir;
mod signal;
mod sockets;
mod source;
pub mod stations;
mod status;
mod syscall;
mod sysfs;
mod trust;

pub use apply::{Action, Applied, Options, Outcome, apply};
pub use beats::{BeatsAction, Displaced, Displacement, Ended, SentAway};
pub use crowd::{BoundsStatus, Crowd, CrowdAction, CrowdStatus, HeardGroup, Usage, applied_crowd};
pub use decide::{Undecided, unplannable};
pub use error::{Error, Foreign};
pub use files::{Shortage, raise_limit};
pub use flock::Holder;
pub use gap::NoGap;
pub use helper::{Stay, feed};
pub use levels::NetworkLevel;
pub use monitor::{Events, Monitor};
pub use netlink::{NetlinkError, Refusal};
pub use pending::{
    Admin, Pending, PendingState, PendingStatus, Role, Stage, Trial, Turn, apply_on_trial, cancel,
    confirm,
};
pub use privilege::Barred;
pub use radio::applied_radio;
pub use receive::NoReceive;
pub use registered::{Destination, Registration, Registrations, Whose, asked_for};
pub use revert::{Ending, Reverted, Undone, revert};
pub use signal::SignalMeter;
pub use sockets::NoUser;
pub use source::Source;
pub use status::{
    BackgroundStatus, BeatsStatus, Bucket, ClassStatus, Counters, CpuStatus, Datagrams,
    DeviceBuffer, DeviceState, FlowStatus, FlowTotals, GapStatus, Heard, Lateness, LinkStatus,
    MemberStatus, PieceStatus, RadioStatus, ReceiveStatus, Received, Share, Status, TaskCounters,
    TaskStatus, TenantStatus, applied_policy, status,
};

/// What no kernel's tables can hold.
pub use takt_planner::PlanError;

/// Refuse early what this process may not do.
pub use capability::require;

/// The running kernel's release, as `uname -r` prints it.
pub fn release() -> String {
    nix::sys::utsname::uname()
        .map(|system| system.release().to_string_lossy().into_owned())
        .unwrap_or_default()
}
