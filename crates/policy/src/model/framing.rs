//! What a link's line carries of a frame.

use serde::{Deserialize, Serialize};

/// What a frame takes on the line: so many bytes more, then at least so many, then cells for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Framing {
    /// Bytes of each frame beyond those that [`beyond`](Self::beyond) says. Below 0, the line carries
    /// less than the kernel counts.
    pub overhead_bytes: i32,
    /// The line's smallest frame, with its overhead; 0: there is none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub min_frame_bytes: u16,
    /// What the line cuts frames into.
    #[serde(default, skip_serializing_if = "Cells::are_none")]
    pub cells: Cells,
    /// What the overhead comes on top of.
    #[serde(default, skip_serializing_if = "Beyond::is_frame")]
    pub beyond: Beyond,
}

/// What a line cuts frames into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cells {
    /// They stay whole.
    #[default]
    None,
    /// Cells of 53 bytes, 48 of them payload; the last one is padded.
    Atm,
    /// One byte for each 64 begun.
    Ptm,
}

/// What an overhead comes on top of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Beyond {
    /// The frame as the kernel counts it: with the header of the device, such as Ethernet's.
    #[default]
    Frame,
    /// The IP packet in it.
    Packet,
}

impl Framing {
    /// The same beyond the frames of a device whose header has so many bytes.
    pub fn on_device(self, header_bytes: u32) -> Self {
        match self.beyond {
            Beyond::Frame => self,
            Beyond::Packet => Self {
                overhead_bytes: self.overhead_bytes - header_bytes as i32,
                beyond: Beyond::Frame,
                ..self
            },
        }
    }

    /// Whether what a frame takes depends on its length in another way than byte by byte.
    pub fn is_by_frame(self) -> bool {
        self.min_frame_bytes > 0 || self.cells != Cells::None
    }
}

impl Cells {
    /// The word in policies and outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Atm => "atm",
            Self::Ptm => "ptm",
        }
    }

    fn are_none(&self) -> bool {
        *self == Self::None
    }
}

impl Beyond {
    fn is_frame(&self) -> bool {
        *self == Self::Frame
    }
}

fn is_none(bytes: &u16) -> bool {
    *bytes == 0
}
