//! All parts of a transaction, in the order in which they are put in force. A new capability is
//! added here, and in [`Applied`], [`Undone`] and [`Status`](crate::Status).

use std::collections::{BTreeMap, BTreeSet};

use takt_policy::Policy;

use super::{Applied, names, revert::Undone, undecided::Undecided};
use crate::{
    autorate::Autorate,
    beats::Tasks,
    crowd::Windows,
    download::Downloads,
    error::Error,
    link::{
        self, Action, Links, Outcome, Owners, Replace,
        sockets::{Slot, Sockets},
    },
    os::routes,
    part::{Ending, Host, Part},
    radio::Radio,
    segments::Segments,
    state::source::Source,
    stock::{self, Stock},
};

/// What a policy changes of this host.
pub(super) struct Parts<'a> {
    tasks: Tasks,
    windows: Windows,
    radio: Radio<'a>,
    autorate: Autorate<'a>,
    stock: Stock<'a>,
    links: Links<'a>,
    segments: Segments<'a>,
    downloads: Downloads,
    /// The links' devices, as the policy has them.
    devices: Vec<String>,
    /// Those of them whose packets are not IP.
    without_ip: Vec<String>,
    /// The devices above them whose packets are sealed.
    opaque: BTreeMap<String, Vec<String>>,
}

impl<'a> Parts<'a> {
    pub fn decide(
        policy: &Policy,
        source: &'a Source,
        replace: &Replace,
        owners: &'a Owners,
        host: &mut Host,
    ) -> Result<Self, Undecided> {
        names::refuse_two_of_one(policy, host.ports()?.iter().map(|port| &port.device))?;
        let ports = host.ports()?;
        let devices: Vec<String> = { policy.links.iter() }
            .map(|link| link.device.clone())
            .collect();
        let is_without_ip = |name: &str| {
            let mut devices = ports.iter().map(|port| &port.device);
            devices.any(|device| device.is_called(name) && link::is_without_ip(device))
        };
        let opaque = devices.iter().filter_map(|name| {
            let all = ports.iter().map(|port| &port.device);
            let device = all.clone().find(|device| device.is_called(name))?;
            Some((name.clone(), link::opaque_above(device.index, all)))
        });
        let opaque = opaque.collect();
        let beats = policy.beats.as_ref().map(|beats| (beats, source));
        let crowd = policy.crowd.as_ref().map(|crowd| (crowd, source));
        let radio = policy.radio.as_ref().map(|_| source);
        let mut links = policy.links.iter();
        let autorate = links.any(|link| link.autorate.is_some()).then_some(source);
        let assigned = stock::assign(&policy.links)?;
        let slot = slot(source, host)?;
        let stock = Stock::decide(&assigned.stock, source, replace, owners, slot, host)?;
        for (device, before) in stock.given_back() {
            host.assume_root(device, before.qdisc.clone(), before.gso_max_segs)?;
        }
        let mut links = Links::decide(&assigned.takt, source, replace, owners, slot, host)?;
        links.hand_over(&stock.devices());
        Ok(Self {
            tasks: Tasks::decide(beats, host.netns_cookie)?,
            windows: Windows::decide(crowd, host)?,
            radio: Radio::decide(radio, host.netns_cookie)?,
            autorate: Autorate::decide(autorate, host.netns_cookie)?,
            segments: Segments::decide(&assigned, source, owners, slot, host)?,
            downloads: Downloads::decide(policy, host)?,
            stock,
            links,
            without_ip: { devices.iter() }
                .filter(|name| is_without_ip(name))
                .cloned()
                .collect(),
            opaque,
            devices,
        })
    }

    pub fn each(&mut self) -> [&mut dyn Part; 8] {
        [
            &mut self.tasks,
            &mut self.windows,
            &mut self.radio,
            &mut self.autorate,
            // Before the links: a device may go from one to the other.
            &mut self.stock,
            &mut self.links,
            &mut self.segments,
            // Packets come when their link is there.
            &mut self.downloads,
        ]
    }

