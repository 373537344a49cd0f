//! The capacities of networks, remembered over restarts of taktd.

use std::{
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use takt_host::persistent;
use takt_wlan::crowd::{Capacities, Capacity, Network};
use tracing::warn;

use super::capacities_file;

const FILE: &str = "capacities.json";
/// The file is written no more often.
const PAUSE_NS: u64 = 600 * 1_000_000_000;
/// A smaller part of a change is kept only when the network is left.
const CHANGE_DIVISOR: u64 = 10;
/// What does not change is noted again after a day, so that it stays fresh.
const REFRESH_NS: u64 = 24 * 3600 * 1_000_000_000;

/// What is kept of the present network.
pub(super) struct Memory {
    path: PathBuf,
    /// `None`: it is not known.
    network: Option<Network>,
    kept_bytes_ps: u64,
    /// When the file was written for it; `None`: not yet.
    kept_ns: Option<u64>,
    /// It was said that the file cannot be written.
    has_complained: bool,
}

impl Memory {
    pub fn new(dir: &Path) -> Self {
        Self {
            path: dir.join(FILE),
            network: None,
            kept_bytes_ps: 0,
            kept_ns: None,
            has_complained: false,
        }
    }

    /// The terminal is in this network from now on; returns what counts of its capacity.
    pub fn enter(&mut self, network: Option<Network>) -> u64 {
        self.network = network;
        self.kept_ns = None;
        self.kept_bytes_ps = 0;
        network.map_or(0, |network| self.read().recall(network, now_s()))
    }

    /// The network's capacity, if it is learned. Kept at once for the first time, and later if it
    /// has changed.
    pub fn see(&mut self, now_ns: u64, learned_bytes_ps: Option<u64>) {
        let Some(capacity_bytes_ps) = learned_bytes_ps else {
            return;
        };
        let passed_ns = self.kept_ns.map(|at_ns| now_ns.saturating_sub(at_ns));
        let change = capacity_bytes_ps.abs_diff(self.kept_bytes_ps);
        let is_due = match passed_ns {
            None => true,
            Some(passed_ns) if passed_ns >= REFRESH_NS => true,
            Some(passed_ns) => {
                passed_ns >= PAUSE_NS && change > self.kept_bytes_ps / CHANGE_DIVISOR
            }
        };
        if is_due {
            self.kept_ns = Some(now_ns);
            self.keep(capacity_bytes_ps);
        }
    }

    /// The terminal leaves the network.
    pub fn leave(&mut self, learned_bytes_ps: Option<u64>) {
        if let Some(capacity_bytes_ps) = learned_bytes_ps {
            self.keep(capacity_bytes_ps);
        }
        self.network = None;
    }

    /// Another taktd, of another network namespace, may have written the file meanwhile.
    fn keep(&mut self, capacity_bytes_ps: u64) {
        let Some(network) = self.network else {
            return;
        };
        self.kept_bytes_ps = capacity_bytes_ps;
        let mut capacities = self.read();
        capacities.note(Capacity {
            network,
            capacity_bytes_ps,
            seen_s: now_s(),
        });
        match persistent::replace(&self.path, &capacities_file::text(&capacities)) {
            Ok(()) => self.has_complained = false,
            Err(_) if self.has_complained => {}
            Err(error) => {
                self.has_complained = true;
                warn!(part = "crowd", "crowd: capacities are not kept: {error}");
            }
        }
    }

    fn read(&self) -> Capacities {
        let path = self.path.display();
        let read = persistent::read(&self.path).map_err(|error| error.to_string());
        let parsed = read.and_then(|text| {
            let parsed = text.as_deref().map(capacities_file::parse).transpose();
            parsed.map_err(|reason| format!("{path}: {reason}"))
        });
        parsed
            .map(Option::unwrap_or_default)
            .unwrap_or_else(|problem| {
                warn!(
                    part = "crowd",
                    "crowd: remembered capacities are ignored: {problem}"
                );
                Capacities::default()
            })
    }
}

/// Wrong clocks are the table's matter.
fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    const NETWORK: Network = Network([7; Network::BYTES]);
    const S_NS: u64 = 1_000_000_000;

    #[test]
    fn it_is_kept_rarely_and_recalled_in_part() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("takt");
        let mut memory = Memory::new(&dir);
        assert_eq!(memory.enter(Some(NETWORK)), 0);
        memory.see(0, None);
        assert!(!dir.exists());
        let recalled = || Memory::new(&dir).enter(Some(NETWORK));
        memory.see(S_NS, Some(4_000_000));
        assert_eq!(recalled(), 3_000_000);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&dir), mode(&dir.join(FILE))), (0o700, 0o600));

        memory.see(2 * S_NS, Some(8_000_000));
        assert_eq!(recalled(), 3_000_000);
        memory.see(S_NS + PAUSE_NS, Some(4_100_000));
        assert_eq!(recalled(), 3_000_000);
        memory.see(S_NS + PAUSE_NS, Some(8_000_000));
        assert_eq!(recalled(), 6_000_000);
        memory.leave(Some(400_000));
        assert_eq!(recalled(), 300_000);

        assert_eq!(memory.enter(None), 0);
        memory.leave(Some(8_000_000));
        assert_eq!(recalled(), 300_000);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_ignored_and_replaced() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(FILE);
        let mut memory = Memory::new(root.path());
        fs::write(&path, "{").unwrap();
        assert_eq!(memory.enter(Some(NETWORK)), 0);
        fs::write(&path, [0xff; 100]).unwrap();
        assert_eq!(memory.enter(Some(NETWORK)), 0);
        memory.leave(Some(4_000_000));
        assert_eq!(memory.enter(Some(NETWORK)), 3_000_000);
        // Others can change it.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(memory.enter(Some(NETWORK)), 0);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_no_failure() {
        let mut memory = Memory::new(Path::new("/proc/takt"));
        assert_eq!(memory.enter(Some(NETWORK)), 0);
        memory.see(0, Some(1_000_000));
        memory.leave(Some(1_000_000));
        assert!(memory.has_complained);
    }
}
