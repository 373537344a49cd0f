//! `algo/gap.h`: a link that fills idle time with gap frames.

use crate::{
    Dequeued, Link,
    sys::{self, takt_arrival, takt_gap, takt_plan},
    zeroed_box,
};

/// A gap-mode link's answer when it is asked for a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// A packet of a class.
    Packet {
        /// The class.
        class: u32,
        /// Bytes on the wire.
        wire_bytes: u32,
    },
    /// A template, by its number in the order of storing.
    Gap {
        /// The index of its length.
        template: u32,
        /// Bytes on the wire.
        wire_bytes: u32,
    },
    /// No frame may leave before then.
    Wait {
        /// When to ask again.
        until_ns: u64,
    },
    /// Nothing is queued.
    Empty,
}

/// A link with a stock of gap frames.
pub struct GapLink {
    link: Link,
    gap: Box<takt_gap>,
    /// The template in each slot; 0: none.
    slots: Vec<u32>,
    stored: u32,
}

impl GapLink {
    /// A link whose longest gap frame is this long, as the kernel counts; it sends gap frames
    /// when it holds `enough` templates.
    pub fn new(longest: u32, enough: u32) -> Self {
        let mut gap = zeroed_box::<takt_gap>();
        gap.longest = longest;
        gap.enough = enough;
        Self {
            link: Link::new(),
            gap,
            slots: vec![0; sys::TAKT_GAP_SLOTS as usize],
            stored: 0,
        }
    }

    /// A template of this many bytes arrives. `None`: drop it.
    pub fn store(&mut self, plan: &takt_plan, bytes: u32) -> Option<u32> {
        // SAFETY: valid structs; see the crate's documentation.
        let slot = unsafe { sys::takt_gap_store(&mut *self.gap, plan, bytes) } as usize;
        if slot == 0 {
            return None;
        }
        // Only a stale template is replaced. Its feeder's number differs from this one's.
        self.stored += 1;
        self.slots[slot] = self.stored;
        Some(self.stored)
    }

    /// A packet arrives for a class; returns whether it is kept.
    pub fn enqueue(&mut self, plan: &takt_plan, class: u32, bytes: u32, now_ns: u64) -> bool {
        let idle = self.link.is_idle().into();
        let mut arrival = takt_arrival {
            id: class,
            bytes,
            frames: 1,
            now_ns,
            ..takt_arrival::default()
        };
        let state = self.link.state_mut();
        // SAFETY: as above.
        let slot = unsafe {
            arrival.idle =
                sys::takt_gap_arrival(state, &*self.gap, plan, idle, &mut arrival.now_ns);
            sys::takt_link_push(state, plan, &arrival)
        };
        self.link.keep(slot).is_some()
    }

    /// The device asks for a frame.
    pub fn dequeue(&mut self, plan: &takt_plan, now_ns: u64) -> Left {
        let gap = &mut *self.gap;
        let answer = self.link.dequeue_by(|link, choice| {
            // SAFETY: as above.
            unsafe { sys::takt_gap_dequeue(link, gap, plan, now_ns, choice) }
        });
        match answer {
            Dequeued::Packet {
                slot: slot @ ..sys::TAKT_PACKETS,
                class,
                bytes,
            } => {
                assert!(slot > 0);
                Left::Packet {
                    class,
                    wire_bytes: bytes,
                }
            }
            Dequeued::Packet { slot, bytes, .. } => {
                let slot = (slot - sys::TAKT_PACKETS) as usize;
                let template = std::mem::take(&mut self.slots[slot]);
                assert_ne!(template, 0, "nothing is stored there");
                Left::Gap {
                    template,
                    wire_bytes: bytes,
                }
            }
            Dequeued::Wait { until_ns } => Left::Wait { until_ns },
            Dequeued::Empty => Left::Empty,
        }
    }

    /// Drops all templates, as when the device goes down; returns their number.
    pub fn flush(&mut self) -> u32 {
        let mut flushed = 0;
        for _ in 0..sys::TAKT_GAP_FLUSH_MAX {
            if self.gap.stocked + self.gap.stale == 0 {
                break;
            }
            // SAFETY: as above.
            let slot = unsafe { sys::takt_gap_flush(&mut *self.gap) } as usize;
            if slot > 0 {
                assert_ne!(std::mem::take(&mut self.slots[slot]), 0);
                flushed += 1;
            }
        }
        flushed
    }

    /// The link.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// The stock and its counters.
    pub fn gap(&self) -> &takt_gap {
        &self.gap
    }

    /// User space's side of the stock.
    pub fn gap_mut(&mut self) -> &mut takt_gap {
        &mut self.gap
    }
}
