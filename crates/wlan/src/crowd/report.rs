//! A terminal's report: the body of a sealed datagram.

use super::Activity;

/// The terminal's activity, and the time until its next report in milliseconds, big-endian.
pub const REPORT_BYTES: usize = Activity::BYTES + 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    pub activity: Activity,
    /// The next report comes within this time.
    pub within_ms: u16,
}

impl Report {
    pub fn to_bytes(self) -> [u8; REPORT_BYTES] {
        let mut bytes = [0; REPORT_BYTES];
        let (activity, within) = bytes.split_at_mut(Activity::BYTES);
        activity.copy_from_slice(&self.activity.to_bytes());
        within.copy_from_slice(&self.within_ms.to_be_bytes());
        bytes
    }

    /// `None`: the length is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (activity, rest) = bytes.split_first_chunk()?;
        let within = rest.try_into().ok()?;
        Some(Self {
            activity: Activity::from_bytes(*activity),
            within_ms: u16::from_be_bytes(within),
        })
    }
}
