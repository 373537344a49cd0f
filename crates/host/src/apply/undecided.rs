//! Why a policy cannot be applied on this host, by the part of the policy that is refused.

use takt_planner::{PlanError, backend::NoBackend};
use takt_policy::Link;
use thiserror::Error;

use crate::{
    beats, crowd,
    error::Error,
    link::{self, gap::NoGap, push_back::NoPushBack, receive::NoReceive, sockets::NoUser},
};

/// A policy that this host cannot apply. All but the last are the policy's fault.
#[derive(Debug, Error)]
pub enum Undecided {
    /// The network namespace has no device of this name.
    #[error("there is no device {device}")]
    NoDevice {
        /// As a link or the crowd of the policy names it.
        device: String,
    },
    /// The policy calls one device by two of its names.
    #[error("{device} and {other} are names of one device")]
    TwoNames {
        /// The one that comes later.
        device: String,
        /// The one before it.
        other: String,
    },
    /// A link's matches do not fit into the kernel's tables.
    #[error("{device}: {problem}")]
    Plan {
        /// The link's.
        device: String,
        /// The table that is too small.
        problem: PlanError,
    },
    /// A link asks for gap frames on a device that cannot send them.
    #[error("{device}: {problem}")]
    NoGap {
        /// The link's.
        device: String,
        /// The reason.
        problem: NoGap,
    },
    /// A link is to go by a device that never stops its queue.
    #[error("{device}: {problem}")]
    NoPushBack {
        /// The link's.
        device: String,
        /// The reason.
        problem: NoPushBack,
    },
    /// A link is to delay incoming background packets on a device that does not allow it.
    #[error("{device}: {problem}")]
    NoReceive {
        /// The link's.
        device: String,
        /// The reason.
        problem: NoReceive,
    },
    /// No backend keeps what a link's policy asks for, on this kernel.
    #[error("{device}: {problem}")]
    NoBackend {
        /// The link's.
        device: String,
        /// What each backend lacks.
        problem: NoBackend,
    },
    /// A match names a user that cannot be looked up.
    #[error(transparent)]
    NoUser(#[from] NoUser),
    /// The CPUs have no room for all tasks, or one of them is not possible.
    #[error(transparent)]
    NoTime(takt_planner::beats::Refusal),
    /// The host is in the way, or failed.
    #[error(transparent)]
    Host(#[from] Error),
}

impl From<link::Refusal> for Undecided {
    fn from(refusal: link::Refusal) -> Self {
        match refusal {
            link::Refusal::NoDevice { device } => Self::NoDevice { device },
            link::Refusal::Plan { device, problem } => Self::Plan { device, problem },
            link::Refusal::NoGap { device, problem } => Self::NoGap { device, problem },
            link::Refusal::NoPushBack { device, problem } => Self::NoPushBack { device, problem },
            link::Refusal::NoReceive { device, problem } => Self::NoReceive { device, problem },
            link::Refusal::NoBackend { device, problem } => Self::NoBackend { device, problem },
            link::Refusal::NoUser(error) => Self::NoUser(error),
            link::Refusal::Host(error) => Self::Host(error),
        }
    }
}

impl From<beats::Refusal> for Undecided {
    fn from(refusal: beats::Refusal) -> Self {
        match refusal {
            beats::Refusal::NoTime(refusal) => Self::NoTime(refusal),
            beats::Refusal::Host(error) => Self::Host(error),
        }
    }
}

impl From<crowd::Refusal> for Undecided {
    fn from(refusal: crowd::Refusal) -> Self {
        match refusal {
            crowd::Refusal::NoDevice { device } => Self::NoDevice { device },
            crowd::Refusal::Host(error) => Self::Host(error),
        }
    }
}

/// Plan the links of a policy without a host.
pub fn unplannable(links: &[Link]) -> Vec<Undecided> {
    takt_planner::unplannable(links)
        .map(|(link, problem)| Undecided::Plan {
            device: link.device.clone(),
            problem,
        })
        .collect()
}
