//! The line of a link in force, if its rate changes: what it carries, and the rate that it has for
//! now (algo/line_rate.h). The rate lies in the link's own memory and is read by the kernel in
//! place, so setting it is no system call.

use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use serde::Serialize;
use takt_algo::sys::{
    TAKT_LINE_DRAINING, TAKT_LINE_HELD, TAKT_LINE_IDLE, TAKT_LINE_LOWERED, TAKT_LINE_RAISED,
    TAKT_LINE_UNHEARD, takt_line_rate,
};

use crate::{
    error::Error,
    link::{
        memory::PortMemory,
        named::{self, Found},
    },
    os::{
        OsError, capability, clock,
        netlink::{Netlink, Traffic},
    },
};

/// Why a line has the rate that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LineReason {
    /// By the policy: nothing is measured, or its time is over.
    Base,
    /// Nothing speaks for another one.
    Held,
    /// It is used up, and delay does not grow.
    Raised,
    /// Delay has grown.
    Lowered,
    /// The line's queue is not empty yet.
    Draining,
    /// Little is sent: it returns to the base.
    Idle,
    /// No reflector answers: likewise.
    Unheard,
}

impl LineReason {
    fn number(self) -> u32 {
        match self {
            Self::Base | Self::Held => TAKT_LINE_HELD,
            Self::Raised => TAKT_LINE_RAISED,
            Self::Lowered => TAKT_LINE_LOWERED,
            Self::Draining => TAKT_LINE_DRAINING,
            Self::Idle => TAKT_LINE_IDLE,
            Self::Unheard => TAKT_LINE_UNHEARD,
        }
    }

    fn from_number(number: u32) -> Self {
        match number {
            TAKT_LINE_RAISED => Self::Raised,
            TAKT_LINE_LOWERED => Self::Lowered,
            TAKT_LINE_DRAINING => Self::Draining,
            TAKT_LINE_IDLE => Self::Idle,
            TAKT_LINE_UNHEARD => Self::Unheard,
            _ => Self::Held,
        }
    }

    /// In a sentence about the rate.
    pub fn text(self) -> &'static str {
        match self {
            Self::Base => "the base: nothing measures the line",
            Self::Held => "kept",
            Self::Raised => "raised: it is used up, and delay does not grow",
            Self::Lowered => "lowered: delay has grown",
            Self::Draining => "lowered until the line's queue is empty",
            Self::Idle => "on its way to the base: little is sent",
            Self::Unheard => "on its way to the base: no reflector answers",
        }
    }
}

/// A line that changes, in `takt status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineStatus {
    /// The least that the policy allows.
    pub rate_min_bps: u64,
    /// The most.
    pub rate_max_bps: u64,
    /// Why the rate is what it is.
    pub reason: LineReason,
    /// The delay that the line's queue adds, as measured last.
    pub added_delay_ns: u64,
}

/// What counts in a link's memory now: its rate, and the line's state if it changes.
pub(crate) fn status(port: &PortMemory, plan_bps: u64) -> (u64, Option<LineStatus>) {
    let Some(bounds) = port.line_bounds_bps() else {
        return (plan_bps, None);
    };
    let line = port.line_rate();
    let counts = line.bps != 0 && clock::monotonic_ns() < line.until_ns;
    let (rate_bps, reason, added_delay_ns) = if counts {
        (line.bps, LineReason::from_number(line.why), line.added_ns)
    } else {
        (plan_bps, LineReason::Base, 0)
    };
    let status = LineStatus {
        rate_min_bps: *bounds.start(),
        rate_max_bps: *bounds.end(),
        reason,
        added_delay_ns,
    };
    (rate_bps, Some(status))
}

/// A rate, and why it is that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRate {
    /// Bits per second on the wire.
    pub bps: u64,
    /// What is shown of it.
    pub reason: LineReason,
    /// Likewise.
    pub added_ns: u64,
}

/// A link whose rate may be set.
pub struct Line {
    port: Arc<PortMemory>,
}

impl Line {
    /// The one on a device; `None` if there is no such device in this network namespace, or
    /// takt's qdisc is not on it.
    ///
    /// # Errors
    /// Privileges are missing, or the kernel refuses.
    pub fn open(device: &str) -> Result<Option<Self>, Error> {
        capability::require()?;
        Ok(match named::find(device)? {
            Found::Link(port) => Some(Self { port }),
            Found::NoDevice | Found::NoLink => None,
        })
    }

    /// Whether the link still exists. If not, open it anew.
    pub fn stand(&self) -> bool {
        self.port.is_attached()
    }

    /// By the plan in force; `None`: its rate is fixed.
    pub fn bounds_bps(&self) -> Option<RangeInclusive<u64>> {
        self.port.line_bounds_bps()
    }

    /// The rate that was set and still counts.
    pub fn rate_bps(&self) -> Option<u64> {
        let line = self.port.line_rate();
        (line.bps != 0 && clock::monotonic_ns() < line.until_ns).then_some(line.bps)
    }

    /// The line has this rate for so long, and then the policy's, whatever becomes of this process.
    pub fn set(&self, rate: &LineRate, lasts: Duration) {
        let lasts_ns = u64::try_from(lasts.as_nanos()).unwrap_or(u64::MAX);
        self.port.set_line_rate(&takt_line_rate {
            bps: rate.bps,
            until_ns: clock::monotonic_ns().saturating_add(lasts_ns),
            added_ns: rate.added_ns,
            why: rate.reason.number(),
            pad: 0,
        });
    }
}

/// Counts what a device sends and receives.
pub struct LineMeter {
    netlink: Netlink,
    device: String,
}

impl LineMeter {
    /// Of the device of this name.
    ///
    /// # Errors
    /// The kernel refuses a socket.
    pub fn open(device: &str) -> Result<Self, Error> {
        let netlink = Netlink::open().map_err(OsError::netlink("opening a route socket"))?;
        Ok(Self {
            netlink,
            device: device.to_owned(),
        })
    }

    /// The counters as they are; `None`: there is no such device.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn read(&mut self) -> Result<Option<Traffic>, Error> {
        let read = Traffic::of_device(&mut self.netlink, &self.device);
        read.map_err(OsError::netlink("reading a device's counters"))
    }
}
