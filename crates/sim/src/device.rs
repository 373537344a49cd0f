//! What is behind the link: a wire, or an access point's radio.

use crate::{air::Air, wire::Wire};

/// A network device. Most events are a wire's, which is inside.
pub(crate) enum Device {
    Wire(Wire),
    Air(Box<Air>),
}

impl Device {
    /// A frame's bytes as figures count them.
    pub fn bytes(&self, frame_bytes: u32) -> u32 {
        match self {
            Self::Wire(wire) => wire.bytes(frame_bytes),
            Self::Air(air) => air.bytes(frame_bytes),
        }
    }

    /// Whether it takes no frame at present.
    pub fn is_stopped(&self) -> bool {
        match self {
            Self::Wire(wire) => wire.is_stopped(),
            Self::Air(air) => air.is_stopped(),
        }
    }

    /// When it is done with a frame next; `u64::MAX` if it has none.
    pub fn next_ns(&self) -> u64 {
        match self {
            Self::Wire(wire) => wire.next_ns(),
            Self::Air(air) => air.next_ns(),
        }
    }
}
