//! The device's buffer: a packet that it has taken from the qdisc cannot be overtaken any more.
//! With a class in the background it should hold one full frame at most.
//!
//! The link's clock ensures that if the policy's rate is no higher than the wire's. If the
//! driver counts its bytes (byte queue limits, BQL), the kernel ensures it whatever the wire's
//! rate is: it stops a queue as soon as more than the limit is on its way, so the limit is a
//! full frame less one byte.
//!
//! A record holds the previous limits before they are changed, and a plan that names the record
//! is in force before they are. So a takt that dies leaves them as they were, or a record of
//! how they were; the next one finishes its work.

mod hands;
mod queues;

use serde::{Deserialize, Serialize};
use takt_planner::framing;
use takt_policy::{Link, PRIORITY_BACKGROUND};

use crate::os::netlink::Device;

pub(crate) use hands::Buffers;
pub(crate) use queues::Queue;

const ETHERNET_HEADER_BYTES: u32 = 14;

/// With one frame at a time a device is idle from the end of a frame until its driver has
/// noticed: up to a quarter of a millisecond on common devices. So the limit is set only if a
/// frame takes much longer than that, or if nothing says how long it takes: a link without a rate is
/// for wires that are slow, and that change.
const FRAME_NS_MIN: u64 = 1_000_000;

/// The limits of a device's queues, and the previous limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLimits {
    pub limit_bytes: u32,
    /// By queue; empty if the device's queues have no limits.
    pub before: Vec<u32>,
}

/// A limit to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    pub queue: usize,
    pub limit_bytes: u32,
}

/// The limit for each of the device's queues; `None` if they are to be left alone.
pub(crate) fn wanted(link: &Link, device: &Device) -> Option<u32> {
    let is_background = |priority| priority == PRIORITY_BACKGROUND;
    let has_background = link
        .classes
        .iter()
        .any(|class| is_background(class.priority));
    let frame_bytes = device.mtu_bytes + ETHERNET_HEADER_BYTES;
    let bits = u64::from(framing(link.framing).frame_bytes(frame_bytes)) * 8;
    let frame_ns = u128::from(bits) * 1_000_000_000 / u128::from(link.rate_bps.max(1));
    let is_slow = link.by_device || frame_ns >= u128::from(FRAME_NS_MIN);
    (has_background && is_slow).then(|| frame_bytes - 1)
}

impl QueueLimits {
    /// This limit for queues that are as described now, and that `last` limited.
    pub(crate) fn new(limit_bytes: u32, queues: &[Queue], last: Option<&Self>) -> Self {
        let before = queues.iter().enumerate().map(|(at, queue)| {
            let ours = last.filter(|last| last.limit_bytes == queue.limit_max_bytes);
            let before = ours.and_then(|last| last.before.get(at));
            before.copied().unwrap_or(queue.limit_max_bytes)
        });
        Self {
            limit_bytes,
            before: before.collect(),
        }
    }

    /// Limit the queues, except those that another program has limited meanwhile.
    pub(crate) fn set(&self, queues: &[Queue]) -> Vec<Change> {
        self.changes(queues, |before| (before, self.limit_bytes))
    }

    /// Undo it, except for queues that another program has limited meanwhile.
    pub(crate) fn undo(&self, queues: &[Queue]) -> Vec<Change> {
        self.changes(queues, |before| (self.limit_bytes, before))
    }

    /// `from_to` returns, for a queue's previous limit, what it must be now and what it will
    /// be.
    fn changes(&self, queues: &[Queue], from_to: impl Fn(u32) -> (u32, u32)) -> Vec<Change> {
        let of_queue = |(queue, (now, before)): (usize, (&Queue, &u32))| {
            let (from, to) = from_to(*before);
            (now.limit_max_bytes == from && from != to).then_some(Change {
                queue,
                limit_bytes: to,
            })
        };
        let pairs = queues.iter().zip(&self.before).enumerate();
        pairs.filter_map(of_queue).collect()
    }

