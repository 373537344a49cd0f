//! The kernel's counters of what a network namespace's TCP did.

use super::error::{ExperimentError, Result};
use super::namespace::Namespace;

/// So far, in the group `Tcp:` of the table `snmp` or `TcpExt:` of `netstat`.
pub fn read(namespace: Namespace, table: &str, group: &str, name: &str) -> Result<u64> {
    // /proc/net is the namespace of the process's first thread.
    let path = format!("/proc/thread-self/net/{table}");
    let unreadable = |reason: String| ExperimentError::Unreadable {
        path: path.clone().into(),
        reason,
    };
    let text =
        namespace.run(|| std::fs::read_to_string(&path).map_err(|e| unreadable(e.to_string())))?;
    parse(&text, group, name).ok_or_else(|| unreadable(format!("no {name} in it")))
}

/// A group has a line of names and a line of numbers.
fn parse(table: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix(group));
    let mut names = lines.next()?.split_whitespace();
    let place = names.position(|known| known == name)?;
    lines.next()?.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_below_their_names() {
        let table = "Ip: Forwarding\nIp: 1\nTcp: MaxConn InSegs RetransSegs\nTcp: -1 120 7\n";
        assert_eq!(parse(table, "Tcp:", "RetransSegs"), Some(7));
        assert_eq!(parse(table, "Tcp:", "MaxConn"), None);
        assert_eq!(parse(table, "Udp:", "InSegs"), None);
        assert_eq!(parse("Tcp: InSegs\n", "Tcp:", "InSegs"), None);
    }
}
