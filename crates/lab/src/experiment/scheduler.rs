//! Takt and its peers.

use super::error::{ExperimentError, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    /// No qdisc at all: the reference for the others' cost.
    None,
    Takt,
    /// Takt's policy as a tree of HTB classes.
    TaktTree,
    /// Takt's policy as departure times, which fq keeps.
    TaktDeparture,
    /// Takt's policy as rates of sockets, which fq keeps.
    TaktFlow,
    Fq,
    Htb,
    /// HTB that classifies by destination port, as Takt does.
    HtbU32,
    Tbf,
    /// A TBF for each band of `prio`, since TBF itself has no classes.
    PrioTbf,
    Cake,
    Pfifo,
}

impl Scheduler {
    pub const ALL: [Self; 12] = [
        Self::None,
        Self::Takt,
        Self::TaktTree,
        Self::TaktDeparture,
        Self::TaktFlow,
        Self::Fq,
        Self::Htb,
        Self::HtbU32,
        Self::Tbf,
        Self::PrioTbf,
        Self::Cake,
        Self::Pfifo,
    ];

    /// The name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Takt => "takt",
            Self::TaktTree => "takt-tree",
            Self::TaktDeparture => "takt-departure",
            Self::TaktFlow => "takt-flow",
            Self::Fq => "fq",
            Self::Htb => "htb",
            Self::HtbU32 => "htb+u32",
            Self::Tbf => "tbf",
            Self::PrioTbf => "prio+tbf",
            Self::Cake => "cake",
            Self::Pfifo => "pfifo",
        }
    }

    pub fn named(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|scheduler| scheduler.name() == name)
            .ok_or_else(|| ExperimentError::UnknownScheduler {
                name: name.to_owned(),
                known: Self::ALL.map(Self::name).join(", "),
            })
    }
}
