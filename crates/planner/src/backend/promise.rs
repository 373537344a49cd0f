//! What a policy asks for, and a tree of HTB classes does not keep.

use std::fmt;

use serde::{Deserialize, Serialize};
use takt_policy::{Gate, Link, Pacing};

/// What a backend may not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// A packet of a class with a ceiling leaves when its byte clock says.
    Spacing,
    /// A packet leaves no earlier than its departure time.
    DepartureTimes,
    /// The class waits for tasks that are more important than the one that sends.
    Gate,
    /// Incoming packets of the class wait.
    Receive,
    /// Every flow of the class has clocks of its own.
    FlowClocks,
    /// The class is found by the owner of a packet's socket.
    Owners,
    /// Stations share by weights.
    Stations,
    /// The distance of packets is exact to the byte.
    GapFrames,
}

impl Promise {
    /// Whether a link without it is no longer the link that the policy describes. The others make
    /// it worse in a way that its traffic survives, and are only said.
    fn is_essential(self) -> bool {
        match self {
            Self::Spacing | Self::DepartureTimes | Self::Gate | Self::Receive => false,
            Self::FlowClocks | Self::Owners | Self::Stations | Self::GapFrames => true,
        }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spacing => "packets leave in short bursts instead of one by one",
            Self::DepartureTimes => "departure times of packets are ignored",
            Self::Gate => "packets in the background do not wait for tasks",
            Self::Receive => "incoming packets in the background do not wait",
            Self::FlowClocks => "flows have no clocks of their own",
            Self::Owners => "the owners of sockets are not known",
            Self::Stations => "stations have no weights",
            Self::GapFrames => "no gap frames are sent",
        })
    }
}

/// A promise that a backend does not keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unkept {
    /// Of which class; `None`: of the link.
    pub class: Option<String>,
    /// What it is.
    pub promise: Promise,
    /// Whether the link is refused for it.
    pub refuses: bool,
}

impl fmt::Display for Unkept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.class {
            Some(class) => write!(f, "{} (class {class})", self.promise),
            None => write!(f, "{}", self.promise),
        }
    }
}

/// What a tree does not keep of a link's policy: the link's first, then class by class.
pub(super) fn unkept_by_a_tree(link: &Link) -> Vec<Unkept> {
    let best_effort = link.classes.iter().all(|class| class.best_effort);
    let of_link = [
        (Promise::DepartureTimes, true),
        (Promise::Stations, link.has_stations),
        (Promise::GapFrames, link.pacing == Pacing::Gap),
    ];
    let of_link = of_link.into_iter().map(|asked| (None, best_effort, asked));
    let of_classes = link.classes.iter().flat_map(|class| {
        let mut matches = class.matches.iter();
        let asked = [
            (Promise::Spacing, class.ceil_bps.is_some()),
            (Promise::Gate, class.gate == Some(Gate::Sender)),
            (Promise::Receive, class.receive),
            (Promise::FlowClocks, class.per_flow),
            (
                Promise::Owners,
                matches.any(|entry| entry.questions().next().is_some()),
            ),
        ];
        let name = Some(class.name.clone());
        asked.map(|asked| (name.clone(), class.best_effort, asked))
    });
    of_link
        .chain(of_classes)
        .filter(|(_, _, (_, is_asked))| *is_asked)
        .map(|(class, best_effort, (promise, _))| Unkept {
            class,
            promise,
            refuses: promise.is_essential() && !best_effort,
        })
        .collect()
}
