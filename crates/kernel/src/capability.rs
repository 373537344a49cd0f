//! What this process may do.

use std::fs;

use crate::error::Error;

/// Name and bit, as in `capabilities(7)`.
const NEEDED: [(&str, u32); 3] = [("CAP_NET_ADMIN", 12), ("CAP_PERFMON", 38), ("CAP_BPF", 39)];
const CAP_SYS_ADMIN: u32 = 21;

/// Refuse early, by name, what would fail later in a dozen ways.
pub fn require() -> Result<(), Error> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    let has = |bit: u32| effective & (1 << bit) != 0;
    // CAP_SYS_ADMIN stood for the BPF capabilities before they were split off.
    let missing = NEEDED
        .into_iter()
        .find(|(name, bit)| !has(*bit) && (*name == "CAP_NET_ADMIN" || !has(CAP_SYS_ADMIN)));
    match missing {
        Some((missing, _)) => Err(Error::Capability { missing }),
        None => Ok(()),
    }
}
