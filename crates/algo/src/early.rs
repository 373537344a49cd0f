//! `algo/early.h`.

use crate::sys::{self, takt_early};

/// What an alarm interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupted {
    /// An idle processor.
    Idle = sys::TAKT_FROM_IDLE as isize,
    /// An idle processor that stopped its tick.
    Sleep = sys::TAKT_FROM_SLEEP as isize,
    /// A thread without a slot.
    Thread = sys::TAKT_FROM_THREAD as isize,
    /// A kernel thread.
    Kernel = sys::TAKT_FROM_KERNEL as isize,
    /// A thread whose slot ends.
    Beat = sys::TAKT_FROM_BEAT as isize,
}

/// The times from an alarm to a thread's code.
#[derive(Clone, Copy, Default)]
pub struct Early(pub takt_early);

impl Early {
    /// An alarm took so long until its handler was ready.
    pub fn note_alarm(&mut self, from: Interrupted, took_ns: u64) {
        // SAFETY: a valid struct; see the crate's documentation.
        unsafe { sys::takt_early_note_alarm(&mut self.0, from as u32, took_ns) }
    }

    /// A switch took so long from there on.
    pub fn note_switch(&mut self, from: Interrupted, took_ns: u64) {
        // SAFETY: likewise.
        unsafe { sys::takt_early_note_switch(&mut self.0, from as u32, took_ns) }
    }

    /// A return to a thread's code was measured.
    pub fn note_return(&mut self, from: Interrupted, took_ns: u64) {
        // SAFETY: likewise.
        unsafe { sys::takt_early_note_return(&mut self.0, from as u32, took_ns) }
    }

    /// How long before a thread's code an alarm is set that interrupts this; 0: not known.
    pub fn before_ns(&self, from: Interrupted) -> u32 {
        // SAFETY: likewise.
        unsafe { sys::takt_early_from_ns(&self.0, from as u32) }
    }

    /// How long before it is set if the slot before ends there, or not.
    pub fn set_ns(&self, after_beat: bool) -> u32 {
        // SAFETY: likewise.
        unsafe { sys::takt_early_ns(&self.0, after_beat.into()) }
    }

    /// When the handler goes on.
    pub fn go_ns(&self, from: Interrupted, aim_ns: u64) -> u64 {
        // SAFETY: likewise.
        unsafe { sys::takt_early_go_ns(&self.0, from as u32, aim_ns) }
    }
}

/// When a thread's code is to run if its slot opens at this edge, and a tick was seen then.
pub fn aim_ns(edge_ns: u64, tick_ns: u64, tick_period_ns: u64) -> u64 {
    // SAFETY: no pointers.
    unsafe { sys::takt_early_aim_ns(edge_ns, tick_ns, tick_period_ns) }
}

/// Whether a yield now means that the thread was started too early.
pub fn is_too_early(start_ns: u64, opens_ns: u64, now_ns: u64) -> bool {
    // SAFETY: no pointers.
    unsafe { sys::takt_early_is_premature(start_ns, opens_ns, now_ns) != 0 }
}
