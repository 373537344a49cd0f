//! What delays a beat, and for how long at most: one thread, and one cause at a
//! time. (Another beat is the cause in [`between_beats`](super::switches).)

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
    /// Packets of both ends, and nothing else.
    Network,
    /// Long system calls, page faults, processes that come and go.
    Kernel,
}

impl Cause {
    pub const ALL: [Self; 4] = [Self::Idle, Self::Busy, Self::Network, Self::Kernel];

    pub fn case(self) -> &'static str {
        match self {
            Self::Idle => "edge-idle",
            Self::Busy => "edge-busy",
            Self::Network => "edge-network",
            Self::Kernel => "edge-kernel",
        }
    }

    fn cast(self) -> Cast {
        match self {
            Self::Idle => Vec::new(),
            Self::Busy => vec![stage::ordinary(busy())],
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
    beats: &Beats,
    cause: Cause,
    length: Duration,
) -> Result<Metrics> {
    let mut cast = vec![stage::beats(contender, beats)];
    cast.extend(cause.cast());
    let played = play(takt, length, cast)?;
    Ok(jitter::of_threads(beats, &played.records[0], played.window))
}
