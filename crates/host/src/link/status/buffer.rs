//! What a link's device holds beyond the qdisc's control.

use serde::Serialize;
use takt_policy::PRIORITY_BACKGROUND;

use crate::link::{buffer::Buffers, managed::Managed};

/// What keeps a device from holding more than about one full frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind")]
pub enum DeviceBuffer {
    /// The kernel, by a limit of each of the device's queues.
    #[serde(rename = "bql")]
    Bql {
        /// How much each queue may hold at once (`limit_max` of byte queue limits).
        limit_bytes: u32,
    },
    /// The link's clock, if the wire is no slower than the policy's rate.
    #[serde(rename = "link clock")]
    LinkClock,
}

/// `None` if no class is in the background.
pub(super) fn status(managed: &Managed, buffers: &Buffers) -> Option<DeviceBuffer> {
    let record = managed.record.as_ref()?;
    record
        .ids
        .classes()
        .find(|(_, id)| managed.plan.class_params[*id as usize].priority == PRIORITY_BACKGROUND)?;
    let limits = record.queue_limits.as_ref();
    let queues = buffers.queues(managed.outline.owner.ifindex);
    let held = limits.filter(|limits| limits.holds(&queues));
    Some(
        held.map_or(DeviceBuffer::LinkClock, |limits| DeviceBuffer::Bql {
            limit_bytes: limits.limit_bytes,
        }),
    )
}
