//! `algo/calendar.h`.

use crate::{
    plain::zeroed_box,
    sys::{self, takt_calendar, takt_shelf},
};

/// Entries in order of their due time. Ids run from 1 to
/// [`Calendar::ENTRIES_MAX`].
pub struct Calendar {
    calendar: Box<takt_calendar>,
    shelf: Box<takt_shelf>,
}

impl Calendar {
    /// The highest id of an entry.
    pub const ENTRIES_MAX: u32 = sys::TAKT_ENTRIES - 1;
    /// The width of a bucket: this power of two, in nanoseconds.
    pub const SHIFT: u32 = 16;

    /// An empty calendar.
    pub fn new() -> Self {
        Self {
            calendar: Box::new(takt_calendar {
                mask: sys::TAKT_CALENDAR_BUCKETS_MAX - 1,
                shift: Self::SHIFT,
                ..Default::default()
            }),
            shelf: zeroed_box(),
        }
    }

    /// `id` must not be in the calendar.
    pub fn insert(&mut self, id: u32, due_ns: u64, now_ns: u64) {
        self.shelf.entry[(id & Self::ENTRIES_MAX) as usize].due_ns = due_ns;
        // SAFETY: two valid structs; see the crate's documentation.
        unsafe {
            sys::takt_calendar_insert(&mut *self.calendar, &mut *self.shelf, id, now_ns);
        }
    }

    /// The first entry and its due time, or when to ask again if the first is too far ahead to
    /// be ordered yet.
    pub fn first(&mut self, now_ns: u64) -> Result<(u32, u64), u64> {
        let mut wake_ns = 0;
        // SAFETY: as above.
        let id = unsafe {
            sys::takt_calendar_first(&mut *self.calendar, &mut *self.shelf, now_ns, &mut wake_ns)
        };
        if id == 0 {
            return Err(wake_ns);
        }
        Ok((
            id,
            self.shelf.entry[(id & Self::ENTRIES_MAX) as usize].due_ns,
        ))
    }

    /// `id` must be in the calendar.
    pub fn remove(&mut self, id: u32) {
        // SAFETY: as above.
        unsafe { sys::takt_calendar_remove(&mut *self.calendar, &mut *self.shelf, id) }
    }

    /// How many entries it holds.
    pub fn len(&self) -> u32 {
        self.calendar.count
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for Calendar {
    fn default() -> Self {
        Self::new()
    }
}
