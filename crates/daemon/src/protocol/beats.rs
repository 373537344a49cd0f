//! What is said about places on the beat.

use serde::{Deserialize, Serialize};
use takt_policy::Overrun;

/// Take a place: one that the policy declares (`task`, and of a group `member`), or one on
/// the terms given (`period_ns` and `budget_ns`). With neither, the place that the thread
/// has already.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinBeat {
    /// Of the process that asks, as that one numbers it; its first thread if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// The policy's name for a task that it declares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The policy's name for a place in that task, if that is a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// On terms of its own: from beat to beat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    /// Likewise: what may be used in each period, by a group's members together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ns: Option<u64>,
    /// Likewise: when the budget begins within the period; where it fits if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_ns: Option<u64>,
    /// Likewise: how long before its beat the thread is released; 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_ns: Option<u64>,
    /// Likewise: what becomes of who uses more; an ordinary thread until its next release if
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrun: Option<Overrun>,
    /// Likewise: which member it is; a thread on its own if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupMember>,
}

/// One of a group that shares one budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupMember {
    /// By which its members find each other.
    pub name: String,
    /// From 1, in the order of hand-off.
    pub member: u32,
    /// How many members there are; all must say the same.
    pub of: u32,
}

/// Give up the place that a thread has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaveBeat {
    /// As in [`JoinBeat`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
}

/// A thread's place on the beat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeatPlace {
    /// The policy's name for it; on terms of their own the group's name, or `tid-` and the thread's
    /// number.
    pub task: String,
    /// The policy's name for it; on terms of their own its number, from 1.
    pub member: String,
    /// As the host numbers it, and as the job page has it.
    pub tid: u32,
    /// Which of the job pages is the thread's.
    pub page: u32,
    /// Who took it on terms of their own; absent if the policy declares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
}

/// The thread has its place. A descriptor of all job pages comes along (SCM_RIGHTS), if it is to be
/// had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedBeat {
    /// Which one.
    pub place: BeatPlace,
}

/// The thread is an ordinary one again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBeat {
    /// Always so: who has no place is refused with [`Code::NoPlace`](super::Code::NoPlace).
    pub left: bool,
}

/// Who is on the beat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedBeats {
    /// Those of the whole host that a thread has.
    pub places: Vec<BeatPlace>,
}
