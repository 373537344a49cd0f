//! What a policy asks for, and a backend does not keep.

use std::fmt;

use serde::{Deserialize, Serialize};
use takt_policy::{AqmKind, Class, Gate, Link, Sharing};

use super::kernel::Kernel;
use crate::{
    departure::{OVERSUBSCRIBED_MOST, asked_bps},
    flow::{RATE_MOST_BPS, is_paced, is_tcp},
    link::spares_local,
};

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
    /// The class has traffic that is registered at run time.
    Registrations,
    /// Stations share by weights.
    Stations,
    /// A newer pure acknowledgement replaces a queued one.
    Thinning,
    /// Hosts of a class share it, however many flows each has.
    Hosts,
    /// The distance of packets is exact to the byte.
    GapFrames,
    /// Classes share what others leave.
    SpareCapacity,
    /// Classes of a tenant share one guarantee and one ceiling.
    Tenants,
    /// Of classes that do not all get what they ask for, the more important ones do.
    Priorities,
    /// Queues are kept short.
    QueueManagement,
    /// Queue management drops no packets of this host's own sockets where these are pushed back.
    LocalSenders,
    /// All classes together keep within the link's rate, and rates are guaranteed.
    LinkRate,
    /// The class as a whole has a rate.
    ClassRates,
    /// Classes are served up to their floors before all others.
    Floors,
    /// Flows of all protocols have rates.
    OtherProtocols,
    /// Flows from other hosts and namespaces, and to other devices above the link's, have rates.
    ForwardedPackets,
    /// Classes are found by the fields that packets have when they leave.
    PacketFields,
    /// What a device receives is divided.
    Download,
    /// Packets get a DSCP by their class.
    SetDscp,
    /// The line's smallest frame and its cells are counted.
    Framing,
    /// The same for each frame of a packet of several.
    FramesOfSegments,
    /// The rate follows a line that changes.
    Autorate,
    /// Packets wait for the device, in the link's order, without a rate.
    ByDevice,
}

