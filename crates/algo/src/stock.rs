//! Gap frames of a link that fills idle time (`algo/gap.h`), and a helper that is never late: what
//! is spent is stored again at once.

use crate::{
    plain::zeroed_box,
    sys::{
        self, TAKT_GAP_LEN_MIN, TAKT_GAP_STEP, takt_arrival, takt_choice, takt_gap, takt_link,
        takt_plan,
    },
};

/// Templates of each length; `TAKT_GAP_PLENTY` at least, and all lengths fit the slots.
const OF_EACH: u32 = 32;

/// Templates of gap frames.
pub(crate) struct Stock(Box<takt_gap>);

impl Stock {
    /// Every fine length, every coarse one, and the longest.
    pub fn new(plan: &takt_plan, longest: u32) -> Self {
        let mut gap = zeroed_box::<takt_gap>();
        gap.longest = longest;
        gap.enough = OF_EACH;
        let mut stock = Self(gap);
        let fine = TAKT_GAP_LEN_MIN..TAKT_GAP_LEN_MIN + TAKT_GAP_STEP;
        let coarse = (TAKT_GAP_LEN_MIN..longest)
            .step_by(TAKT_GAP_STEP as usize)
            .skip(1);
        for len in fine.chain(coarse).chain([longest]) {
            for _ in 0..OF_EACH {
                stock.store(plan, len);
            }
        }
        stock
    }

    fn store(&mut self, plan: &takt_plan, len: u32) {
        // SAFETY: valid structs; see the crate's documentation.
        unsafe { sys::takt_gap_store(&mut *self.0, plan, len) };
    }

    /// A packet arrives at the wire's position instead of the time.
    pub fn arrival(&self, link: &mut takt_link, plan: &takt_plan, arrival: &mut takt_arrival) {
        let idle = arrival.idle;
        // SAFETY: as above.
        arrival.idle =
            unsafe { sys::takt_gap_arrival(link, &*self.0, plan, idle, &mut arrival.now_ns) };
    }

    /// The device asks for a frame.
    pub fn choose(
        &mut self,
        link: &mut takt_link,
        plan: &takt_plan,
        now_ns: u64,
        choice: &mut takt_choice,
    ) {
        // SAFETY: as above.
        unsafe { sys::takt_gap_dequeue(link, &mut *self.0, plan, now_ns, choice) }
        if choice.packet >= sys::TAKT_PACKETS {
            self.store(plan, choice.len - plan.framing.overhead_bytes as u32);
        }
    }
}
