//! A terminal: what its flows do, what the neighbours report, and what the kernel is told.

use takt_algo::Group;
use takt_host::SignalMeter;
use takt_policy::{Crowd, CrowdRole};
use takt_wlan::{
    crowd::{Activity, Downloads, Meter, Network, Own, Radio, RadioMeter, Terminal as Core, Terms},
    sealed::DATAGRAM_MAX_BYTES,
};

use super::{
    LOOK_NS, POLLS_PER_INTERVAL,
    control::{Control, NO_BOUNDS},
    line::Line,
    memory::Memory,
    random,
};
use crate::{
    protocol::{Neighbour, Neighbourhood, Share, Strangers},
    service::Service,
};

/// Opens it anew, after a failure as well.
pub(super) type OpenControl = Box<dyn FnMut() -> Result<Box<dyn Control>, String>>;

pub(super) struct Terminal {
    crowd: Crowd,
    open_control: OpenControl,
    control: Option<Box<dyn Control>>,
    meter: Meter,
    signal: Option<SignalMeter>,
    radio_meter: RadioMeter,
    /// The wireless network's name, if it is known.
    ssid: Option<Vec<u8>>,
    memory: Memory,
    downloads: Downloads,
    talk: Option<(Line, Core)>,
    now_ns: u64,
    period_due_ns: u64,
    look_ns: u64,
    /// The result of the last look.
    looked: Result<(), String>,
}

impl Terminal {
    pub fn new(crowd: Crowd, open_control: OpenControl, memory: Memory) -> Self {
        Self {
            crowd,
            open_control,
            control: None,
            meter: Meter::default(),
            signal: None,
            radio_meter: RadioMeter::default(),
            ssid: None,
            memory,
            downloads: Downloads::default(),
            talk: None,
            now_ns: 0,
            period_due_ns: 0,
            look_ns: 0,
            looked: Ok(()),
        }
    }

    /// The device, its network and the table may have changed: use the current ones.
    fn look(&mut self, now_ns: u64) -> Result<(), String> {
        let found = ssid(&mut self.signal);
        let has_moved = found.is_some() && found != self.ssid;
        let device = &self.crowd.device;
        let gone = self
            .talk
            .take_if(|(line, _)| has_moved || !line.works_on(device));
        if let Some((_, core)) = gone {
            self.memory.leave(core.learned_bytes_ps());
        }
        self.control = Some((self.open_control)()?);
        if self.talk.is_none() {
            let (line, own) = Line::open(&self.crowd)?;
            // On a wire there is none, and nothing to look at.
            self.signal = SignalMeter::open(device).ok();
            self.radio_meter = RadioMeter::default();
            self.ssid = ssid(&mut self.signal);
            let network = match (&self.signal, &self.ssid) {
                (None, _) => Network::wired(&own.key, device),
                (Some(_), Some(ssid)) => Network::wireless(&own.key, ssid),
                (Some(_), None) => None,
            };
            let remembered_bytes_ps = self.memory.enter(network);
            let core = core(now_ns, &self.crowd, own, remembered_bytes_ps);
            self.talk = Some((line, core));
        }
        Ok(())
    }

    fn work(&mut self, now_ns: u64) -> Result<(), String> {
        if let Some((line, core)) = &mut self.talk {
            line.listener
                .poll(now_ns, |from, datagram| core.hear(now_ns, from, datagram));
        }
        if now_ns >= self.period_due_ns {
            // Late by less than a period: the next period ends as scheduled.
            let next_ns = self.period_due_ns + self.crowd.interval_ns;
            self.period_due_ns = if next_ns > now_ns {
                next_ns
            } else {
                now_ns + self.crowd.interval_ns
            };
            self.control(now_ns)?;
        }
        let Some((line, core)) = &mut self.talk else {
            return Ok(());
        };
        let mut datagram = [0; DATAGRAM_MAX_BYTES];
        match core.report(now_ns, random(), &mut datagram) {
            Some(sealed) => line.send(sealed),
            None => Ok(()),
        }
    }

