//! The machine-wide settings for SCHED_FIFO.

use std::path::PathBuf;

use crate::experiment::error::{Result, WhileDoing};

/// Real-time threads may use all of the processor: by default the kernel stops them for a
/// twentieth of every second.
const RT_RUNTIME: (&str, &str) = ("/proc/sys/kernel/sched_rt_runtime_us", "-1");
/// Newer kernels instead give ordinary threads a SCHED_DEADLINE server that precedes them. Not
/// in every kernel, and a debugging interface.
const FAIR_SERVER: (&str, &str) = ("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "0");

/// Restored when this is dropped.
#[must_use]
pub struct Unthrottled(Vec<(PathBuf, String)>);

impl Unthrottled {
    pub fn set() -> Result<Self> {
        let mut before = Self(Vec::new());
        for (path, value) in [RT_RUNTIME, FAIR_SERVER] {
            let path = PathBuf::from(path);
            if path.exists() {
                let found =
                    std::fs::read_to_string(&path).doing("read a setting of the scheduler")?;
                std::fs::write(&path, value).doing("let real-time threads run all the time")?;
                before.0.push((path, found));
            }
        }
        Ok(before)
    }
}

impl Drop for Unthrottled {
    fn drop(&mut self) {
        for (path, value) in &self.0 {
            if let Err(error) = std::fs::write(path, value.trim()) {
                eprintln!("while cleaning up: {}: {error}", path.display());
            }
        }
    }
}
