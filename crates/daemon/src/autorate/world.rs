//! The host's part of a line: links, counters and sockets.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use nix::time::{ClockId, clock_gettime};
use takt_autorate::{Answer, Both, Rates, Verdict, Why};
use takt_host::{
    line::{Line, LineMeter, LineRate, LineReason},
    present_name,
};

use super::{
    line::{Count, Terms, Way, World},
    probes::Probes,
};

/// What is open of a line.
pub(super) struct Host {
    terms: Terms,
    lines: Both<Option<Line>>,
    meter: Option<LineMeter>,
    probes: Option<Probes>,
    /// What the probes are bound to: a device that is back is another one.
    bound_to: u32,
}

impl Host {
    /// Nothing yet.
    pub fn new(terms: &Terms) -> Self {
        Self {
            terms: terms.clone(),
            lines: Both::default(),
            meter: None,
            probes: None,
            bound_to: 0,
        }
    }

    fn meter(&mut self) -> Result<&mut LineMeter, String> {
        let opened = match self.meter.take() {
            Some(meter) => meter,
            None => LineMeter::open(&self.terms.device).map_err(|error| error.to_string())?,
        };
        Ok(self.meter.insert(opened))
    }
}

fn open(way: &Option<Way>, line: &mut Option<Line>) -> Result<(), String> {
    let Some(way) = way else {
        return Ok(());
    };
    if line.as_ref().is_none_or(|line| !line.stand()) {
        *line = Line::open(&way.link).map_err(|error| error.to_string())?;
    }
    Ok(())
}

impl World for Host {
    fn now_ns(&self) -> u64 {
        let now = clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from);
        u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
    }

    fn look(&mut self) -> Result<(), String> {
        open(&self.terms.up, &mut self.lines.up)?;
        open(&self.terms.down, &mut self.lines.down)?;
        let device = self.terms.device.clone();
        let present = present_name(&device).map_err(|error| error.to_string())?;
        let present = present.ok_or_else(|| format!("there is no device {device}"))?;
        let index = nix::net::if_::if_nametoindex(&*present)
            .map_err(|_| format!("there is no device {device}"))?;
        if self.probes.is_none() || index != self.bound_to {
            let opened = Probes::open(&present, &self.terms.reflectors);
            let opened = opened.map_err(|error| format!("asking by {device}: {error}"))?;
            self.probes = Some(opened);
            self.bound_to = index;
        }
        Ok(())
    }

    fn rates_bps(&self) -> Both<Option<u64>> {
        let rate = |line: &Option<Line>| line.as_ref()?.rate_bps();
        Both {
            up: rate(&self.lines.up),
            down: rate(&self.lines.down),
        }
    }

    fn ask(&mut self, reflector: usize, now_ns: u64) -> Result<(), String> {
        let Some(probes) = &mut self.probes else {
            return Ok(());
        };
        let asked = probes.ask(reflector, now_ns);
        asked.map_err(|error| {
            self.probes = None;
            format!("asking by {}: {error}", self.terms.device)
        })
    }

    fn answers(&mut self, now_ns: u64) -> Vec<Answer> {
        let probes = self.probes.as_mut();
        probes.map_or_else(Vec::new, |probes| probes.answers(now_ns))
    }

    fn count(&mut self) -> Result<Option<Count>, String> {
        let read = self.meter()?.read();
        let traffic = read.map_err(|error| {
            self.meter = None;
            error.to_string()
        })?;
        Ok(traffic.map(|traffic| Count {
            device: traffic.index,
            packets: Both {
                up: traffic.sent_packets,
                down: traffic.received_packets,
            },
            bytes: Both {
                up: traffic.sent_bytes,
                down: traffic.received_bytes,
            },
        }))
    }

    fn set(&mut self, rates: &Rates, lasts: Duration) {
        let set = |line: &Option<Line>, verdict: Option<Verdict>| {
            let Some((line, verdict)) = line.as_ref().zip(verdict) else {
                return;
            };
            // A policy that is being replaced may have other bounds already.
            if line
                .bounds_bps()
                .is_some_and(|bounds| bounds.contains(&verdict.rate_bps))
            {
                line.set(&rate(&verdict), lasts);
            }
        };
        set(&self.lines.up, rates.up);
        set(&self.lines.down, rates.down);
    }
}

fn rate(verdict: &Verdict) -> LineRate {
    LineRate {
        bps: verdict.rate_bps,
        reason: match verdict.why {
            Why::Held => LineReason::Held,
            Why::Raised => LineReason::Raised,
            Why::Lowered => LineReason::Lowered,
            Why::Draining => LineReason::Draining,
            Why::Idle => LineReason::Idle,
            Why::Unheard => LineReason::Unheard,
        },
        added_ns: verdict.added_ns,
    }
}

/// Seeded by the system for each call.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(0)
}
