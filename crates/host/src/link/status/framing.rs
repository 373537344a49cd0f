//! What a link's wire carries of a frame.

use serde::Serialize;
use takt_algo::sys::{TAKT_CELLS_ATM, TAKT_CELLS_PTM, takt_framing};
use takt_planner::framing;
use takt_policy::{Cells, Framing};

/// On the device: whatever its headers have, beyond them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FramingStatus {
    /// Wire bytes per frame beyond the layer 2 frame; below 0, the wire carries less than that.
    pub overhead_bytes: i32,
    /// The wire's smallest frame, with its overhead; 0: there is none.
    pub min_frame_bytes: u16,
    /// What the wire cuts frames into: `none`, `atm` or `ptm`.
    pub cells: &'static str,
}

impl From<takt_framing> for FramingStatus {
    fn from(framing: takt_framing) -> Self {
        let cells = match u32::from(framing.cells) {
            TAKT_CELLS_ATM => Cells::Atm,
            TAKT_CELLS_PTM => Cells::Ptm,
            _ => Cells::None,
        };
        Self {
            overhead_bytes: framing.overhead_bytes,
            min_frame_bytes: framing.least_bytes,
            cells: cells.name(),
        }
    }
}

impl From<Framing> for FramingStatus {
    fn from(line: Framing) -> Self {
        framing(line).into()
    }
}
