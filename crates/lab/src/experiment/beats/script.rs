//! The input of a program of this experiment, and its output. Both are JSON.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use super::calls::Call;
use super::clock::Rhythm;

/// One process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Script {
    pub window: Window,
    pub threads: Vec<Role>,
}

/// The measured window, in CLOCK_MONOTONIC. All threads start before `begin_ns` and end at
/// `end_ns`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Window {
    pub begin_ns: u64,
    pub end_ns: u64,
}

impl Window {
    pub fn length_ns(self) -> u64 {
        self.end_ns - self.begin_ns
    }

    pub fn contains(self, at_ns: u64) -> bool {
        (self.begin_ns..self.end_ns).contains(&at_ns)
    }
}

/// One thread.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Role {
    /// At most 15 bytes, the kernel's limit.
    pub name: String,
    pub class: Class,
    pub part: Part,
}

impl Role {
    /// An ordinary thread.
    pub fn ordinary(name: impl Into<String>, part: Part) -> Self {
        Self {
            name: name.into(),
            class: Class::Ordinary,
            part,
        }
    }
}

/// The scheduling class that a thread sets for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    Ordinary,
    Fifo { priority: u32 },
    Deadline { runtime_ns: u64, period_ns: u64 },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Part {
    /// Works for `work_ns` on every beat.
    Jobs {
        rhythm: Rhythm,
        wait: Wait,
        work_ns: u64,
    },
    /// Works for `work_ns` and yields, repeatedly: a member of a group, or one of two threads
    /// that yield to each other.
    Relay {
        work_ns: u64,
    },
    /// Works for `work_ns` and passes its turn on, repeatedly: such a member, from 1, of a free
    /// group of so many.
    Pass {
        work_ns: u64,
        member: u32,
        members: u32,
    },
    /// Reads the clock without end, from the window's first beat on.
    Watch {
        rhythm: Rhythm,
    },
    /// Computes without end.
    Compute,
    /// Passes a byte to a partner and gets it back, through pipes.
    Pipes,
    /// Keeps the kernel busy: maps and unmaps memory, forks, reads.
    Strain,
    /// Repeats a system call.
    Call {
        call: Call,
    },
    /// A client of JACK: works for `work_ns` in each cycle, in a thread of this name.
    Client {
        name: String,
        wires: Vec<Wire>,
        work_ns: u64,
    },
    /// UDP datagrams to each address in turn, at `rate_bytes_per_s` of payload in all or without
    /// pause.
    Send {
        to: Vec<Ipv4Addr>,
        port: u16,
        rate_bytes_per_s: Option<u64>,
    },
    Receive {
        port: u16,
    },
}

/// Between two ports of JACK, such as `synth:out`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wire {
    pub from: String,
    pub to: String,
}

/// How a thread waits for its beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wait {
    /// `clock_nanosleep` until `lead_ns` before the beat; it waits out the rest by reading the
    /// clock.
    Sleep { lead_ns: u64 },
    /// `sched_yield()`: the scheduler knows the beat, and the lead.
    Yield { lead_ns: u64 },
    /// `sched_yield()` under SCHED_DEADLINE: the kernel releases it a period after its last
    /// release.
    YieldPeriod,
}

/// A thread's activity within the window.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Record {
    pub name: String,
    pub jobs: Vec<Job>,
    /// The spans in which it ran, from the first to the last reading of the clock.
    pub spans: Vec<(u64, u64)>,
    /// To which member, from 1, it passed its turn after each of these; 0: it ended the job.
    pub choices: Vec<u32>,
    /// Nanoseconds of work, round trips, or bytes of payload.
    pub done: u64,
    /// Releases before their beat: there must be none.
    pub early: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub beat_ns: u64,
    /// First reading of the clock after its release.
    pub woke_ns: u64,
    /// First reading of the clock that is not before the beat.
    pub start_ns: u64,
    /// Last reading of the clock.
    pub end_ns: u64,
}
