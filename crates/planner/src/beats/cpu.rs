//! The assigned slots of one CPU.

use std::ops::Range;

use super::phases::lcm;
use super::{FRAME_MAX_NS, Host, SLOTS_MAX};

const WHOLE_PPM: u64 = 1_000_000;

/// Slots of one task; they recur every period.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub demand: usize,
    pub period: u64,
    pub begin: u64,
    pub end: u64,
}

/// The slots of one CPU while a table is being built.
#[derive(Debug, Clone)]
pub(super) struct Cpu {
    frame_max: u64,
    assignable_ppm: u64,
    held: Vec<Held>,
    /// The least common multiple of the periods.
    frame: u64,
    /// Slots that are assigned in a frame.
    load: u64,
    /// Entries of the table of a frame.
    entries: u64,
}

/// How much more a CPU can take in a given period, at any phase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Per period, without the part that stays free.
    pub slots: u64,
    pub pieces: u64,
}

/// In millionths, rounded down.
pub(super) fn share_ppm(slots: u64, period: u64) -> u64 {
    slots * WHOLE_PPM / period
}

/// Periods that cannot share a CPU.
pub(super) struct LongFrame {
    /// In slots.
    pub frame: u64,
}

/// A state to restore on backtracking.
pub(super) struct Mark {
    held: usize,
    frame: u64,
    load: u64,
    entries: u64,
}

impl Cpu {
    pub fn new(host: &Host) -> Cpu {
        Cpu {
            frame_max: host.grid_ns.whole_in(FRAME_MAX_NS),
            assignable_ppm: WHOLE_PPM.saturating_sub(host.free_ppm.into()),
            held: Vec::new(),
            frame: 1,
            load: 0,
            entries: 0,
        }
    }

    pub fn held(&self) -> &[Held] {
        &self.held
    }

    pub fn room(&self, period: u64) -> Result<Room, LongFrame> {
        let frame = lcm(self.frame, period);
        if frame > self.frame_max {
            return Err(LongFrame { frame });
        }
        let (stretch, periods) = (frame / self.frame, frame / period);
        let assignable = frame * self.assignable_ppm / WHOLE_PPM;
        let entries = SLOTS_MAX as u64;
        Ok(Room {
            slots: assignable.saturating_sub(self.load * stretch) / periods,
            pieces: entries.saturating_sub(self.entries * stretch) / periods,
        })
    }

    /// The time that can still be assigned, rounded up.
    pub fn left_ppm(&self) -> u64 {
        let assigned_ppm = share_ppm(self.load, self.frame);
        self.assignable_ppm.saturating_sub(assigned_ppm)
    }

    /// The caller has checked that the slots are free and that there is room.
    pub fn hold(&mut self, demand: usize, period: u64, slots: Range<u64>) {
        let frame = lcm(self.frame, period);
        let (stretch, periods) = (frame / self.frame, frame / period);
        self.load = self.load * stretch + (slots.end - slots.start) * periods;
        self.entries = self.entries * stretch + periods;
        self.frame = frame;
        self.held.push(Held {
            demand,
            period,
            begin: slots.start,
            end: slots.end,
        });
    }

    pub fn mark(&self) -> Mark {
        Mark {
            held: self.held.len(),
            frame: self.frame,
            load: self.load,
            entries: self.entries,
        }
    }

    pub fn go_back(&mut self, mark: &Mark) {
        self.held.truncate(mark.held);
        self.frame = mark.frame;
        self.load = mark.load;
        self.entries = mark.entries;
    }
}
