//! Why there is no table: the obstacles, and changes that would fit.

use std::fmt;

use serde::Serialize;
use takt_policy::{ExactTime, format_duration as time};
use thiserror::Error;

use super::{DEMANDS_MAX, FRAME_MAX_NS, SLOTS_MAX};

/// A message with more obstacles is hard to read; the others are in the fields.
const SHOWN_MAX: usize = 4;

/// A demand that cannot be met, or all of them.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Refusal {
    /// More than the scheduler has members for.
    #[error("{demands} tasks are more than the maximum of {DEMANDS_MAX} on the beat")]
    TooMany {
        /// How many there are.
        demands: usize,
    },
    /// Not a valid grid.
    #[error("a grid of {} has no slots", *grid_ns)]
    Grid {
        /// The requested grid.
        grid_ns: ExactTime,
    },
    /// Impossible on any host.
    #[error("{name} {fault}")]
    Senseless {
        /// The demand's name.
        name: String,
        /// The error.
        fault: Fault,
    },
    /// No such time is left.
    #[error(
        "{name} needs {slots} {} of {} in every {}{}; {}; {}{}",
        if *slots == 1 { "slot" } else { "slots" },
        *grid_ns,
        *period_ns,
        AtOffset(*offset_ns),
        Obstacles(obstacles),
        Fits(fits),
        if *alone || fits.is_empty() { "" } else { "; others have no room either" }
    )]
    NoRoom {
        /// The demand's name.
        name: String,
        /// With those of its lead.
        slots: u64,
        /// How long a slot is.
        grid_ns: ExactTime,
        /// How often they are needed.
        period_ns: ExactTime,
        /// Where they have to begin, if the demand has an offset.
        offset_ns: Option<ExactTime>,
        /// The obstacle on each CPU that it may run on.
        obstacles: Box<[Obstacle]>,
        /// Changes that would fit, each by itself.
        fits: Box<[Remedy]>,
        /// Whether everything fits with one of them, not only the demands placed before.
        alone: bool,
    },
}

/// An error of a demand in itself.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub enum Fault {
    /// No period that a table can have.
    #[error(
        "has a period of {}, and periods are multiples of the grid of {} up to {}",
        *period_ns, *grid_ns, time(FRAME_MAX_NS)
    )]
    Period {
        /// The requested period.
        period_ns: ExactTime,
        /// The required divisor.
        grid_ns: ExactTime,
    },
    /// More than the period holds.
    #[error(
        "wants {}{} in every {}, and whole slots of {} for it have to fit in there",
        time(*budget_ns), WithLead(*lead_ns), *period_ns, *grid_ns
    )]
    Budget {
        /// The requested budget.
        budget_ns: u64,
        /// The lead before it.
        lead_ns: u64,
        /// The period that both have to fit into.
        period_ns: ExactTime,
        /// They take whole slots of this.
        grid_ns: ExactTime,
    },
    /// The slot would not lie within the period.
    #[error(
        "wants an offset of {}, and for its lead and budget that is a multiple of {} from {} to {}",
        *offset_ns, *grid_ns, *first_ns, *last_ns
    )]
    Offset {
        /// The requested offset.
        offset_ns: ExactTime,
        /// The least that fits.
        first_ns: ExactTime,
        /// The most that fits.
        last_ns: ExactTime,
        /// The required divisor.
        grid_ns: ExactTime,
    },
    /// No CPU that carries beats.
    #[error("may run on {}, and {} carry beats", Cpus(cpus), Cpus(carrying))]
    Cpus {
        /// The requested CPUs.
        cpus: Vec<u32>,
        /// CPUs that carry beats.
        carrying: Vec<u32>,
    },
    /// It has slots already, and they are not slots of this grid or host.
    #[error(
        "has slots that cannot stay: they are of another grid, of a CPU that has gone, or taken twice"
    )]
    Standing,
}

/// Why a CPU has no room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "obstacle", rename_all = "kebab-case")]
pub enum Obstacle {
    /// Slots of another task: the largest obstacle.
    Held {
        /// The CPU.
        cpu: u32,
        /// The task that has them.
        by: String,
        /// Phases of its period.
        begin_ns: ExactTime,
        /// As a phase within the period.
        end_ns: ExactTime,
        /// How often that recurs.
        period_ns: ExactTime,
        /// Other tasks on this CPU.
        others: usize,
    },
    /// More would take time that is to stay free.
    Free {
        /// The CPU.
        cpu: u32,
        /// The time that could still be assigned of every period.
        left_ns: ExactTime,
        /// Of what may be assigned, in millionths.
        free_ppm: u32,
    },
    /// Its periods together have too long a frame.
    Frame {
        /// The CPU.
        cpu: u32,
        /// The length of that frame.
        frame_ns: ExactTime,
    },
    /// Its table would have too many entries.
    Entries {
        /// The CPU.
        cpu: u32,
    },
}