impl Promise {
    /// Whether a link without it is no longer the link that the policy describes. The others make
    /// it worse in a way that its traffic survives, and are only said.
    fn is_essential(self) -> bool {
        match self {
            Self::Spacing
            | Self::DepartureTimes
            | Self::Gate
            | Self::Receive
            | Self::QueueManagement
            | Self::LocalSenders
            | Self::Thinning
            | Self::Hosts
            | Self::FramesOfSegments => false,
            Self::FlowClocks
            | Self::Owners
            | Self::Registrations
            | Self::Stations
            | Self::GapFrames
            | Self::SpareCapacity
            | Self::Tenants
            | Self::Priorities
            | Self::LinkRate
            | Self::ClassRates
            | Self::Floors
            | Self::OtherProtocols
            | Self::ForwardedPackets
            | Self::PacketFields
            | Self::Download
            | Self::SetDscp
            | Self::Framing
            | Self::Autorate
            | Self::ByDevice => true,
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
            Self::Registrations => "registered destinations are not known",
            Self::Stations => "stations have no weights",
            Self::Thinning => "acknowledgements are not thinned",
            Self::Hosts => "capacity is divided by flow, so a host with many flows has more",
            Self::GapFrames => "no gap frames are sent",
            Self::SpareCapacity => "spare capacity is not shared",
            Self::Tenants => "classes of a tenant share nothing",
            Self::Priorities => "priorities are ignored",
            Self::QueueManagement => "queues are limited, but not managed",
            Self::LocalSenders => {
                "packets of this host's own sockets are dropped from long queues as well"
            }
            Self::LinkRate => "no rate is guaranteed, since the link's is not kept",
            Self::ClassRates => "the class as a whole has no rate",
            Self::Floors => "floors are ignored",
            Self::OtherProtocols => "flows that are not TCP have no rates",
            Self::ForwardedPackets => "packets that no socket sends by this device have no rates",
            Self::Download => "what a device receives is not divided",
            Self::SetDscp => "packets keep their DSCP",
            Self::Framing => "the line's smallest frame and its cells are not counted",
            Self::FramesOfSegments => {
                "a packet of several frames costs what one of its length would"
            }
            Self::Autorate => "the rate does not follow a line that changes",
            Self::ByDevice => {
                "the device's queue is not kept short, so what waits in it has no order"
            }
            Self::PacketFields => "marks and DSCP are those that the socket had when it connected",
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

/// A promise, and whether the policy asks for it.
type Asked = (Promise, bool);

/// What a tree does not keep of a link's policy: the link's first, then class by class.
pub(super) fn unkept_by_a_tree(link: &Link, kernel: &Kernel) -> Vec<Unkept> {
    let is_download = link.download_of.is_some();
    let of_link = vec![
        // What comes in has none, and is no socket's.
        (Promise::DepartureTimes, !is_download),
        (Promise::Stations, link.has_stations),
        (Promise::Thinning, link.thins_acks),
        (Promise::Hosts, link.share != Sharing::Flows),
        (Promise::GapFrames, link.pacing.fills_gaps()),
        (Promise::FramesOfSegments, link.framing.is_by_frame()),
        (Promise::Autorate, link.autorate.is_some()),
        (Promise::ByDevice, link.by_device),
    ];
    unkept(link, of_link, |class| {
        let mut asked = vec![
            (Promise::Spacing, class.ceil_bps.is_some()),
            (
                Promise::LocalSenders,
                !is_download && class.aqm.kind != AqmKind::Off && spares_local(class),
            ),
        ];
        asked.extend(beyond_the_kernels_qdiscs(class, kernel));
        asked
    })
}

/// What departure times with fq do not keep of it, in the same order.
pub(super) fn unkept_by_departure_times(link: &Link, kernel: &Kernel) -> Vec<Unkept> {
    let asked_bps = asked_bps(link);
    // The others share spare capacity, which is not kept either.
    let mut classes = link.classes.iter().filter(|class| class.ceil_bps.is_some());
    let first = classes.next().map(|class| class.priority);
    let differ = classes.any(|class| Some(class.priority) != first);
    let of_link = vec![
        (Promise::Download, link.download_of.is_some()),
        (Promise::Stations, link.has_stations),
        (Promise::Thinning, link.thins_acks),
        (Promise::Hosts, link.share != Sharing::Flows),
        (Promise::GapFrames, link.pacing.fills_gaps()),
        (Promise::Autorate, link.autorate.is_some()),
        (Promise::ByDevice, link.by_device),
        (Promise::Tenants, !link.tenants.is_empty()),
        (Promise::Priorities, differ && asked_bps > link.rate_bps),
        (
            Promise::SpareCapacity,
            asked_bps / OVERSUBSCRIBED_MOST > link.rate_bps,
        ),
    ];
    unkept(link, of_link, |class| {
        let is_fixed = class.rate_bps.is_some() && class.rate_bps == class.ceil_bps;
        let mut asked = vec![
            (Promise::SpareCapacity, !is_fixed),
            (Promise::QueueManagement, class.aqm.kind != AqmKind::Off),
        ];
        asked.extend(beyond_the_kernels_qdiscs(class, kernel));
        asked
    })
}

/// What rates on sockets with fq do not keep of it, in the same order.
pub(super) fn unkept_by_socket_rates(link: &Link, kernel: &Kernel) -> Vec<Unkept> {
    let of_link = vec![
        (Promise::Download, link.download_of.is_some()),
        (Promise::Stations, link.has_stations),
        (Promise::Thinning, link.thins_acks),
        (Promise::Hosts, link.share != Sharing::Flows),
        (Promise::GapFrames, link.pacing.fills_gaps()),
        (Promise::Autorate, link.autorate.is_some()),
        (Promise::ByDevice, link.by_device),
        (Promise::Tenants, !link.tenants.is_empty()),
        (Promise::Priorities, have_different_priorities(link)),
        (Promise::LinkRate, true),
        (Promise::Framing, link.framing.is_by_frame()),
    ];
    let without_rate = |class: &&Class| class.rate_bps.is_none();
    // One alone has what the others leave.
    let shares = link.classes.iter().filter(without_rate).count() > 1;
    unkept(link, of_link, |class| {
        let has_rate = class.rate_bps.is_some();
        let mut fields = class.matches.iter();
        let mut asked = vec![
            // TCP sends its first segments without a pace.
            (Promise::Spacing, class.ceil_bps.is_some()),
            (
                Promise::SpareCapacity,
                class.rate_bps != class.ceil_bps || (!has_rate && (shares || class.per_flow)),
            ),
            (Promise::ClassRates, has_rate && !class.per_flow),
            (Promise::Floors, class.floor_bps.is_some()),
            (Promise::SetDscp, link.dscp_of(class).is_some()),
            (Promise::OtherProtocols, has_rate && !is_tcp(class)),
            (Promise::ForwardedPackets, has_rate),
            (
                Promise::PacketFields,
                fields.any(|entry| entry.mark.is_some() || entry.dscp.is_some()),
            ),
            // Takt would not drop packets of paced sockets either: these are pushed back.
            (
                Promise::QueueManagement,
                class.aqm.kind != AqmKind::Off && !is_paced(class),
            ),
        ];
        let beyond = beyond_the_kernels_qdiscs(class, kernel);
        asked.extend(beyond.map(|(promise, is_asked)| match promise {
            Promise::FlowClocks => (promise, class.rate_bps > Some(RATE_MOST_BPS)),
            _ => (promise, is_asked),
        }));
        asked
    })
}

/// Among classes that all have a rate, or all have none.
fn have_different_priorities(link: &Link) -> bool {
    [true, false].into_iter().any(|has_rate| {
        let of_kind = |class: &&Class| class.ceil_bps.is_some() == has_rate;
        let mut classes = link.classes.iter().filter(of_kind);
        let first = classes.next().map(|class| class.priority);
        classes.any(|class| Some(class.priority) != first)
    })
}

/// What a class may ask for and no qdisc of the kernel's own has.
fn beyond_the_kernels_qdiscs(class: &Class, kernel: &Kernel) -> [Asked; 5] {
    let mut matches = class.matches.iter();
    let is_registered = class.matches.iter().any(|entry| entry.registered);
    [
        (Promise::Gate, class.gate == Some(Gate::Sender)),
        (Promise::Receive, class.receive),
        (Promise::FlowClocks, class.per_flow),
        (
            Promise::Owners,
            !kernel.knows_owners() && matches.any(|entry| entry.questions().next().is_some()),
        ),
        (Promise::Registrations, is_registered),
    ]
}

fn unkept(
    link: &Link,
    of_link: Vec<Asked>,
    of_class: impl Fn(&Class) -> Vec<Asked>,
) -> Vec<Unkept> {
    let best_effort = link.classes.iter().all(|class| class.best_effort);
    let of_link = of_link.into_iter().map(|asked| (None, best_effort, asked));
    let of_classes = link.classes.iter().flat_map(|class| {
        let asked = of_class(class).into_iter();
        asked.map(|asked| (Some(class.name.clone()), class.best_effort, asked))
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
