//! This host as an access point that thins acknowledgements: it counts the terminals that upload
//! through its link and belong to no group, and pauses thinning where rates fall as stations
//! contend.

use std::time::Duration;

use takt_host::{SignalMeter, thinning::ThinningLink};
use takt_wlan::crowd::{Aggregator, Contention, STATIONS_NS, StrangerCounter, Strangers};
use tracing::info;

use super::LOOK_NS;
use crate::{protocol::Neighbourhood, service::Service};

/// How often uploads are looked at.
const COUNT_NS: u64 = 200_000_000;

/// This host, as the access point of its group.
pub(super) struct AccessPoint {
    device: String,
    /// `None`: there is no link, or one on a backend that reads no acknowledgements.
    link: Option<ThinningLink>,
    /// `None`: the device is not wireless, or its driver does not answer.
    driver: Option<SignalMeter>,
    counter: StrangerCounter,
    contention: Contention,
    count_due_ns: u64,
    stations_due_ns: u64,
    is_paused: bool,
}

impl AccessPoint {
    /// Of the stations behind this device.
    pub fn on(device: &str) -> Self {
        Self {
            device: device.to_owned(),
            link: None,
            driver: None,
            counter: StrangerCounter::default(),
            contention: Contention::default(),
            count_due_ns: 0,
            stations_due_ns: 0,
            is_paused: false,
        }
    }

    /// The link may have changed: use the current one.
    pub fn look(&mut self) -> Result<(), String> {
        if self.link.as_ref().is_none_or(|link| !link.stand()) {
            let opened = ThinningLink::open(&self.device).map_err(|error| error.to_string());
            self.link = opened?;
            self.driver = SignalMeter::open(&self.device).ok();
        }
        Ok(())
    }

    /// Counts who uploads beside this aggregator's members, and hears the members' radios, a few
    /// times a second.
    pub fn count(&mut self, now_ns: u64, aggregator: &mut Aggregator) {
        if now_ns < self.count_due_ns {
            return;
        }
        self.count_due_ns = now_ns + COUNT_NS;
        let link = self.link.as_ref().filter(|link| link.stand());
        let strangers = match link {
            Some(link) => self.counter.look(
                now_ns,
                &link.uploads(),
                aggregator.members(),
                aggregator.interval_ns(),
            ),
            None => {
                self.counter = StrangerCounter::default();
                Strangers::default()
            }
        };
        aggregator.count_strangers(strangers);
        let members = aggregator.members();
        let active = members.map(|(number, member)| (number, member.activity));
        self.contention.hear(now_ns, active);
        self.pause(now_ns);
    }

    /// Looks at the rates at which stations send, once a second.
    pub fn watch(&mut self, now_ns: u64) {
        if now_ns < self.stations_due_ns {
            return;
        }
        self.stations_due_ns = now_ns + STATIONS_NS;
        let Some(driver) = &mut self.driver else {
            return;
        };
        match driver.received() {
            Ok(received) => self.contention.look(now_ns, &received),
            // Both are opened anew at the next look.
            Err(_) => (self.link, self.driver) = (None, None),
        }
        self.pause(now_ns);
    }

    /// The kernel's pause runs out by itself, so that a taktd that dies leaves none for good.
    fn pause(&mut self, now_ns: u64) {
        let pause = Duration::from_nanos(self.contention.pause_ns(now_ns));
        let was_paused = std::mem::replace(&mut self.is_paused, !pause.is_zero());
        let Some(link) = self.link.as_ref().filter(|_| self.is_paused) else {
            return;
        };
        link.pause_for(pause);
        if !was_paused {
            info!(
                "acknowledgements to {} are not thinned for {} s: rates fall as stations contend",
                self.device,
                pause.as_secs()
            );
        }
    }
}

/// An access point that is not its group's aggregator, and so hears no reports: it watches its
/// stations alone.
pub(super) struct Watch {
    access_point: AccessPoint,
    look_ns: u64,
    looked: Result<(), String>,
}

impl Watch {
    /// Of the stations behind this device.
    pub fn on(device: &str) -> Self {
        Self {
            access_point: AccessPoint::on(device),
            look_ns: 0,
            looked: Ok(()),
        }
    }
}

impl Service<Neighbourhood> for Watch {
    fn step(&mut self, now_ns: u64) -> (u64, Result<(), String>) {
        if now_ns >= self.look_ns {
            self.look_ns = now_ns + LOOK_NS;
            self.looked = self.access_point.look();
        }
        self.access_point.watch(now_ns);
        (now_ns + STATIONS_NS, self.looked.clone())
    }
}
