//! How long a system call can delay a beat (HiTactix, table 3): an ordinary thread repeats it, so
//! that beats come at all of its moments.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::beat::Beats;
use super::contender::Contender;
use super::jitter;
use super::script::{Part, Role};
use super::stage::{self, play};
use crate::experiment::error::Result;
use crate::experiment::metrics::{Metrics, metrics};

/// A system call, or several that go together. Those with memory move 4 MiB, those with data 1 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// With `_exit` and `waitpid`.
    Fork,
    /// With `fork` and `waitpid`.
    Execve,
    /// A thread, which is waited for.
    Clone,
    /// Of signal 0.
    Kill,
    Getpid,
    Getrusage,
    Prctl,
    SchedSetaffinity,
    SchedSetscheduler,
    SchedYield,
    /// With `munmap`.
    Mmap,
    /// With `munlock`.
    Mlock,
    Mprotect,
    Mremap,
    Madvise,
    Mincore,
    MemfdCreate,
    /// With `close`, as of all descriptors below.
    Open,
    Stat,
    Read,
    Write,
    Fsync,
    Rename,
    /// With `open`, which makes the file.
    Unlink,
    /// With `rmdir`.
    Mkdir,
    /// Of `/proc`.
    Getdents,
    /// `/proc/self/maps`.
    ReadMaps,
    Flock,
    Pipe,
    Eventfd,
    Futex,
    EpollWait,
    Poll,
    Socketpair,
    Socket,
    /// Over the loopback device, and `recv`.
    Sendto,
    /// Over the loopback device, with `accept` and `close`.
    Connect,
    Nanosleep,
    TimerfdSettime,
    Getrandom,
}

impl Call {
    pub const ALL: [Self; 40] = [
        Self::Fork,
        Self::Execve,
        Self::Clone,
        Self::Kill,
        Self::Getpid,
        Self::Getrusage,
        Self::Prctl,
        Self::SchedSetaffinity,
        Self::SchedSetscheduler,
        Self::SchedYield,
        Self::Mmap,
        Self::Mlock,
        Self::Mprotect,
        Self::Mremap,
        Self::Madvise,
        Self::Mincore,
        Self::MemfdCreate,
        Self::Open,
        Self::Stat,
        Self::Read,
        Self::Write,
        Self::Fsync,
        Self::Rename,
        Self::Unlink,
        Self::Mkdir,
        Self::Getdents,
        Self::ReadMaps,
        Self::Flock,
        Self::Pipe,
        Self::Eventfd,
        Self::Futex,
        Self::EpollWait,
        Self::Poll,
        Self::Socketpair,
        Self::Socket,
        Self::Sendto,
        Self::Connect,
        Self::Nanosleep,
        Self::TimerfdSettime,
        Self::Getrandom,
    ];

    /// As in scripts.
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).ok();
        let name = name.as_ref().and_then(|name| name.as_str());
        name.unwrap_or_default().to_owned()
    }
}

/// `call-mmap`.
pub fn case(call: Call) -> String {
    format!("call-{}", call.name())
}

pub fn measure(
    takt: &Path,
    contender: Contender,
    beats: &Beats,
    call: Call,
    length: Duration,
) -> Result<Metrics> {
    let cast = vec![
        stage::beats(contender, beats),
        stage::ordinary(vec![Role::ordinary("caller", Part::Call { call })]),
    ];
    let played = play(takt, length, cast)?;
    let mut row = jitter::of_threads(beats, &played.records[0], played.window);
    let calls: u64 = played.records[1].iter().map(|record| record.done).sum();
    row.extend(metrics([("calls_count", json!(calls))]));
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_named_by_its_call() {
        assert_eq!(case(Call::SchedSetaffinity), "call-sched_setaffinity");
        assert_eq!(Call::ALL.len(), 40);
    }
}