    /// Whether the kernel enforces it: the limits are still set, and the driver counts its
    /// bytes, which is known after something was sent.
    pub(crate) fn holds(&self, queues: &[Queue]) -> bool {
        !queues.is_empty()
            && queues
                .iter()
                .all(|queue| queue.limit_max_bytes == self.limit_bytes)
            && queues.iter().any(Queue::is_counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u32 = 1_879_048_192;

    fn queues(limits: &[u32]) -> Vec<Queue> {
        let queue = |limit_max_bytes: &u32| Queue {
            limit_max_bytes: *limit_max_bytes,
            limit_bytes: 0,
            inflight_bytes: 0,
        };
        limits.iter().map(queue).collect()
    }

    fn change(queue: usize, limit_bytes: u32) -> Change {
        Change { queue, limit_bytes }
    }

    #[test]
    fn limits_are_set_and_undone_queue_by_queue() {
        let limits = QueueLimits::new(1513, &queues(&[MAX, 5000]), None);
        assert_eq!(limits.before, [MAX, 5000]);
        let set = limits.set(&queues(&[MAX, 5000]));
        assert_eq!(set, [change(0, 1513), change(1, 1513)]);
        assert_eq!(limits.set(&queues(&[1513, 1513])), []);
        let undo = limits.undo(&queues(&[1513, 1513]));
        assert_eq!(undo, [change(0, MAX), change(1, 5000)]);
        assert_eq!(limits.undo(&queues(&[MAX, 5000])), []);
    }

    #[test]
    fn limits_set_by_another_program_stay() {
        let limits = QueueLimits::new(1513, &queues(&[MAX, MAX]), None);
        assert_eq!(limits.set(&queues(&[700, MAX])), [change(1, 1513)]);
        assert_eq!(limits.undo(&queues(&[700, 1513])), [change(1, MAX)]);
    }

    #[test]
    fn a_new_limit_remembers_what_was_before_the_first() {
        let first = QueueLimits::new(1513, &queues(&[MAX, 5000]), None);
        let second = QueueLimits::new(9013, &queues(&[1513, 700]), Some(&first));
        assert_eq!(second.before, [MAX, 700]);
    }

    #[test]
    fn queues_that_came_or_went_since_are_left_alone() {
        let limits = QueueLimits::new(1513, &queues(&[MAX]), None);
        assert_eq!(limits.undo(&queues(&[1513, 1513])), [change(0, MAX)]);
        assert_eq!(limits.undo(&[]), []);
    }

    #[test]
    fn it_holds_if_the_driver_counts() {
        let limits = QueueLimits::new(1513, &queues(&[MAX]), None);
        let mut now = queues(&[1513]);
        assert!(!limits.holds(&now));
        now[0].inflight_bytes = 60;
        assert!(limits.holds(&now));
        now[0].limit_max_bytes = MAX;
        assert!(!limits.holds(&now));
        assert!(!limits.holds(&[]));
    }

    #[test]
    fn only_a_background_and_a_slow_wire_want_it() {
        let device = Device {
            mtu_bytes: 1500,
            ..Device::default()
        };
        let wanted_at = |rate: &str, priority: &str| {
            let text = format!(
                "[link.eth0]\nrate = \"{rate}\"\n[[link.eth0.class]]\nname = \"a\"\n\
                 match = {{ dst_port = 1 }}\npriority = {priority}\n"
            );
            let policy = takt_policy::parse("a.toml", &text).expect("a policy");
            wanted(&policy.links[0], &device)
        };
        assert_eq!(wanted_at("5.7mbit", "\"background\""), Some(1513));
        assert_eq!(wanted_at("12.1mbit", "\"background\""), Some(1513));
        assert_eq!(wanted_at("12.2mbit", "\"background\""), None);
        assert_eq!(wanted_at("384kbit", "6"), None);
        assert_eq!(wanted_at("line", "\"background\""), Some(1513));
        assert_eq!(wanted_at("line", "6"), None);
    }
}
