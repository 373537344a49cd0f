//! What the congestion control is told of this network namespace, and what it has counted
//! there.

use libbpf_rs::{ErrorKind, MapCore, MapFlags, MapHandle};
use serde::Serialize;
use takt_algo::{
    Group, Plain, WindowTerms, from_bytes,
    sys::{TAKT_CROWD_STALE_PERIODS, takt_crowd, takt_crowd_group, takt_crowd_terminal},
    to_bytes,
};

use super::{moving, program};
use crate::{
    bpf::pins,
    error::Error,
    os::{clock::monotonic_ns, namespace::netns_cookie},
};

/// The loaded congestion control, by its pins, as the calling thread's network namespace
/// sees it.
pub struct Crowd {
    namespace: [u8; 8],
    terms: MapHandle,
    groups: MapHandle,
    terminals: MapHandle,
}

/// What flows on the device have come to; compare two, since counting goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Segments that arrived, times the flow's segment size.
    pub delivered_bytes: u64,
    /// One for each flow and each of its periods in which anything was acknowledged.
    pub flow_periods: u64,
    /// Of these, those in which the window held the flow back, not its application.
    pub limited_periods: u64,
    /// How long both of these took.
    pub passed_us: u64,
    /// Of `limited_periods` alone.
    pub limited_us: u64,
    /// Mean round trips of these, added up over those that had one to measure.
    pub rtt_sum_us: u64,
    /// The least that each of these flows has seen, added up likewise.
    pub rtt_min_sum_us: u64,
    /// How many periods are in the two sums.
    pub rtt_count: u64,
    /// Delivered, or lost.
    pub sent_segments: u64,
    /// As the kernel takes them for lost.
    pub lost_segments: u64,
}

impl Crowd {
    /// What an earlier takt loaded; `None` if there is none.
    pub fn open() -> Result<Option<Self>, Error> {
        Self::of(netns_cookie()?)
    }

    /// As another namespace sees it.
    pub(super) fn of(netns_cookie: u64) -> Result<Option<Self>, Error> {
        let (dir, true) = pins::dir(pins::CROWD)? else {
            return Ok(None);
        };
        let map = |name: &str| {
            MapHandle::from_pinned_path(dir.join(name)).map_err(Error::bpf("opening a pinned map"))
        };
        Ok(Some(Self {
            namespace: netns_cookie.to_ne_bytes(),
            terms: map("takt_crowd")?,
            groups: map("takt_crowd_groups")?,
            terminals: map("takt_crowd_terminals")?,
        }))
    }

    /// Load and register it. Until [`Self::enter`] it is CUBIC; sockets have to choose it.
    pub fn load() -> Result<Self, Error> {
        pins::appear(&pins::dir(pins::CROWD)?.0, program::register_and_pin)?;
        Self::open()?.ok_or(Error::NoBpffs { path: pins::MOUNT })
    }

    /// Verify every program against the running kernel, and leave nothing.
    pub(crate) fn verify() -> Result<(), Error> {
        program::verify()?;
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
        // What was heard and counted before stays.
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

    /// Of the terms in the kernel, if there are any.
    pub(super) fn generation(&self) -> Result<Option<u32>, Error> {
        let terms = self.read::<takt_crowd>(&self.terms)?;
        Ok(terms.map(|terms| terms.generation))
    }

    /// What was heard of the group just now, and how many flows of this terminal their windows
    /// hold back. It counts for three periods; after that, and for a group of nobody, each
    /// flow goes by its own round trips. Whether there are bounds at all (any more).
    pub fn set(&self, group: &Group, own_flows: u32) -> Result<bool, Error> {
        let heard = takt_crowd_group {
            sum: group.sum(),
            heard_ns: monotonic_ns(),
            own_flows,
        };
        self.write(&self.groups, &heard, MapFlags::EXIST)
    }

    /// What was set, if it still counts and there is anybody.
    pub(super) fn heard(&self, period_ns: u64) -> Result<Option<Group>, Error> {
        let heard = self.read::<takt_crowd_group>(&self.groups)?;
        let counts = |heard: &takt_crowd_group| {
            let age_ns = monotonic_ns().saturating_sub(heard.heard_ns);
            heard.sum.terminals > 0 && age_ns <= u64::from(TAKT_CROWD_STALE_PERIODS) * period_ns
        };
        let heard = heard.filter(|heard| counts(heard));
        Ok(heard.map(|heard| heard.sum.into()))
    }

    /// What has been counted; `None` if there are no bounds (any more).
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
            rtt_count: sum.rtt_count,
            sent_segments: sum.sent,
            lost_segments: sum.lost,
        }))
    }

    /// No bounds for flows of this namespace any more: they go on under CUBIC alone.
    pub fn leave(&self) -> Result<(), Error> {
        for map in [&self.terms, &self.groups, &self.terminals] {
            match map.delete(&self.namespace) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::bpf(TELLING)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// No new socket can choose it, in any namespace.
    pub fn unload(self) -> Result<(), Error> {
        pins::vanish(&pins::dir(pins::CROWD)?.0)
    }

    fn read<T: Plain>(&self, map: &MapHandle) -> Result<Option<Box<T>>, Error> {
        let bytes = map
            .lookup(&self.namespace, MapFlags::ANY)
            .map_err(Error::bpf(
                "asking the congestion control of this namespace",
            ))?;
        Ok(bytes.and_then(|bytes| from_bytes(&bytes)))
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
            Err(error) => Err(Error::bpf(TELLING)(error)),
        }
    }
}

const TELLING: &str = "telling the congestion control of this namespace";
