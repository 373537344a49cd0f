//! What reads and changes the running kernel.

mod apply;
mod autorate;
mod beats;
mod bpf;
mod cause;
mod crowd;
pub mod doctor;
mod download;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod helper;
mod link;
mod monitor;
mod os;
mod part;
mod prediction;
mod radio;
pub mod reservations;
mod segments;
mod state;
mod status;
mod stock;

pub use apply::TrialError;
pub use apply::keep::{Keeper, Kept};
pub use apply::pending::{
    Admin, Pending, PendingState, PendingStatus, Role, Stage, Trial, Turn, apply_on_trial, cancel,
    confirm,
};
pub use apply::revert::Undone;
pub use apply::undecided::{Undecided, unplannable};
pub use apply::upgrade::revert;
pub use apply::{Applied, Options, applied_policy, apply, feed};
pub use autorate::applied_autorate;
pub use beats::BeatsError;
pub use beats::softirq::SoftirqTiers;
pub use beats::{
    BeatsAction, BeatsStatus, Bucket, CgroupLimit, CpuStatus, Displaced, Displacement, Ended,
    Lateness, MemberStatus, PieceStatus, SentAway, TaskCounters, TaskStatus,
};
pub use bpf::BpfError;
pub use cause::Cause;
pub use crowd::CrowdError;
pub use crowd::{
    BoundsStatus, Crowd, CrowdAction, CrowdStatus, Downloaded, HeardGroup, Usage, applied_crowd,
};
pub use error::{Error, NotTakenBack};
pub use helper::HelperError;
pub use helper::Stay;
pub use link::LinkError;
pub use link::background;
pub use link::gap::NoGap;
pub use link::line;
pub use link::push_back::NoPushBack;
pub use link::receive::NoReceive;
pub use link::registered::{Destination, Registration, Registrations, Whose, asked_for};
pub use link::sockets::NoUser;
pub use link::stations;
pub use link::status::{
    BackgroundStatus, ClassStatus, Counters, Datagrams, DepartureStatus, DeviceBuffer, DeviceState,
    FlowStatus, FlowTotals, GapStatus, Heard, LinkStatus, RadioStatus, ReceiveStatus, Received,
    Share, TenantStatus,
};
pub use link::thinning;
pub use link::{Action, Outcome, Reverted};
pub use link::{Changer, ConflictStatus, LostBy, LostLink};
pub use monitor::{Events, Monitor};
pub use os::OsError;
pub use os::files::{Shortage, raise_limit};
pub use os::flock::Holder;
pub use os::netlink::{NetlinkError, Refusal, Traffic};
pub use os::privilege::Barred;
pub use part::Ending;
pub use part::Foreign;
pub use prediction::{LinkPrediction, Prediction, predict, predict_by_release};
pub use radio::RadioError;
pub use radio::applied_radio;
pub use radio::signal::{ReceivedFrames, SignalMeter};
pub use state::StateError;
pub use state::persistent;
pub use state::runtime_dir::DIR as RUNTIME_DIR;
pub use state::source::Source;
pub use status::{Status, status};

pub use stock::kernel;

/// A policy that exceeds the kernel's tables.
pub use takt_planner::PlanError;

pub use os::present_name;

/// Refuse early if this process lacks a capability.
pub use os::capability::require;

/// The running kernel's release, as `uname -r` prints it.
pub fn release() -> String {
    nix::sys::utsname::uname()
        .map(|system| system.release().to_string_lossy().into_owned())
        .unwrap_or_default()
}
