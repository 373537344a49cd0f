//! `algo/calendar.h`.

use crate::{
    plain::zeroed_box,
    sys::{self, takt_calendar, takt_entries},
};

/// Entries in order of their due time. Ids run from 1 to
/// [`Calendar::ENTRIES_MAX`].
pub struct Calendar {
    calendar: Box<takt_calendar>,
    entries: Box<takt_entries>,
}

impl Calendar {
    pub const ENTRIES_MAX: u32 = sys::TAKT_ENTRIES - 1;

    pub fn new() -> Self {
        Self {
            calendar: zeroed_box(),
            entries: zeroed_box(),
        }
    }

    /// `id` must not be waiting already.
    pub fn insert(&mut self, id: u32, due_ns: u64, now_ns: u64) {
        self.entries.at[(id & Self::ENTRIES_MAX) as usize].due_ns = due_ns;
        // SAFETY: two valid structs; see the crate's documentation.
        unsafe {
            sys::takt_calendar_insert(&mut *self.calendar, &mut *self.entries, id, now_ns);
        }
    }

    /// The first entry and its due time, or when to ask again for one that is
    /// too far ahead to be ordered yet.
    pub fn first(&mut self, now_ns: u64) -> Result<(u32, u64), u64> {
        let mut wake_ns = 0;
        // SAFETY: as above.
        let id = unsafe {
            sys::takt_calendar_first(
                &mut *self.calendar,
                &mut *self.entries,
                now_ns,
                &mut wake_ns,
            )
        };
        if id == 0 {
            return Err(wake_ns);
        }
        Ok((
            id,
            self.entries.at[(id & Self::ENTRIES_MAX) as usize].due_ns,
        ))
    }

    /// `id` must be waiting.
    pub fn remove(&mut self, id: u32) {
        // SAFETY: as above.
        unsafe { sys::takt_calendar_remove(&mut *self.calendar, &mut *self.entries, id) }
    }

    pub fn len(&self) -> u64 {
        self.calendar.count
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for Calendar {
    fn default() -> Self {
        Self::new()
    }
}
