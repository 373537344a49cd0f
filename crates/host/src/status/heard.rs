//! What taktd has heard of stations. It counts, and tells who asks; this is what is said.

use serde::{Deserialize, Serialize};

/// A source of strengths of connection, since taktd follows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// All links that it is about: they share what follows.
    pub links: Vec<String>,
    /// As `[radio]` calls it.
    pub source: String,
    /// Measurements that counted, of all stations.
    pub heard_samples: u64,
    /// Intervals in which a station that was known was not heard.
    pub missed_samples: u64,
    /// Only where clients report.
    pub datagrams: Option<Datagrams>,
}

/// What came to the port that clients report to, by what became of it. Nothing of a datagram
/// counts but of those heard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Looked at by taktd: the sum of what follows, but for the dropped.
    pub read: u64,
    /// A client's word about itself.
    pub heard: u64,
    /// Of another length or kind than a report.
    pub malformed: u64,
    /// Not made with the group's key, or changed on the way.
    pub forged: u64,
    /// It came before, or is older than what came; or of a start before the sender's last.
    pub replayed: u64,
    /// Of senders that were not heard yet, where more came than are looked at, or than there is
    /// room for.
    pub unknown: u64,
    /// Of one sender, more than one in an interval.
    pub too_often: u64,
    /// Made with the key, and about another than its sender.
    pub not_its_own: u64,
    /// By the kernel, unread: more came than are read.
    pub dropped: u64,
}
