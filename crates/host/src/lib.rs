//! What reads and changes the running kernel.

mod apply;
mod beats;
mod bpf;
mod crowd;
pub mod doctor;
mod error;
mod helper;
mod link;
mod monitor;
mod os;
pub mod places;
mod radio;
mod state;
mod status;

pub use apply::pending::{
    Admin, Pending, PendingState, PendingStatus, Role, Stage, Trial, Turn, apply_on_trial, cancel,
    confirm,
};
pub use apply::revert::{Ending, Reverted, Undone, revert};
pub use apply::{Action, Applied, Options, Outcome, apply};
pub use beats::softirq::NetworkLevel;
pub use beats::{BeatsAction, Displaced, Displacement, Ended, SentAway};
pub use crowd::{BoundsStatus, Crowd, CrowdAction, CrowdStatus, HeardGroup, Usage, applied_crowd};
pub use error::{Error, Foreign};
pub use helper::{Stay, feed};
pub use link::background;
pub use link::decide::{Undecided, unplannable};
pub use link::gap::NoGap;
pub use link::receive::NoReceive;
pub use link::registered::{Destination, Registration, Registrations, Whose, asked_for};
pub use link::sockets::NoUser;
pub use monitor::{Events, Monitor};
pub use os::files::{Shortage, raise_limit};
pub use os::flock::Holder;
pub use os::netlink::{NetlinkError, Refusal};
pub use os::privilege::Barred;
pub use radio::signal::SignalMeter;
pub use radio::{policy::applied_radio, stations};
pub use state::source::Source;
pub use status::{
    BackgroundStatus, BeatsStatus, Bucket, ClassStatus, Counters, CpuStatus, Datagrams,
    DeviceBuffer, DeviceState, FlowStatus, FlowTotals, GapStatus, Heard, Lateness, LinkStatus,
    MemberStatus, PieceStatus, RadioStatus, ReceiveStatus, Received, Share, Status, TaskCounters,
    TaskStatus, TenantStatus, applied_policy, status,
};

/// A policy that exceeds the kernel's tables.
pub use takt_planner::PlanError;

/// Refuse early if this process lacks a capability.
pub use os::capability::require;

/// The running kernel's release, as `uname -r` prints it.
pub fn release() -> String {
    nix::sys::utsname::uname()
        .map(|system| system.release().to_string_lossy().into_owned())
        .unwrap_or_default()
}
