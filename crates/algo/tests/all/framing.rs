//! Frames on the line, against the figures of CAKE and of tc's size tables, and against a model that
//! counts frame by frame.

use proptest::prelude::*;
use takt_algo::sys::{
    TAKT_CELLS_ATM, TAKT_CELLS_NONE, TAKT_CELLS_PTM, takt_framing, takt_framing_full,
};

fn framing(overhead_bytes: i32, least_bytes: u16, cells: u32) -> takt_framing {
    takt_framing {
        overhead_bytes,
        by_frame: u32::from(least_bytes > 0 || cells != TAKT_CELLS_NONE || overhead_bytes < 0),
        least_bytes,
        cells: cells as u16,
    }
}

/// Frames of Ethernet devices: the kernel counts 14 bytes that CAKE's keywords do not.
const PPPOA_VCMUX: (i32, u16, u32) = (10 - 14, 0, TAKT_CELLS_ATM);
const PPPOE_LLCSNAP: (i32, u16, u32) = (40 - 14, 0, TAKT_CELLS_ATM);
const PPPOE_PTM: (i32, u16, u32) = (30 - 14, 0, TAKT_CELLS_PTM);
const DOCSIS: (i32, u16, u32) = (18 - 14, 64, TAKT_CELLS_NONE);
const ETHERNET: (i32, u16, u32) = (38 - 14, 84, TAKT_CELLS_NONE);

/// `cake_calc_overhead` by hand: the IP packet, the keyword's overhead, its mpu, its cells.
#[test]
fn lengths_are_those_of_cake() {
    for ((overhead_bytes, least_bytes, cells), frame_bytes, line_bytes) in [
        // 28 + 10 bytes are one cell, 38 + 10 are one, 39 + 10 are two.
        (PPPOA_VCMUX, 42, 53),
        (PPPOA_VCMUX, 52, 53),
        (PPPOA_VCMUX, 53, 2 * 53),
        // 1,500 + 10 are 31.5 cells, 1,478 + 10 are 31.
        (PPPOA_VCMUX, 1514, 32 * 53),
        (PPPOA_VCMUX, 1492, 31 * 53),
        (PPPOA_VCMUX, 1493, 32 * 53),
        // 40 + 40 and 56 + 40 are two cells, 1,492 + 40 are 31.9.
        (PPPOE_LLCSNAP, 54, 2 * 53),
        (PPPOE_LLCSNAP, 70, 2 * 53),
        (PPPOE_LLCSNAP, 71, 3 * 53),
        (PPPOE_LLCSNAP, 1506, 32 * 53),
        // A byte for each 64 begun: 34 + 30 have one, 35 + 30 two, 1,492 + 30 have 24.
        (PPPOE_PTM, 48, 65),
        (PPPOE_PTM, 49, 67),
        (PPPOE_PTM, 1506, 1522 + 24),
        (DOCSIS, 42, 64),
        (DOCSIS, 60, 64),
        (DOCSIS, 61, 65),
        (DOCSIS, 1514, 1518),
        (ETHERNET, 42, 84),
        (ETHERNET, 60, 84),
        (ETHERNET, 1514, 1538),
    ] {
        let framing = framing(overhead_bytes, least_bytes, cells);
        assert_eq!(
            framing.frame_bytes(frame_bytes),
            line_bytes,
            "{frame_bytes} bytes with {framing:?}"
        );
    }
}

/// tc-stab(8): "a 100 byte long packet requires three 48-byte payloads, so the final size would
/// require 3 ATM cells - 159 bytes".
#[test]
fn cells_are_those_of_a_size_table() {
    let atm = framing(0, 0, TAKT_CELLS_ATM);
    assert_eq!(atm.frame_bytes(100), 159);
    // `tc`'s linklayer atm with mpu 64 and overhead -4: at least two cells.
    let least = framing(-4, 64, TAKT_CELLS_ATM);
    assert_eq!(least.frame_bytes(20), 2 * 53);
    assert_eq!(least.frame_bytes(100), 2 * 53);
    assert_eq!(least.frame_bytes(101), 3 * 53);
}

