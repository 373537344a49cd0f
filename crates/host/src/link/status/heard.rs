//! What taktd has heard of stations. taktd counts and reports it; these are its types.

use serde::{Deserialize, Serialize};

/// A source of strengths of connection, since taktd uses it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// All links with this source: they share the following values.
    pub links: Vec<String>,
    /// Its name in `[radio]`.
    pub source: String,
    /// Measurements that counted, of all stations.
    pub heard_samples: u64,
    /// Intervals in which a known station was not heard.
    pub missed_samples: u64,
    /// Only where clients report.
    pub datagrams: Option<Datagrams>,
}

/// Datagrams at the port that clients report to, by what became of them. Only those heard have
/// an effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Read by taktd: the sum of what follows, but for the dropped.
    pub read: u64,
    /// A client's report about itself.
    pub heard: u64,
    /// Of another length or kind than a report.
    pub malformed: u64,
    /// Not sealed with the group's key, or changed on the way.
    pub forged: u64,
    /// A replay: received before, older than a received one, or of an earlier start than the
    /// sender's last.
    pub replayed: u64,
    /// From strangers, when more came than are read, or than there is room for.
    pub unknown: u64,
    /// More than one from a sender in an interval.
    pub too_often: u64,
    /// Sealed with the key, but about another station than its sender.
    pub not_its_own: u64,
    /// Dropped by the kernel: more came than are read.
    pub dropped: u64,
}
