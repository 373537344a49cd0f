//! Incoming packets in the background.

use serde::Serialize;

use super::{BackgroundStatus, Counters, background};
use crate::{
    link::{counted::Counted, managed::Managed, receive::name_of},
    os::netlink::Port,
};

/// The device that they are sent through.
#[derive(Debug, Serialize)]
pub struct ReceiveStatus {
    /// Its name.
    pub device: String,
    /// Whether they are sent through it; if not, they are not delayed.
    pub works: bool,
    /// Queued there now.
    pub queued_packets: u32,
    /// How long they have waited and why; `None` if that is unknown by now.
    pub background: Option<BackgroundStatus>,
}

/// Incoming packets of a class since its receive side was made. The counters add up as those of
/// outgoing packets do; `sent` counts what was let in.
#[derive(Debug, Serialize)]
pub struct Received {
    /// Queued now.
    pub queued_packets: u32,
    /// Their bytes on the wire.
    pub queued_bytes: u64,
    /// As for outgoing packets.
    #[serde(flatten)]
    pub counters: Counters,
}

pub(super) fn status(
    managed: &Managed,
    received: Option<&Counted>,
    ports: &[Port],
    helper_running: bool,
) -> Option<ReceiveStatus> {
    let ifindex = managed.plan.receive_ifindex;
    if ifindex == 0 {
        return None;
    }
    let device = ports
        .iter()
        .map(|port| &port.device)
        .find(|device| device.index == ifindex);
    let side = managed.receive.as_ref();
    Some(ReceiveStatus {
        device: device.map_or_else(
            || name_of(managed.outline.owner.ifindex),
            |device| device.name.clone(),
        ),
        works: side.is_some_and(|side| side.is_attached),
        queued_packets: received.map_or(0, |received| received.queued_packets),
        background: side
            .zip(received)
            .and_then(|(side, received)| background::status(&side.plan, received, helper_running)),
    })
}

pub(super) fn of_class(managed: &Managed, received: Option<&Counted>, id: u32) -> Option<Received> {
    if managed.plan.class_params[id as usize].receive == 0 {
        return None;
    }
    let entity = &received?.entities[id as usize];
    Some(Received {
        queued_packets: entity.queue.packets,
        queued_bytes: entity.queue.bytes,
        counters: Counters::from(&entity.stats),
    })
}

pub(super) fn problem(receive: Option<&ReceiveStatus>) -> Option<String> {
    receive.filter(|receive| !receive.works).map(|receive| {
        format!(
            "incoming background traffic goes straight on: {} is gone, down or changed, or nothing \
             is sent there any more; `takt apply` restores it",
            receive.device
        )
    })
}