    /// A period of the crowd's law is over.
    fn control(&mut self, now_ns: u64) -> Result<(), String> {
        let Some(control) = &self.control else {
            return Ok(());
        };
        let counts = control.counts()?.ok_or(NO_BOUNDS)?;
        let measured = self.meter.read(now_ns, counts);
        let activity = Activity {
            radio: radio(&mut self.signal, &mut self.radio_meter),
            ..measured.activity
        };
        let group = match &mut self.talk {
            Some((_, core)) => {
                let group = core.period(now_ns, activity);
                self.memory.see(now_ns, core.learned_bytes_ps());
                group
            }
            None => return Ok(()),
        };
        control.set(&group, measured.limited_flows.max(1).into())?;
        if self.crowd.downloads {
            let (of_downloads, own_flows) = self.downloads.terms(&group);
            let received = control.bound_downloads(&of_downloads, own_flows)?;
            self.downloads
                .received(&group, received.flows, received.rate_bytes_ps);
        }
        Ok(())
    }
}

/// What the device's radio does; nothing is known of a wire, or of a driver that does not count.
fn radio(signal: &mut Option<SignalMeter>, meter: &mut RadioMeter) -> Radio {
    let sent = signal
        .as_mut()
        .and_then(|signal| signal.sent().ok().flatten());
    match sent {
        Some(sent) => meter.read(sent.frames, sent.retries, sent.phy_bps),
        None => Radio::default(),
    }
}

/// The name of the wireless network that the device is in now.
fn ssid(signal: &mut Option<SignalMeter>) -> Option<Vec<u8>> {
    signal
        .as_mut()
        .and_then(|signal| signal.ssid().ok().flatten())
}

fn core(now_ns: u64, crowd: &Crowd, own: Own, remembered_bytes_ps: u64) -> Core {
    let aggregator = match crowd.role {
        CrowdRole::Aggregated { by } => Some(by),
        CrowdRole::Multicast | CrowdRole::Aggregator => None,
    };
    let terms = Terms {
        aggregator,
        remembered_bytes_ps,
        ..Terms::default()
    };
    Core::new(now_ns, own, terms, random())
}

impl Service<Neighbourhood> for Terminal {
    fn step(&mut self, now_ns: u64) -> (u64, Result<(), String>) {
        self.now_ns = now_ns;
        if now_ns >= self.look_ns {
            self.look_ns = now_ns + LOOK_NS;
            self.looked = self.look(now_ns);
        }
        let worked = self.work(now_ns);
        let polled_ns = now_ns + self.crowd.interval_ns / POLLS_PER_INTERVAL;
        let due_ns = self
            .talk
            .as_ref()
            .map_or(polled_ns, |(_, core)| core.due_ns());
        let next_ns = polled_ns.min(self.period_due_ns).min(due_ns);
        (
            next_ns.max(now_ns + 1_000_000),
            self.looked.clone().and(worked),
        )
    }

    fn said(&self) -> Option<Neighbourhood> {
        let (line, core) = self.talk.as_ref()?;
        let neighbours = core.members();
        Some(Neighbourhood {
            reports_sent: line.sent,
            report_interval_ms: core.report_interval_ns() / 1_000_000,
            share: Some(Share {
                remembered_bytes_ps: core.remembered_bytes_ps(),
                ..Share::new(core.activity(), core.group())
            }),
            neighbours: neighbours
                .map(|(number, member)| Neighbour::new(self.now_ns, number, member))
                .collect(),
            datagrams: core.datagrams(line.listener.dropped()),
            strangers: core.strangers().map(Strangers::from),
            ..Neighbourhood::new(&self.crowd)
        })
    }

    /// Tell the others at once that this terminal ends, and let flows go by their own round
    /// trips.
    fn end(&mut self) {
        if let Some((line, core)) = &mut self.talk {
            let mut datagram = [0; DATAGRAM_MAX_BYTES];
            if let Some(sealed) = core.leave(&mut datagram) {
                let _ = line.send(sealed);
            }
            self.memory.leave(core.learned_bytes_ps());
        }
        if let Some(control) = &self.control {
            let _ = control.set(&Group::default(), 1);
            if self.crowd.downloads {
                let _ = control.free_downloads();
            }
        }
    }
}

#[cfg(test)]
mod tests;
