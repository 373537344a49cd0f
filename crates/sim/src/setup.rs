//! What is simulated: a link of a policy, its classes, and the flows of a traffic file.

use std::{borrow::Cow, collections::BTreeMap, iter, net::IpAddr, sync::Arc};

use takt_algo::{
    Port,
    sys::{TAKT_STATIONS_IP, takt_key, takt_plan},
};
use takt_medium::Profile;
use takt_planner::{ClassIds, PlanError, Questions, plan};
use takt_policy::{
    Link, Policy, Radio,
    traffic::{Control, Ecn, FLOWS_MAX, Kind, Source, Traffic},
};
use thiserror::Error;

use crate::{
    capture::{self, Arrival, CaptureError},
    headers,
    packet::{Codepoint, Flow},
    tasks,
};

/// Why a policy is not simulated.
#[derive(Debug, Error)]
pub enum SetupError {
    /// There is nothing to simulate.
    #[error("{policy} has no link; takt sim simulates the packets of one")]
    NoLink {
        /// The file's name.
        policy: String,
    },
    /// Several links could be meant.
    #[error("{policy} has the links {links}: say which one with --link")]
    WhichLink {
        /// The file's name.
        policy: String,
        /// Their devices.
        links: String,
    },
    /// There are only others.
    #[error("{policy} has no link {device}; it has {links}")]
    NoSuchLink {
        /// The file's name.
        policy: String,
        /// What was asked for.
        device: String,
        /// Their devices.
        links: String,
    },
    /// The tables of the kernel do not hold it.
    #[error("link {device} does not fit the kernel's tables: {error}")]
    Plan {
        /// The link's device.
        device: String,
        /// What does not fit.
        error: PlanError,
    },
    /// A file of packets is wrong.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// Their weights come from radios.
    #[error(
        "link {device} tells stations apart, and {traffic} has none: add [device] with medium = \
         \"802.11g\" and [[station]], or take [radio] out of a copy of the policy"
    )]
    NoStations {
        /// The link's device.
        device: String,
        /// The traffic file's name.
        traffic: String,
    },
    /// A packet goes nowhere.
    #[error(
        "source {source_name} sends to {destination}, which is no [[station]]: add one with that \
         address, or change dst in headers"
    )]
    NoStation {
        /// Whose packet it is.
        source_name: String,
        /// The address.
        destination: String,
    },
    /// Nothing says how fast the wire is.
    #[error(
        "link {device} has no rate, since its device decides, and {traffic} does not say what it \
         takes: add [device] with rate = \"5.7mbit\""
    )]
    NoWire {
        /// The link's device.
        device: String,
        /// The traffic file's name.
        traffic: String,
    },
    /// The air has no gaps to fill.
    #[error(
        "link {device} sends gap frames, and the device of {traffic} is an access point's radio, \
         which has no position on a wire: take pacing out of a copy of the policy"
    )]
    Gaps {
        /// The link's device.
        device: String,
        /// The traffic file's name.
        traffic: String,
    },
}

/// A class, as far as figures are about it.
#[derive(Debug, Clone)]
pub struct ClassTerms {
    /// In the policy.
    pub name: String,
    /// In the planner's tables.
    pub id: u32,
    /// Its clock's rate, in bits per second; of each flow with `per_flow`. `None`: only its tenant
    /// or the link limits it.
    pub pace_bps: Option<u64>,
    /// Whether each flow has clocks of its own.
    pub per_flow: bool,
}

/// One link with its senders.
pub struct Setup {
    /// The link.
    pub link: Link,
    /// The ids of its classes.
    pub ids: ClassIds,
    /// The tables that the kernel would be given.
    pub tables: Box<takt_plan>,
    /// In the policy's order.
    pub classes: Vec<ClassTerms>,
    /// The traffic file's content.
    pub traffic: Traffic,
    /// All flows, those of a source next to each other.
    pub flows: Vec<Flow>,
    /// The source of each flow.
    pub sources: Vec<u32>,
    /// How stations are weighed; `None`: they are not.
    pub radio: Option<Radio>,
    /// What the device is, if it is an access point's radio.
    pub(crate) profile: Option<Profile>,
    /// The packets of the flows that come from captures.
    pub(crate) captured: BTreeMap<u32, Arc<[Arrival]>>,
}