#[test]
fn without_a_framing_bytes_are_counted_as_before() {
    for (overhead_bytes, frames, bytes) in [(0, 1, 1514), (24, 1, 1514), (24, 43, 64_978)] {
        let plain = framing(overhead_bytes, 0, TAKT_CELLS_NONE);
        assert_eq!(
            plain.packet_bytes(bytes, frames, 0),
            bytes + frames * overhead_bytes as u32
        );
    }
}

/// 3 segments of 1,448 bytes and one of 100, each with 66 bytes of headers: the kernel counts the
/// headers of all, and the packet has one.
#[test]
fn a_packet_costs_what_its_frames_cost() {
    let (frames, last) = (4, 100 + 66);
    let bytes = 3 * (1448 + 66) + last;
    let len = bytes - 3 * 66;
    // SAFETY: it takes numbers.
    let full = unsafe { takt_framing_full(bytes, len, frames, 1448) };
    assert_eq!(full, 1514);
    for (overhead_bytes, least_bytes, cells) in [PPPOA_VCMUX, PPPOE_PTM, DOCSIS] {
        let framing = framing(overhead_bytes, least_bytes, cells);
        assert_eq!(
            framing.packet_bytes(bytes, frames, full),
            3 * framing.frame_bytes(1514) + framing.frame_bytes(last)
        );
    }
    // SAFETY: as above.
    assert_eq!(unsafe { takt_framing_full(1514, 1514, 1, 0) }, 0);
}

/// A frame's bytes on the line, cell by cell.
fn model(framing: &takt_framing, bytes: u32) -> u32 {
    let len = i64::from(bytes) + i64::from(framing.overhead_bytes);
    let len = len.max(framing.least_bytes.into());
    let (unit, more) = match u32::from(framing.cells) {
        TAKT_CELLS_ATM => (48, 53),
        TAKT_CELLS_PTM => (64, 65),
        _ => return len as u32,
    };
    let (mut left, mut line) = (len, 0);
    while left >= unit {
        (left, line) = (left - unit, line + more);
    }
    let rest = match (left, u32::from(framing.cells)) {
        (0, _) => 0,
        (_, TAKT_CELLS_ATM) => more,
        (left, _) => left + 1,
    };
    (line + rest) as u32
}

fn any_framing() -> impl Strategy<Value = takt_framing> {
    let cells = prop_oneof![
        Just(TAKT_CELLS_NONE),
        Just(TAKT_CELLS_ATM),
        Just(TAKT_CELLS_PTM)
    ];
    (-14..=256i32, 0..=256u16, cells)
        .prop_map(|(overhead, least, cells)| framing(overhead, least, cells))
}

proptest! {
    #[test]
    fn a_frame_takes_what_the_model_counts(framing in any_framing(), bytes in 14..70_000u32) {
        prop_assert_eq!(framing.frame_bytes(bytes), model(&framing, bytes));
    }

    /// No frame costs less for being longer.
    #[test]
    fn longer_frames_cost_no_less(framing in any_framing(), bytes in 14..9_100u32) {
        prop_assert!(framing.frame_bytes(bytes) <= framing.frame_bytes(bytes + 1));
    }

    /// Frame by frame, and no more than the bound for lengths that are not known.
    #[test]
    fn segments_cost_what_their_frames_cost(
        framing in any_framing(),
        frames in 2..=700u32,
        full in 60..9_100u32,
        last in 1..=100u32,
    ) {
        let last = (full * last / 100).max(14);
        let bytes = (frames - 1) * full + last;
        let exact = framing.packet_bytes(bytes, frames, full);
        prop_assert_eq!(exact, (frames - 1) * model(&framing, full) + model(&framing, last) );
        if framing.by_frame != 0 {
            let bound = framing.packet_bytes(bytes, frames, 0);
            prop_assert!(exact <= bound, "{exact} > {bound}");
        }
    }

    /// What a guest writes into its packets' headers has an answer, too.
    #[test]
    fn wild_numbers_have_an_answer(
        framing in any_framing(),
        bytes in 0..1u32 << 19,
        frames in 0..=65_535u32,
        full in any::<u32>(),
    ) {
        let line_bytes = framing.packet_bytes(bytes, frames, full);
        // No more than the longest packet in frames of a byte: two cells and two overheads for each.
        prop_assert!(line_bytes < 1 << 27, "{line_bytes}");
    }
}
