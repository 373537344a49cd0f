//! What became of a packet.

/// Times are from the beginning of sending on.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    pub flow: u32,
    pub bytes: u32,
    /// When its sender gave it to the kernel.
    pub sent_ns: u64,
    /// When the kernel of the receiver had it; `None`: it was lost.
    pub arrived_ns: Option<u64>,
}

impl Delivery {
    pub fn delay_ns(&self) -> Option<u64> {
        Some(self.arrived_ns?.saturating_sub(self.sent_ns))
    }
}