impl Setup {
    /// The link on this device, or the only one.
    pub fn new(
        policy: &Policy,
        name: &str,
        device: Option<&str>,
        traffic: &Traffic,
    ) -> Result<Self, SetupError> {
        let link = choose(policy, name, device)?;
        let profile = profile(link, traffic)?;
        let link = &*on_wire(link, traffic, profile.is_some())?;
        let questions = Questions::of(&policy.links);
        let planned =
            plan(link, &ClassIds::default(), &questions).map_err(|error| SetupError::Plan {
                device: link.device.clone(),
                error,
            })?;
        let classes = link.classes.iter().map(|class| ClassTerms {
            name: class.name.clone(),
            id: planned.ids.id(&class.name).unwrap_or_default(),
            pace_bps: class
                .ceil_bps
                .filter(|bps| *bps < link.rate_bps || class.rate_bps == Some(*bps)),
            per_flow: class.per_flow,
        });
        let mut setup = Self {
            link: link.clone(),
            classes: classes.collect(),
            ids: planned.ids,
            tables: planned.tables,
            traffic: traffic.clone(),
            flows: Vec::new(),
            sources: Vec::new(),
            radio: policy.radio.clone().filter(|_| link.has_stations),
            profile,
            captured: BTreeMap::new(),
        };
        if link.has_stations {
            setup.tables.stations = TAKT_STATIONS_IP;
        }
        setup.add_flows(&questions)?;
        setup.find_stations()?;
        Ok(setup)
    }

    fn add_flows(&mut self, questions: &Questions) -> Result<(), CaptureError> {
        let mut room = FLOWS_MAX as usize - flows_without_captures(&self.traffic);
        for (at, source) in (0..).zip(&self.traffic.sources) {
            let first = self.flows.len();
            if let Kind::Capture { file, frame_bytes } = &source.kind {
                let captured = capture::load(file, *frame_bytes, room)?;
                room -= captured.len();
                for flow in captured {
                    self.captured.insert(self.flows.len() as u32, flow.arrivals);
                    self.flows.push(new_flow(&self.tables, flow.key, flow.ecn));
                }
            } else {
                for index in 0..source.flows {
                    let key = headers::key(&source.headers, index, questions);
                    let number = self.flows.len() as u64 + 1;
                    let (socket, task_prio) = if source.is_forwarded {
                        (0, 0)
                    } else {
                        (number, tasks::priority(source.nice))
                    };
                    self.flows.push(Flow {
                        socket,
                        task_prio,
                        ..new_flow(&self.tables, key, codepoint(source))
                    });
                }
            }
            let added = self.flows.len() - first;
            self.sources.extend(iter::repeat_n(at, added));
        }
        Ok(())
    }

    /// Each flow's station, if the device is an access point's radio.
    fn find_stations(&mut self) -> Result<(), SetupError> {
        if self.profile.is_none() {
            return Ok(());
        }
        let stations = (0..).zip(&self.traffic.stations);
        let stations: BTreeMap<IpAddr, u32> = stations
            .map(|(at, station)| (station.address, at))
            .collect();
        for (flow, source) in self.flows.iter_mut().zip(&self.sources) {
            let destination = headers::destination(&flow.key);
            let station = destination.and_then(|address| stations.get(&address));
            flow.station = *station.ok_or_else(|| SetupError::NoStation {
                source_name: self.traffic.sources[*source as usize].name.clone(),
                destination: destination
                    .map_or_else(|| "no IP address".to_owned(), |address| address.to_string()),
            })?;
        }
        Ok(())
    }

    /// How many flows a class has.
    pub(crate) fn flows_of(&self, class_id: u32) -> usize {
        let flows = self.flows.iter();
        flows.filter(|flow| flow.class == class_id).count()
    }

    /// Whether some sender of the class always has more to send.
    pub(crate) fn is_greedy(&self, class_id: u32) -> bool {
        let mut flows = self.flows.iter().zip(&self.sources);
        flows.any(|(flow, source)| {
            flow.class == class_id && self.traffic.sources[*source as usize].is_greedy()
        })
    }

