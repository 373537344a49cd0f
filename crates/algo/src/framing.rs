//! `algo/framing.h`.

use crate::sys::{self, takt_framing};

impl takt_framing {
    /// The line's bytes for a frame, which the kernel counts so many bytes of.
    pub fn frame_bytes(&self, bytes: u32) -> u32 {
        self.packet_bytes(bytes, 1, 0)
    }

    /// The line's bytes for a packet of several frames, each but the last of `full_bytes`.
    pub fn packet_bytes(&self, bytes: u32, frames: u32, full_bytes: u32) -> u32 {
        // SAFETY: a valid struct; see the crate's documentation.
        unsafe { sys::takt_framing_packet(self, bytes, frames, full_bytes) }
    }
}
