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
    /// Nothing but the length of the driver's ring: the link has no rate, and the driver has counted no
    /// bytes.
    #[serde(rename = "ring")]
    Ring,
}

/// `None` if no class is in the background, and the link has a rate.
pub(super) fn status(managed: &Managed, buffers: &Buffers) -> Option<DeviceBuffer> {
    let record = managed.record.as_ref()?;
    let is_background =
        |id: u32| managed.plan.class_params[id as usize].priority == PRIORITY_BACKGROUND;
    let by_device = managed.plan.by_device != 0;
    if !by_device && !record.ids.classes().any(|(_, id)| is_background(id)) {
        return None;
    }
    let limits = record.queue_limits.as_ref();
    let queues = buffers.queues(managed.outline.owner.ifindex);
    let held = limits.filter(|limits| limits.holds(&queues));
    Some(match held {
        Some(limits) => DeviceBuffer::Bql {
            limit_bytes: limits.limit_bytes,
        },
        None if by_device => DeviceBuffer::Ring,
        None => DeviceBuffer::LinkClock,
    })
}