    /// The index of a flow's class in `classes`.
    pub(crate) fn class_of(&self, flow: &Flow) -> usize {
        let is_own = |class: &ClassTerms| class.id == flow.class;
        self.classes.iter().position(is_own).unwrap_or_default()
    }
}

/// Captures tell only when they are read.
fn flows_without_captures(traffic: &Traffic) -> usize {
    let is_counted = |source: &&Source| !matches!(source.kind, Kind::Capture { .. });
    let sources = traffic.sources.iter().filter(is_counted);
    sources.map(|source| source.flows as usize).sum()
}

fn codepoint(source: &Source) -> Codepoint {
    match source.ecn {
        // It sets that itself (TCP_CONG_NEEDS_ECN).
        _ if is_dctcp(source) => takt_algo::sys::TAKT_ECN_ECT0,
        Ecn::Not => takt_algo::sys::TAKT_ECN_NOT,
        Ecn::Ect0 => takt_algo::sys::TAKT_ECN_ECT0,
        Ecn::Ect1 => takt_algo::sys::TAKT_ECN_ECT1,
    }
}

fn is_dctcp(source: &Source) -> bool {
    matches!(&source.kind, Kind::Tcp(terms) if terms.control == Control::Dctcp)
}

/// A flow without a socket.
fn new_flow(tables: &takt_plan, key: takt_key, ecn: Codepoint) -> Flow {
    Flow {
        key,
        socket: 0,
        class: Port::class_by_headers(tables, &key),
        ecn,
        task_prio: 0,
        station: 0,
        pacing_bps: 0,
    }
}

fn choose<'a>(
    policy: &'a Policy,
    name: &str,
    device: Option<&str>,
) -> Result<&'a Link, SetupError> {
    let named = |link: &&Link| device.is_none_or(|device| link.device == device);
    let mut links = policy.links.iter().filter(named);
    match (links.next(), links.next()) {
        (Some(link), None) => Ok(link),
        (None, _) if policy.links.is_empty() => Err(SetupError::NoLink {
            policy: name.to_owned(),
        }),
        _ => {
            let devices = policy.links.iter().map(|link| link.device.as_str());
            let (policy, links) = (name.to_owned(), devices.collect::<Vec<_>>().join(", "));
            Err(match device {
                Some(device) => SetupError::NoSuchLink {
                    policy,
                    device: device.to_owned(),
                    links,
                },
                None => SetupError::WhichLink { policy, links },
            })
        }
    }
}

/// The link with a rate: one that the device decides for is as fast as the wire, since the device asks
/// whenever the wire is free.
fn on_wire<'a>(
    link: &'a Link,
    traffic: &Traffic,
    is_air: bool,
) -> Result<Cow<'a, Link>, SetupError> {
    if !link.by_device || is_air {
        return Ok(Cow::Borrowed(link));
    }
    let rate_bps = traffic.device.rate_bps.ok_or_else(|| SetupError::NoWire {
        device: link.device.clone(),
        traffic: traffic.name().to_owned(),
    })?;
    Ok(Cow::Owned(Link {
        rate_bps,
        by_device: false,
        ..link.clone()
    }))
}

/// The device's, if it is an access point's radio. Policy and traffic must agree on what it is.
fn profile(link: &Link, traffic: &Traffic) -> Result<Option<Profile>, SetupError> {
    let (device, name) = (link.device.clone(), traffic.name().to_owned());
    match traffic.device.medium {
        None if link.has_stations => Err(SetupError::NoStations {
            device,
            traffic: name,
        }),
        Some(_) if link.pacing.fills_gaps() => Err(SetupError::Gaps {
            device,
            traffic: name,
        }),
        medium => Ok(medium.and_then(Profile::by_name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_files_name_all_media() {
        let mut named = takt_policy::traffic::MEDIA.to_vec();
        named.sort_unstable();
        let mut all: Vec<&str> = Profile::all().iter().map(|profile| profile.name).collect();
        all.sort_unstable();
        assert_eq!(named, all);
    }
}
