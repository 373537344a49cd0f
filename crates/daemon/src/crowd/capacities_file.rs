//! The file with the capacities of networks: JSON, with a version.

use serde::{Deserialize, Serialize};
use takt_wlan::crowd::{Capacities, Capacity, Network};

const VERSION: u32 = 1;
/// Several times as long as the longest that is written.
const FILE_MAX_BYTES: usize = 64 << 10;

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    /// The one noted last at its end.
    networks: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    /// In hexadecimal.
    network: String,
    capacity_bytes_ps: u64,
    seen_s: u64,
}

/// Reads them; an error says where the text goes wrong.
pub(crate) fn parse(text: &str) -> Result<Capacities, String> {
    if text.len() > FILE_MAX_BYTES {
        return Err(format!("it is longer than {FILE_MAX_BYTES} bytes"));
    }
    let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if file.version != VERSION {
        let version = file.version;
        return Err(format!("it has version {version}, and this is {VERSION}"));
    }
    let mut capacities = Capacities::default();
    for (entry, n) in file.networks.iter().zip(1..) {
        let network = u128::from_str_radix(&entry.network, 16)
            .map_err(|error| format!("network {n}: {error}"))?;
        capacities.note(Capacity {
            network: Network(network.to_be_bytes()),
            capacity_bytes_ps: entry.capacity_bytes_ps,
            seen_s: entry.seen_s,
        });
    }
    Ok(capacities)
}

/// As [`parse`] reads them.
pub(crate) fn text(capacities: &Capacities) -> String {
    let file = File {
        version: VERSION,
        networks: capacities
            .iter()
            .map(|capacity| Entry {
                network: format!("{:032x}", u128::from_be_bytes(capacity.network.0)),
                capacity_bytes_ps: capacity.capacity_bytes_ps,
                seen_s: capacity.seen_s,
            })
            .collect(),
    };
    // Numbers and strings always are JSON.
    serde_json::to_string(&file).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_read_as_they_were_written() {
        let mut capacities = Capacities::default();
        for number in 0..100 {
            capacities.note(Capacity {
                network: Network([number; Network::BYTES]),
                capacity_bytes_ps: u64::MAX - u64::from(number),
                seen_s: u64::MAX,
            });
        }
        let written = text(&capacities);
        assert!(written.len() < FILE_MAX_BYTES / 4);
        assert_eq!(parse(&written), Ok(capacities));
    }

    #[track_caller]
    fn refused(text: &str, says: &str) {
        let said = parse(text).expect_err("it is broken");
        assert!(said.contains(says), "{said}");
    }

    #[test]
    fn what_is_broken_is_named() {
        refused("", "line 1");
        refused(r#"{"version":1}"#, "networks");
        refused(r#"{"version":2,"networks":[]}"#, "version 2");
        let of = |network: &str| {
            let entry = format!(r#"{{"network":"{network}","capacity_bytes_ps":1,"seen_s":1}}"#);
            format!(r#"{{"version":1,"networks":[{entry}]}}"#)
        };
        refused(&of("no"), "network 1");
        refused(&of(&"f".repeat(33)), "network 1");
        refused(&of("1").replace(":1,", ":-1,"), "line 1");
        refused(&" ".repeat(FILE_MAX_BYTES + 1), "longer than");
    }
}
