//! `algo/slots.h`.

use crate::{
    plain::zeroed_box,
    sys::{self, takt_exact, takt_slot, takt_span, takt_table},
};

/// The time-slot table of one CPU.
pub struct Slots {
    table: Box<takt_table>,
    /// The last answer, where the next look-up begins.
    span: takt_span,
}

impl Slots {
    /// The most slots of a table.
    pub const SLOTS_MAX: usize = sys::TAKT_TABLE_SLOTS as usize;

    /// At most [`Self::SLOTS_MAX`] slots, in order, disjoint and within the frame. Further
    /// slots are left out.
    pub fn new(frame_ns: u32, slots: &[takt_slot]) -> Self {
        Self::of_fraction(frame_ns.into(), 1, slots)
    }

    /// The same, in a frame of `num / den` nanoseconds.
    pub fn of_fraction(num: u64, den: u32, slots: &[takt_slot]) -> Self {
        let mut table = zeroed_box::<takt_table>();
        table.frame = takt_exact::new(num, den);
        table.frame_ns = (num / u64::from(den.max(1))) as u32;
        for (to, from) in table.slots.iter_mut().zip(slots) {
            *to = *from;
            table.slot_count += 1;
        }
        Self {
            table,
            span: takt_span::default(),
        }
    }

    /// The slot that is open at `now_ns`, or the next to open; `None` without slots.
    pub fn look(&mut self, now_ns: u64) -> Option<Span> {
        // SAFETY: two valid structs; see the crate's documentation.
        unsafe { sys::takt_table_lookup(&*self.table, now_ns, &mut self.span) };
        (self.span.task != sys::TAKT_NO_TASK).then_some(Span(self.span))
    }

    /// When the slot after the one last looked at opens.
    pub fn next_release_ns(&self) -> u64 {
        // SAFETY: as above.
        unsafe { sys::takt_span_next_release(&*self.table, &self.span) }
    }

    /// The begin of the frame in which `now_ns` lies.
    pub fn frame_start(&self, now_ns: u64) -> u64 {
        // SAFETY: as above.
        unsafe { sys::takt_frame_start(&*self.table, now_ns) }
    }
}

/// A slot at its place in time.
#[derive(Clone, Copy)]
pub struct Span(takt_span);

impl Span {
    /// The task.
    pub fn task(&self) -> u32 {
        self.0.task
    }

    /// When it opens, when its task is to begin, and when it is over.
    pub fn times_ns(&self) -> (u64, u64, u64) {
        (self.0.release_ns, self.0.beat_ns, self.0.end_ns)
    }

    /// Whether it has begun and not ended.
    pub fn is_open(&self, now_ns: u64) -> bool {
        // SAFETY: a valid struct; see the crate's documentation.
        unsafe { sys::takt_span_is_open(&self.0, now_ns) != 0 }
    }

    /// When it opens, or, if it is open, when it ends.
    pub fn edge_ns(&self, now_ns: u64) -> u64 {
        // SAFETY: as above.
        unsafe { sys::takt_span_edge(&self.0, now_ns) }
    }
}
