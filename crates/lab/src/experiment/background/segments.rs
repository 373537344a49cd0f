//! TCP's retransmissions and out-of-order segments.

use std::path::Path;

use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::namespace::Namespace;
use crate::experiment::pair::{A, B};

/// Since the namespaces were made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segments {
    /// By the host.
    pub retransmitted: u64,
    /// At the server, which had to queue them until earlier segments arrived.
    pub out_of_order: u64,
}

impl Segments {
    pub fn now() -> Result<Self> {
        Ok(Self {
            retransmitted: counter(A, "snmp", "Tcp:", "RetransSegs")?,
            out_of_order: counter(B, "netstat", "TcpExt:", "TCPOFOQueue")?,
        })
    }

    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            retransmitted: self.retransmitted - earlier.retransmitted,
            out_of_order: self.out_of_order - earlier.out_of_order,
        }
    }
}

fn counter(namespace: Namespace, file: &str, protocol: &str, name: &str) -> Result<u64> {
    let path = Path::new("/proc/thread-self/net").join(file);
    let unreadable = |reason: String| ExperimentError::Unreadable {
        path: path.clone(),
        reason,
    };
    let table = namespace
        .run(|| std::fs::read_to_string(&path).map_err(|error| unreadable(error.to_string())))?;
    value(&table, protocol, name).ok_or_else(|| unreadable(format!("no {name} in it")))
}

/// A line of names is followed by a line of values.
fn value(table: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = table
        .lines()
        .filter_map(|line| line.strip_prefix(protocol))
        .map(str::split_whitespace);
    let place = lines.next()?.position(|one| one == name)?;
    lines.next()?.nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stands_under_its_name() {
        let table = "Ip: A B\nIp: 1 2\nTcp: OutSegs RetransSegs\nTcp: 70 3\n";
        assert_eq!(value(table, "Tcp:", "RetransSegs"), Some(3));
        assert_eq!(value(table, "Tcp:", "InSegs"), None);
        assert_eq!(value(table, "Udp:", "OutSegs"), None);
    }
}
