//! How long a link's background traffic has been kept waiting, and why.

use serde::Serialize;
use takt_algo::sys::{TAKT_BACKGROUND, TAKT_IN_GATE, takt_entity, takt_plan};

use crate::{
    link::{counted::Counted, managed::Managed},
    os::clock::monotonic_ns,
};

/// Since takt was attached.
#[derive(Debug, Serialize)]
pub struct BackgroundStatus {
    /// What keeps it waiting now: `nothing`, `link busy` or `task more important`.
    pub waits_for: &'static str,
    /// Packets behind the gate now.
    pub held_packets: u32,
    /// Times that a class or flow was blocked by the gate.
    pub holds: u64,
    /// Time in which anything was blocked: a more important task ran.
    pub held_by_tasks_ns: u64,
    /// Time in which other classes used the link while background packets waited for it.
    pub held_by_link_ns: u64,
    /// Whether the opener runs, which wakes blocked queues from an idle processor.
    pub opener_running: bool,
}

/// `None` if the policy has no class in the background.
pub(super) fn status(
    plan: &takt_plan,
    counted: &Counted,
    helper_running: bool,
) -> Option<BackgroundStatus> {
    let classes = &plan.class_params;
    if !classes
        .iter()
        .any(|class| u32::from(class.priority) == TAKT_BACKGROUND)
    {
        return None;
    }
    let blocked = &counted.blocked;
    let is_blocked = |entity: &&takt_entity| u32::from(entity.waits) & TAKT_IN_GATE != 0;
    let since_ns = match blocked.by_task.count {
        0 => 0,
        _ => monotonic_ns().saturating_sub(blocked.since_ns),
    };
    Some(BackgroundStatus {
        waits_for: match (blocked.by_task.count, blocked.backlogged) {
            (1.., _) => "task more important",
            (0, 1..) => "link busy",
            (0, 0) => "nothing",
        },
        held_packets: counted
            .entities
            .iter()
            .filter(is_blocked)
            .map(|entity| entity.queue.packets)
            .sum(),
        holds: blocked.blocks,
        held_by_tasks_ns: blocked.task_ns + since_ns,
        held_by_link_ns: blocked.link_ns,
        opener_running: helper_running,
    })
}

pub(super) fn problem(managed: &Managed, helper_running: bool) -> Option<String> {
    (managed.plan.gated != 0 && !helper_running).then(|| {
        "the helper is not running, so packets that the background's gate blocks wait for \
         the processor that blocked them; `takt apply` starts it again"
            .to_owned()
    })
}
