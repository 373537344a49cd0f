//! What the line carries of a frame, for the kernel's programs and as numbers for plans.

use takt_algo::sys::{TAKT_CELLS_ATM, TAKT_CELLS_NONE, TAKT_CELLS_PTM, takt_framing};
use takt_policy::{Cells, Framing};

/// The header of a frame, unless the host has said otherwise ([`Framing::on_device`]).
const ETHERNET_BYTES: u32 = 14;

/// A framing as the kernel's programs read it.
pub fn framing(framing: Framing) -> takt_framing {
    let framing = framing.on_device(ETHERNET_BYTES);
    takt_framing {
        overhead_bytes: framing.overhead_bytes,
        // A sum of lengths below 0 would wrap around.
        by_frame: (framing.is_by_frame() || framing.overhead_bytes < 0).into(),
        least_bytes: framing.min_frame_bytes,
        cells: match framing.cells {
            Cells::None => TAKT_CELLS_NONE,
            Cells::Atm => TAKT_CELLS_ATM,
            Cells::Ptm => TAKT_CELLS_PTM,
        } as u16,
    }
}

/// What a frame takes on the line that the kernel counts so many bytes of.
pub fn line_bytes(framing: Framing, bytes: u64) -> u64 {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX / 2);
    self::framing(framing).frame_bytes(bytes).into()
}
