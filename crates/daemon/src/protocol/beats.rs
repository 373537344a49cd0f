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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrun: Option<Overrun>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupMember>,
}

/// One of a group that shares one budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupMember {
    pub name: String,
    /// From 1, in the order of hand-off.
    pub member: u32,
    pub of: u32,
}

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
    pub task: String,
    pub member: String,
    /// As the host numbers it, and as the job page has it.
    pub tid: u32,
    /// Which of the job pages is the thread's.
    pub page: u32,
    /// Who took it on terms of their own; absent if the policy declares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedBeat {
    pub place: BeatPlace,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBeat {
    pub left: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedBeats {
    pub places: Vec<BeatPlace>,
}
