//! `algo/link.h`: the whole packet scheduler, without a packet in it.

use crate::{
    plain::zeroed_box,
    sys::{self, takt_choice, takt_class, takt_link, takt_plan},
};

/// What a link answers when it is asked for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dequeued {
    Packet {
        place: u32,
        class: u32,
        bytes: u32,
    },
    /// Nothing may go before then.
    Wait {
        until_ns: u64,
    },
    /// Nothing is queued.
    Empty,
}

/// A link's state: clocks, queues, counters.
pub struct Link(Box<takt_link>);

impl Link {
    pub fn new() -> Self {
        Self(zeroed_box())
    }

    /// A packet arrives for a class. `None`: it must be dropped.
    pub fn enqueue(
        &mut self,
        plan: &takt_plan,
        class: u32,
        bytes: u32,
        frames: u32,
        now_ns: u64,
    ) -> Option<u32> {
        // SAFETY: two valid structs; see the crate's documentation.
        let place =
            unsafe { sys::takt_link_enqueue(&mut *self.0, plan, class, bytes, frames, now_ns) };
        (place != 0).then_some(place)
    }

    pub fn dequeue(&mut self, plan: &takt_plan, now_ns: u64) -> Dequeued {
        let mut choice = takt_choice::default();
        // SAFETY: as above.
        unsafe { sys::takt_link_dequeue(&mut *self.0, plan, now_ns, &mut choice) }
        match choice {
            takt_choice {
                packet: 0,
                wake_ns: u64::MAX,
                ..
            } => Dequeued::Empty,
            takt_choice {
                packet: 0, wake_ns, ..
            } => Dequeued::Wait { until_ns: wake_ns },
            takt_choice {
                packet,
                class_id,
                len,
                ..
            } => Dequeued::Packet {
                place: packet,
                class: class_id,
                bytes: len,
            },
        }
    }

    /// Give up every packet, as when the device goes down; how many there were.
    pub fn flush(&mut self) -> u32 {
        let queued = self.0.queued_packets;
        let mut choice = takt_choice::default();
        while self.0.queued_packets > 0 {
            // SAFETY: as above.
            unsafe { sys::takt_link_flush(&mut *self.0, &mut choice) }
        }
        queued
    }

    pub fn queued_packets(&self) -> u32 {
        self.0.queued_packets
    }

    pub fn class(&self, id: u32) -> &takt_class {
        &self.0.classes[(id & (sys::TAKT_CLASSES - 1)) as usize]
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}
