//! The maps of the congestion control: the terms of this network namespace, and its counters.

use libbpf_rs::{ErrorKind, MapCore, MapFlags, MapHandle};
use serde::Serialize;
use takt_algo::{
    Group, Plain, WindowTerms, from_bytes,
    sys::{
        TAKT_CROWD_STALE_PERIODS, TAKT_FORWARDED_STALE_PERIODS, takt_crowd, takt_crowd_downloads,
        takt_crowd_group, takt_crowd_terminal,
    },
    to_bytes,
};

use super::{
    downloads::{self, Downloaded},
    forwarded, moving, program,
};
use crate::{
    bpf::{
        BpfError,
        pinned::{CROWD, Pinned},
    },
    error::Error,
    os::{clock::monotonic_ns, namespace::netns_cookie},
};

/// The loaded congestion control, by its pins, with the maps' entries of the calling thread's
/// network namespace.
pub struct Crowd {
    pins: Pinned,
    namespace: [u8; 8],
    terms: MapHandle,
    groups: MapHandle,
    terminals: MapHandle,
    downloads: MapHandle,
}

/// Totals of the flows on the device. Compare two of them: the counters go on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Segments that arrived, times the flow's segment size.
    pub delivered_bytes: u64,
    /// Periods of flows in which anything was acknowledged.
    pub flow_periods: u64,
    /// Of these, the periods in which the flow used all it could get.
    pub limited_periods: u64,
    /// The duration of all `flow_periods`.
    pub passed_us: u64,
    /// The duration of `limited_periods`.
    pub limited_us: u64,
    /// Mean round trips of the limited periods, added up over those with a measurement.
    pub rtt_sum_us: u64,
    /// The least round trip of the flow in each of them, added up likewise.
    pub rtt_min_sum_us: u64,
    /// Standing round trips likewise: the mean of the shortest of each half round trip.
    pub stand_sum_us: u64,
    /// How many periods are in the three sums.
    pub rtt_count: u64,
    /// Delivered, or lost.
    pub sent_segments: u64,
    /// Segments that the kernel considers lost.
    pub lost_segments: u64,
}

impl Crowd {
    /// What an earlier takt loaded; `None` if there is none.
    pub fn open() -> Result<Option<Self>, Error> {
        Self::for_namespace(netns_cookie()?)
    }

    /// For another namespace.
    pub(super) fn for_namespace(netns_cookie: u64) -> Result<Option<Self>, Error> {
        CROWD.open(|pins| Self::in_pins(pins, netns_cookie))
    }

    fn in_pins(pins: Pinned, netns_cookie: u64) -> Result<Self, Error> {
        Ok(Self {
            namespace: netns_cookie.to_ne_bytes(),
            terms: pins.map_of::<u64, takt_crowd>("takt_crowd")?,
            groups: pins.map_of::<u64, takt_crowd_group>("takt_crowd_groups")?,
            terminals: pins.map_of::<u64, takt_crowd_terminal>("takt_crowd_terminals")?,
            downloads: pins.map_of::<u64, takt_crowd_downloads>(downloads::TERMS)?,
            pins,
        })
    }

    /// Load and register it. Until [`Self::enter`] it is CUBIC; sockets have to choose it.
    pub fn load() -> Result<Self, Error> {
        let netns_cookie = netns_cookie()?;
        CROWD.load(program::register_and_pin, |pins| {
            Self::in_pins(pins, netns_cookie)
        })
    }

    /// Verify every program against the running kernel, and leave nothing loaded.
    pub(crate) fn verify() -> Result<(), Error> {
        program::verify()?;
        downloads::verify()?;
        forwarded::verify()?;
        moving::verify()
    }

    /// Bounds for every flow of this namespace that leaves by the device, running ones
    /// included, recomputed every `period_ns`: by its own round trips until a group is
    /// [set](Self::set).
    pub fn enter(
        &self,
        generation: u32,
        ifindex: u32,
        period_ns: u64,
        terms: &WindowTerms,
    ) -> Result<(), Error> {
        // The group and the counters stay.
        let (unheard, uncounted) = Default::default();
        self.write::<takt_crowd_group>(&self.groups, &unheard, MapFlags::NO_EXIST)?;
        self.write::<takt_crowd_terminal>(&self.terminals, &uncounted, MapFlags::NO_EXIST)?;
        let terms = takt_crowd {
            params: terms.params(),
            period_ns,
            ifindex,
            generation,
        };
        self.write(&self.terms, &terms, MapFlags::ANY).map(drop)
    }

    /// The generation of the terms in the kernel, if there are any.
    pub(super) fn generation(&self) -> Result<Option<u32>, Error> {
        let terms = self.read::<takt_crowd>(&self.terms)?;
        Ok(terms.map(|terms| terms.generation))
    }

    /// Set what was just heard of the group, and how many flows of this terminal are limited by
    /// their windows. It counts for three periods. After that, and for an empty group, each
    /// flow goes by its own round trips. Returns whether there are bounds at all (any more).
    pub fn set(&self, group: &Group, own_flows: u32) -> Result<bool, Error> {
        let heard = takt_crowd_group {
            sum: group.sum(),
            heard_ns: monotonic_ns(),
            own_flows,
        };
        self.write(&self.groups, &heard, MapFlags::EXIST)
    }