    /// In the policy's order; then those that it no longer names.
    fn link_outcomes(&self) -> Vec<Outcome> {
        let mut outcomes = [self.links.outcomes(), self.stock.outcomes()].concat();
        // A device that goes from one backend to another is given back by neither.
        let stays: BTreeSet<String> = outcomes
            .iter()
            .filter(|outcome| outcome.action != Action::Detached)
            .map(|outcome| outcome.device.clone())
            .collect();
        outcomes.retain(|outcome| {
            outcome.action != Action::Detached || !stays.contains(&outcome.device)
        });
        let place = |outcome: &Outcome| {
            let mut devices = self.devices.iter();
            let place = devices.position(|device| *device == outcome.device);
            place.unwrap_or(self.devices.len())
        };
        outcomes.sort_by_key(place);
        for outcome in &mut outcomes {
            outcome.without_ip = self.without_ip.contains(&outcome.device);
            let opaque = self.opaque.get(&outcome.device).cloned();
            outcome.opaque = opaque.unwrap_or_default();
        }
        outcomes
    }

    pub fn outcome(&self, policy: &Policy) -> Applied {
        Applied {
            links: self.link_outcomes(),
            beats: self.tasks.action(),
            displaced: self.tasks.displaced().to_vec(),
            radio: policy.radio.is_some(),
            crowd: self.windows.action(),
            handed_over: false,
            foreign: Vec::new(),
        }
    }
}

/// The slot for the questions of a policy of this namespace.
pub(super) fn slot(source: &Source, host: &mut Host) -> Result<Slot, Error> {
    let in_use = [stock::slots(host)?, link::slots(host)?].concat();
    Ok(Slot::choose(source, &in_use))
}

/// Remove what takts that died, and namespaces that are gone, have left.
pub(super) fn sweep(host: &mut Host) -> Result<(), Error> {
    // What another version of takt watches cannot be settled in the end: refuse it at once.
    Sockets::open()?;
    Tasks::sweep(host)?;
    Windows::sweep(host)?;
    Radio::sweep(host)?;
    Autorate::sweep(host)?;
    Segments::sweep(host)?;
    Stock::sweep(host)?;
    Links::sweep(host)?;
    Downloads::sweep(host)
}

/// Take every part out.
pub(super) fn revert(host: &mut Host, ending: Ending) -> Result<Undone, Error> {
    let tasks = Tasks::revert(host, ending)?;
    let windows = Windows::revert(host, ending)?;
    let radio = Radio::revert(host, ending)?;
    Autorate::revert(host, ending)?;
    Segments::revert(host, ending)?;
    let stock = Stock::revert(host, ending)?;
    let links = Links::revert(host, ending)?;
    Downloads::revert(host, ending)?;
    routes::look_up_again();
    let foreign = [
        tasks.foreign,
        windows.foreign,
        radio.foreign,
        stock.foreign,
        links.foreign,
    ];
    Ok(Undone {
        links: links.done.into_iter().chain(stock.done).collect(),
        beats: tasks.done,
        radio: radio.done,
        crowd: windows.done,
        foreign: foreign.into_iter().flatten().collect(),
    })
}

/// The policy that this namespace follows, if there is one.
pub(super) fn source(host: &mut Host) -> Result<Option<Source>, Error> {
    let sources = [
        Tasks::source,
        Radio::source,
        Autorate::source,
        Windows::source,
        Stock::source,
        Links::source,
    ];
    for source in sources {
        if let Some(source) = source(host)? {
            return Ok(Some(source));
        }
    }
    Ok(None)
}

/// Unload what no namespace needs. Returns whether any namespace follows a policy.
pub(super) fn settle() -> Result<bool, Error> {
    let mut is_used = false;
    for settle in [
        Tasks::settle,
        Windows::settle,
        Radio::settle,
        Autorate::settle,
        Segments::settle,
        Stock::settle,
        Links::settle,
        Downloads::settle,
    ] {
        is_used |= settle()?;
    }
    let watched = link::watched()?.into_iter().chain(stock::watched()?);
    Sockets::settle(&watched.collect())?;
    Ok(is_used)
}
