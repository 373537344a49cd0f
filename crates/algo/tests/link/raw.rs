//! A link's functions as the qdisc calls them.

use takt_algo::{
    sys::{self, takt_arrival, takt_choice, takt_link, takt_plan},
    zeroed_box,
};

pub fn laid_out() -> Box<takt_link> {
    let mut link = zeroed_box::<takt_link>();
    // SAFETY: a valid struct, all zeroes.
    unsafe { sys::takt_link_lay_out(&mut *link) };
    link
}

/// Sends one packet, by the fast path if `idle` and it may. Returns its slot.
pub fn pass(
    link: &mut takt_link,
    plan: &takt_plan,
    id: u32,
    bytes: u32,
    idle: u32,
    now_ns: u64,
) -> u32 {
    let arrival = takt_arrival {
        id,
        bytes,
        frames: 1,
        idle,
        now_ns,
        ..takt_arrival::default()
    };
    // SAFETY: three valid structs; every index in algo/ is masked.
    unsafe { sys::takt_link_push(link, plan, &arrival) }
}

pub fn dequeue(link: &mut takt_link, plan: &takt_plan, now_ns: u64) -> takt_choice {
    let mut choice = takt_choice::default();
    // SAFETY: as above.
    unsafe { sys::takt_link_pop(link, plan, now_ns, &mut choice) }
    choice
}