    /// The group that was set, if it still counts and is not empty.
    pub(super) fn heard(&self, period_ns: u64) -> Result<Option<Group>, Error> {
        let heard = self.read::<takt_crowd_group>(&self.groups)?;
        let counts = |heard: &takt_crowd_group| {
            let age_ns = monotonic_ns().saturating_sub(heard.heard_ns);
            heard.sum.terminals > 0 && age_ns <= u64::from(TAKT_CROWD_STALE_PERIODS) * period_ns
        };
        let heard = heard.filter(|heard| counts(heard));
        Ok(heard.map(|heard| heard.sum.into()))
    }

    /// The counters; `None` if there are no bounds (any more).
    pub fn usage(&self) -> Result<Option<Usage>, Error> {
        let sum = self.read::<takt_crowd_terminal>(&self.terminals)?;
        Ok(sum.map(|sum| Usage {
            delivered_bytes: sum.delivered_bytes,
            flow_periods: sum.flow_periods,
            limited_periods: sum.limited_periods,
            passed_us: sum.passed_us,
            limited_us: sum.limited_us,
            rtt_sum_us: sum.rtt_sum_us,
            rtt_min_sum_us: sum.rtt_min_sum_us,
            stand_sum_us: sum.stand_sum_us,
            rtt_count: sum.rtt_count,
            sent_segments: sum.sent,
            lost_segments: sum.lost,
        }))
    }

    /// Have downloads of hosts behind this one bounded, too, which arrive by this device.
    pub fn forward(&self, ifindex: u32) -> Result<(), Error> {
        forwarded::make(self.netns_cookie(), ifindex, &self.downloads)
    }

    /// Have no device's forwarded downloads bounded.
    pub fn forward_nothing(&self) -> Result<(), Error> {
        forwarded::remove(self.netns_cookie())
    }

    /// Bound what this namespace's sockets and the hosts behind it receive by the device, for a
    /// period. The group is one of downloads, of which this terminal has `own_flows`.
    pub fn bound_downloads(&self, group: &Group, own_flows: u32) -> Result<Downloaded, Error> {
        let Some(terms) = self.read::<takt_crowd>(&self.terms)? else {
            return Ok(Downloaded::default());
        };
        let terms = takt_crowd_downloads {
            params: terms.params,
            group: group.sum(),
            period_ns: terms.period_ns,
            passed_ns: monotonic_ns(),
            ifindex: terms.ifindex,
            own_flows,
            ..Default::default()
        };
        self.write(&self.downloads, &terms, MapFlags::ANY)?;
        downloads::bound()?;
        forwarded::bound(self.netns_cookie())?;
        let found = self.read::<takt_crowd_downloads>(&self.downloads)?;
        Ok(found.map_or_else(Downloaded::default, |found| Downloaded {
            rate_bytes_ps: found.received_rate,
            flows: found.flows,
        }))
    }

    /// Give all downloads of this namespace back the windows that they had.
    pub fn free_downloads(&self) -> Result<(), Error> {
        self.delete(&self.downloads)?;
        forwarded::bound(self.netns_cookie())?;
        downloads::free()
    }

    /// How many downloads of this namespace's sockets have a bound, and how many of the hosts behind
    /// it, as of the last pass. Bounds on forwarded ones end when no pass follows.
    pub(super) fn bounded_downloads(&self) -> Result<(u32, u32), Error> {
        let Some(found) = self.read::<takt_crowd_downloads>(&self.downloads)? else {
            return Ok((0, 0));
        };
        let age_ns = monotonic_ns().saturating_sub(found.passed_ns);
        let is_stale = age_ns > u64::from(TAKT_FORWARDED_STALE_PERIODS) * found.period_ns;
        let forwarded = if is_stale { 0 } else { found.forwarded };
        Ok((found.bounded, forwarded))
    }

    /// Remove the bounds of this namespace's flows, which go on under CUBIC alone.
    pub fn leave(&self) -> Result<(), Error> {
        for map in [&self.terms, &self.groups, &self.terminals, &self.downloads] {
            self.delete(map)?;
        }
        self.forward_nothing()
    }

    /// From then on no new socket can choose it, in any namespace.
    pub fn unload(self) -> Result<(), Error> {
        self.pins.unload()
    }

    fn netns_cookie(&self) -> u64 {
        u64::from_ne_bytes(self.namespace)
    }

    fn read<T: Plain>(&self, map: &MapHandle) -> Result<Option<Box<T>>, Error> {
        let bytes = map
            .lookup(&self.namespace, MapFlags::ANY)
            .map_err(BpfError::of(
                "asking the congestion control of this namespace",
            ))?;
        Ok(bytes.and_then(|bytes| from_bytes(&bytes)))
    }

    fn delete(&self, map: &MapHandle) -> Result<(), Error> {
        match map.delete(&self.namespace) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(BpfError::of(TELLING)(error)),
            _ => Ok(()),
        }
    }

    /// Whether the flags allowed it.
    fn write<T: Plain>(&self, map: &MapHandle, value: &T, flags: MapFlags) -> Result<bool, Error> {
        match map.update(&self.namespace, to_bytes(value), flags) {
            Ok(()) => Ok(true),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) =>
            {
                Ok(false)
            }
            Err(error) => Err(BpfError::of(TELLING)(error)),
        }
    }
}

const TELLING: &str = "telling the congestion control of this namespace";
