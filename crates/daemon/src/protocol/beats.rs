//! What is said about reservations.

use serde::{Deserialize, Serialize};
use takt_policy::{Handoff, Overrun};

/// Take a reservation: a member that the policy declares (`task`, and of a group `member`), or
/// one on the terms given (`period_ns` or `period`, and `budget_ns`). With neither, the reservation that the
/// thread has already.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinBeat {
    /// A thread of the caller, by the caller's own numbering; its first thread if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// The policy's name for a task that it declares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The policy's name for a member of that task, if the task is a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Ad hoc: the period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    /// The same as a policy spells it, where it is a fraction: `64/48000s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<String>,
    /// Ad hoc: the budget of each period, for all of a group's members together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ns: Option<u64>,
    /// Ad hoc: when the budget begins within the period; where it fits if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_ns: Option<u64>,
    /// The same as a policy spells it, where it is a fraction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<String>,
    /// Ad hoc: how long before its budget the thread is released; 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_ns: Option<u64>,
    /// The same, learned from how late the thread's starts are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<LearnedLead>,
    /// Ad hoc: what happens on an overrun; if absent, the thread is ordinary until its next
    /// release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrun: Option<Overrun>,
    /// Ad hoc: which member it is; a thread on its own if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupMember>,
}

/// The one value of `lead`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LearnedLead {
    /// As much as the starts turn out to need.
    Auto,
}

/// A member of a group that shares one budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupMember {
    /// The name by which its members find each other.
    pub name: String,
    /// From 1, in the order of hand-off.
    pub member: u32,
    /// How many members there are; all must say the same.
    pub of: u32,
    /// Whether the member that hands over chooses the next one; the order does if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
}

/// Give up the reservation of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaveBeat {
    /// As in [`JoinBeat`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
}

/// A thread's reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeatReservation {
    /// The policy's name for the task; of an ad hoc task the group's name, or `tid-` and the
    /// thread's number.
    pub task: String,
    /// The policy's name for the member; of an ad hoc task its number, from 1.
    pub member: String,
    /// The host's number of the thread, as in the job page.
    pub tid: u32,
    /// Which of the job pages is the thread's.
    pub page: u32,
    /// The user of an ad hoc task; absent if the policy declares the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
}

/// The thread has its reservation. A descriptor of all job pages comes along (SCM_RIGHTS), if
/// available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedBeat {
    /// The reservation.
    pub place: BeatReservation,
}

/// The thread is an ordinary one again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBeat {
    /// Always true: a thread without a reservation is refused with
    /// [`Code::NoPlace`](super::Code::NoPlace).
    pub left: bool,
}

/// All reservations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedBeats {
    /// Those of the whole host that a thread holds.
    pub places: Vec<BeatReservation>,
}
