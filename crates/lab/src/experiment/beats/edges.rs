//! The delay of a beat by one cause at a time: one thread, and its largest delay. (Another beat
//! is the cause in [`between_beats`](super::switches).)

use std::path::Path;
use std::time::Duration;

use super::beat::Beats;
use super::contender::Contender;
use super::jitter;
use super::load::{Load, busy};
use super::script::{Part, Role};
use super::stage::{self, Cast, play};
use crate::experiment::error::Result;
use crate::experiment::metrics::Metrics;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The processor sleeps until the beat.
    Idle,
    /// Two threads that never leave user mode by themselves.
    Busy,
    /// The kernel's tick, at the moment of the beat, and the same threads.
    Tick,
    /// Packets of both ends, and nothing else.
    Network,
    /// Long system calls, page faults, processes that come and go.
    Kernel,
}

impl Cause {
    pub const ALL: [Self; 5] = [
        Self::Idle,
        Self::Busy,
        Self::Tick,
        Self::Network,
        Self::Kernel,
    ];

    pub fn case(self) -> &'static str {
        match self {
            Self::Idle => "edge-idle",
            Self::Busy => "edge-busy",
            Self::Tick => "edge-tick",
            Self::Network => "edge-network",
            Self::Kernel => "edge-kernel",
        }
    }

    /// The thread that is delayed.
    pub fn beats(self) -> Beats {
        match self {
            Self::Tick => Beats::on_the_tick(),
            _ => Beats::single(),
        }
    }

    fn cast(self) -> Cast {
        match self {
            Self::Idle => Vec::new(),
            Self::Busy | Self::Tick => vec![stage::ordinary(busy())],
            Self::Network => Load::Saturated.ends(),
            Self::Kernel => vec![stage::ordinary(vec![Role::ordinary(
                "strain",
                Part::Strain,
            )])],
        }
    }
}

pub fn measure(
    takt: &Path,
    contender: Contender,
    cause: Cause,
    length: Duration,
) -> Result<Metrics> {
    let beats = cause.beats();
    let mut cast = vec![stage::beats(contender, &beats)];
    cast.extend(cause.cast());
    let played = play(takt, length, cast)?;
    Ok(jitter::of_threads(
        &beats,
        &played.records[0],
        played.window,
    ))
}