/// A change with which the demand fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Remedy {
    /// Another phase of the period.
    Offset {
        /// This phase.
        offset_ns: ExactTime,
    },
    /// Other CPUs.
    Cpus {
        /// These CPUs.
        cpus: Vec<u32>,
    },
    /// A smaller budget.
    Budget {
        /// This budget.
        budget_ns: u64,
    },
    /// A longer or shorter period.
    Period {
        /// This period.
        period_ns: ExactTime,
    },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Held {
                cpu,
                by,
                begin_ns,
                end_ns,
                period_ns,
                others,
            } => {
                write!(
                    f,
                    "CPU {cpu}: {begin_ns} to {end_ns} of every {period_ns} is held by {by}"
                )?;
                match others {
                    0 => Ok(()),
                    1 => f.write_str(", and one other task is there"),
                    _ => write!(f, ", and {others} other tasks are there"),
                }
            }
            Obstacle::Free {
                cpu,
                left_ns,
                free_ppm,
            } => {
                let (percent, part) = (free_ppm / 10_000, free_ppm % 10_000);
                let part = format!(".{part:04}");
                let part = part.trim_end_matches('0').trim_end_matches('.');
                write!(
                    f,
                    "CPU {cpu}: {percent}{part} % of it stays free, which leaves "
                )?;
                match left_ns.numerator() {
                    0 => f.write_str("nothing"),
                    _ => left_ns.fmt(f),
                }
            }
            Obstacle::Frame { cpu, frame_ns } => {
                let (frame, max) = (frame_ns, time(FRAME_MAX_NS));
                write!(
                    f,
                    "CPU {cpu}: the periods on it would repeat after {frame}, and {max} is the most"
                )
            }
            Obstacle::Entries { cpu } => {
                write!(
                    f,
                    "CPU {cpu}: its table would have more than {SLOTS_MAX} slots"
                )
            }
        }
    }
}

/// In the policy's spelling.
impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::Offset { offset_ns } => write!(f, "offset = \"{}\"", *offset_ns),
            Remedy::Budget { budget_ns } => write!(f, "budget = \"{}\"", time(*budget_ns)),
            Remedy::Period { period_ns } => write!(f, "period = \"{}\"", *period_ns),
            Remedy::Cpus { cpus } => {
                let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
                write!(f, "cpus = \"{}\"", cpus.join(","))
            }
        }
    }
}

struct Obstacles<'a>(&'a [Obstacle]);

impl fmt::Display for Obstacles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, obstacle) in self.0.iter().take(SHOWN_MAX).enumerate() {
            let between = if index > 0 { "; " } else { "" };
            write!(f, "{between}{obstacle}")?;
        }
        match self.0.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            1 => f.write_str("; one other CPU has no room either"),
            more => write!(f, "; {more} other CPUs have no room either"),
        }
    }
}

struct Fits<'a>(&'a [Remedy]);

impl fmt::Display for Fits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits: Vec<String> = self.0.iter().map(Remedy::to_string).collect();
        match fits.as_slice() {
            [] => f.write_str("no smaller budget and no longer period that was tried fits"),
            _ => write!(f, "{} fits", fits.join(" or ")),
        }
    }
}

struct AtOffset(Option<ExactTime>);

impl fmt::Display for AtOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(offset_ns) => write!(f, ", from {} on", offset_ns),
            None => Ok(()),
        }
    }
}

struct WithLead(u64);

impl fmt::Display for WithLead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            lead_ns => write!(f, " with a lead of {}", time(lead_ns)),
        }
    }
}

struct Cpus<'a>(&'a [u32]);

impl fmt::Display for Cpus<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list: Vec<String> = self.0.iter().map(u32::to_string).collect();
        match list.as_slice() {
            [] => f.write_str("no CPU"),
            [one] => write!(f, "CPU {one}"),
            _ => write!(f, "CPUs {}", list.join(",")),
        }
    }
}

impl Refusal {
    /// The demand at fault, if there is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Refusal::TooMany { .. } | Refusal::Grid { .. } => None,
            Refusal::Senseless { name, .. } | Refusal::NoRoom { name, .. } => Some(name),
        }
    }
}
