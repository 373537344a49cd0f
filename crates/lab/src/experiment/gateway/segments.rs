//! What TCP had to send again, and what it sent in vain, by the kernel's counters.

use super::network::{A, B, INTERNET};
use crate::experiment::error::Result;
use crate::experiment::tcp_counters;

/// So far, of the hosts with bulk flows and their servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segments {
    pub sent_again: u64,
    /// Arrived though they had arrived before (RFC 2883).
    pub duplicate: u64,
}

impl Segments {
    pub fn now() -> Result<Self> {
        let mut all = Self::default();
        for namespace in [A.namespace, B.namespace, INTERNET] {
            all.sent_again += tcp_counters::read(namespace, "snmp", "Tcp:", "RetransSegs")?;
            for place in ["TCPDSACKOldSent", "TCPDSACKOfoSent"] {
                all.duplicate += tcp_counters::read(namespace, "netstat", "TcpExt:", place)?;
            }
        }
        Ok(all)
    }

    pub fn since(self, earlier: Self) -> Self {
        Self {
            sent_again: self.sent_again - earlier.sent_again,
            duplicate: self.duplicate - earlier.duplicate,
        }
    }
}
