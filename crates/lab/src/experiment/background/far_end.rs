//! The far end of the wire: in reality a processor of its own, here threads beside the host's.
//!
//! Its IP layer processes packets in a thread of the kernel (threaded NAPI), and its programs are
//! the threads of [`Server`](super::upload::Server). Both come before every task of the host, and
//! the kernel counts their time, so that it can be taken off.

use crate::experiment::command;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::namespace::Namespace;
use crate::experiment::napi;

use super::importance;
use super::upload::SERVER_THREAD;

/// Threads whose time is the far end's.
#[derive(Debug, Default)]
pub struct FarEnd {
    /// The kernel's.
    threads: Vec<u32>,
}

impl FarEnd {
    /// Of devices in the far namespace, whose packets are processed by threads from now on, for as
    /// long as the devices exist.
    pub fn of_devices(namespace: Namespace, devices: &[&str]) -> Result<Self> {
        let mut threads = Vec::new();
        for device in devices {
            namespace.run(|| polled(device))?;
            let thread = threaded(namespace, device)?;
            importance::first_of_all(thread)?;
            threads.push(thread);
        }
        Ok(Self { threads })
    }

    /// The time that its threads have run. Threads that have ended are not in it.
    pub fn ran_ns(&self) -> Result<u64> {
        let kernels = self
            .threads
            .iter()
            .map(|thread| ran_ns(&thread.to_string()));
        let servers = server_threads()?;
        let programs = servers
            .iter()
            .map(|thread| ran_ns(&format!("self/task/{thread}")));
        Ok(kernels.chain(programs).sum())
    }
}

/// Packets that arrive at a veth are polled for, as at a device of hardware, one at a time: a veth
/// polls only when it may merge, which a size that nothing fits prevents, and only for packets of a
/// peer that does not segment, so this is for both ends.
pub fn polled(device: &str) -> Result<()> {
    let offloads = "gro on sg off tso off gso off".split(' ');
    let words: Vec<&str> = ["-K", device].into_iter().chain(offloads).collect();
    command::run("ethtool", &words)?;
    let sizes = "gro_max_size 1 gso_max_segs 1".split(' ');
    let words: Vec<&str> = ["link", "set", device].into_iter().chain(sizes).collect();
    command::run("ip", &words).map(drop)
}

/// Processes a device's packets in a thread from now on, and returns it.
pub fn threaded(namespace: Namespace, device: &str) -> Result<u32> {
    // `ip netns exec` shows the namespace's devices in /sys.
    let set = format!("echo 1 > /sys/class/net/{device}/threaded");
    command::run("ip", &["netns", "exec", namespace.0, "sh", "-c", &set])?;
    napi::threads(device)?
        .first()
        .copied()
        .ok_or_else(|| ExperimentError::Unsupported {
            scheduler: "prio-threads",
            reason: format!("no thread processes what arrives at {device}"),
        })
}

/// Processes a device's packets in software interrupts again.
pub fn unthreaded(namespace: Namespace, device: &str) -> Result<()> {
    let set = format!("echo 0 > /sys/class/net/{device}/threaded");
    command::run("ip", &["netns", "exec", namespace.0, "sh", "-c", &set]).map(drop)
}

fn server_threads() -> Result<Vec<String>> {
    let threads = std::fs::read_dir("/proc/self/task").doing("list the lab's threads")?;
    Ok(threads
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|thread| {
            std::fs::read_to_string(format!("/proc/self/task/{thread}/comm"))
                .is_ok_and(|name| name.trim_end() == SERVER_THREAD)
        })
        .collect())
}

/// The first number of a thread's statistics is the time that it has run; a thread that has just
/// ended has none.
fn ran_ns(thread: &str) -> u64 {
    let statistics = std::fs::read_to_string(format!("/proc/{thread}/schedstat"));
    { statistics.ok() }
        .and_then(|statistics| statistics.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
