//! Processes that keep a machine of several processors busy.

use std::fs;

use crate::{
    control_group::Group,
    metronome::{Shell, sleep_ms},
};

/// A file in machines with two processors.
pub const PROGRAM: &str = "/usr/bin/stress-ng";

/// Processes that compute, wake each other, set timers, send datagrams and fork, until this is
/// dropped.
pub struct Stress {
    /// Before the group, which is removed when the process has ended.
    _first: Shell,
    group: Group,
}

impl Stress {
    pub fn start() -> Self {
        let group = Group::without_controllers("stress");
        let procs = group.path().join("cgroup.procs");
        let load = "stress-ng --quiet --cpu 2 --switch 2 --timer 1 --udp 1 --fork 1";
        let first = Shell::new(&format!("echo $$ > {} && exec {load}", procs.display()));
        let runs = (0..10_000).any(|_| {
            sleep_ms(1);
            // All its kinds of processes.
            fs::read_to_string(&procs).is_ok_and(|pids| pids.lines().count() > 5)
        });
        assert!(runs, "stress-ng does not start");
        Self {
            _first: first,
            group,
        }
    }
}

impl Drop for Stress {
    /// Now and then the process with the timer goes on when only the first one is
    /// killed, and keeps the machine busy for every later test.
    fn drop(&mut self) {
        self.group.kill();
    }
}
