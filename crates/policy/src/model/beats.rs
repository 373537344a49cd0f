//! Tasks that run on the beat.

use serde::{Deserialize, Serialize};

use crate::ExactTime;

/// The group whose members may take reservations, unless `[beats]` says otherwise. No host has this
/// group before its administrator makes it.
const JOIN_DEFAULT: &str = "takt";

/// Defaults of `[beats]`.
pub(crate) const GRID_DEFAULT_NS: u64 = 500_000;
/// HiTactix keeps 10 ms of 160 ms free.
pub(crate) const FREE_DEFAULT_PPM: u32 = 62_500;
pub(crate) const BATCH_DEFAULT_PACKETS: u32 = 8;

/// Tasks that run on the beat, and the time-slot tables that hold them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beats {
    /// All edges of slots are multiples of this.
    pub grid_ns: ExactTime,
    /// The clock of which.
    #[serde(default)]
    pub clock: BeatsClock,
    /// The part that is never assigned, in millionths of every CPU's frame.
    pub free_ppm: u32,
    /// The CPUs that may carry beats, sorted; `None` for every one that is online.
    pub cpus: Option<Vec<u32>>,
    /// Whether network devices process packets in threads while beats are loaded.
    pub threaded_napi: bool,
    /// Packets handled at once with bottom halves off.
    pub batch_packets: u32,
    /// Whether beats are loaded although control groups have limits that do not hold then.
    #[serde(default)]
    pub ignore_cgroup_limits: bool,
    /// The users that may take reservations at run time.
    #[serde(default)]
    pub join: Join,
    /// In file order; never empty.
    pub tasks: Vec<Task>,
}

impl Default for Beats {
    /// The defaults without a section `[beats]`; and no tasks yet.
    fn default() -> Beats {
        Beats {
            grid_ns: GRID_DEFAULT_NS.into(),
            clock: BeatsClock::default(),
            free_ppm: FREE_DEFAULT_PPM,
            cpus: None,
            threaded_napi: true,
            batch_packets: BATCH_DEFAULT_PACKETS,
            ignore_cgroup_limits: false,
            join: Join::default(),
            tasks: Vec::new(),
        }
    }
}

/// The clock from whose zero periods are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BeatsClock {
    /// This host's own, CLOCK_MONOTONIC.
    #[default]
    Monotonic,
    /// CLOCK_TAI: hosts that are synchronised have their beats at the same time, and so has a
    /// switch with a schedule.
    Tai,
}

/// The users that may take reservations at run time, besides root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Join {
    /// No other user.
    None,
    /// Members of the group of this name, which is looked up when a thread asks.
    Group(String),
    /// Every user of the host.
    All,
}

impl Default for Join {
    fn default() -> Join {
        Join::Group(JOIN_DEFAULT.to_owned())
    }
}

/// A thread, or a group of threads with hand-off, with a time slot in each period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The name in outputs. A task that keeps it keeps its slots when the policy changes.
    pub name: String,
    /// A multiple of the grid.
    pub period_ns: ExactTime,
    /// The budget of each period; of a group all members together.
    pub budget_ns: u64,
    /// When the budget begins within the period, a multiple of the grid; `None` where it fits.
    pub offset_ns: Option<ExactTime>,
    /// How long before its beat a thread is released, to wait out the rest on its CPU.
    pub lead_ns: u64,
    /// `lead_ns` is the most, and how much is learned from how late its starts are.
    #[serde(default)]
    pub lead_auto: bool,
    /// Sorted; `None` for all that carry beats.
    pub cpus: Option<Vec<u32>>,
    /// What happens to a thread that exceeds the budget.
    pub overrun: Overrun,
    /// In the order of hand-off; a single thread is the only one.
    pub members: Vec<Member>,
    /// Who says which member goes next.
    #[serde(default)]
    pub handoff: Handoff,
    /// The task's line in the file, counted from 1.
    pub line: usize,
}

/// What happens to a thread that has used up its budget and goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overrun {
    /// It is an ordinary thread until its next release.
    #[default]
    Demote,
    /// The same, and it gets SIGXCPU.
    Signal,
    /// All of its group are ordinary threads until the policy is applied again.
    StopGroup,
    /// It waits for its next slot, as it does when it becomes ready outside of them.
    Wait,
}

/// Who says which member of a group goes next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Handoff {
    /// The order of the members, once in each period.
    #[default]
    Order,
    /// The member that hands over.
    Free,
}

/// One thread of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The thread's name, unless `matches` says otherwise.
    pub name: String,
    /// The thread that it is.
    pub matches: ThreadMatch,
}

/// A conjunction: every field that is present must hold. No two members of a policy have the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ThreadMatch {
    /// The thread's own name, 1 to 15 bytes; `None` for the first thread of a process.
    pub thread: Option<String>,
    /// The name of the process's first thread, 1 to 15 bytes.
    pub command: Option<String>,
    /// As in [`Match`].
    pub cgroup: Option<String>,
    /// As in [`Match`].
    pub unit: Option<String>,
}
