//! The aggregator: terminals send it their reports.

use takt_policy::Crowd;
use takt_wlan::crowd::Aggregator as Core;

use super::{LOOK_NS, POLLS_PER_INTERVAL, access_point::AccessPoint, line::Line, random};
use crate::{
    protocol::{Neighbour, Neighbourhood, Strangers},
    service::Service,
};

pub(super) struct Aggregator {
    crowd: Crowd,
    /// `None`: this host is none.
    access_point: Option<AccessPoint>,
    talk: Option<(Line, Core)>,
    now_ns: u64,
    look_ns: u64,
    /// The result of the last look.
    looked: Result<(), String>,
}

impl Aggregator {
    pub fn new(crowd: Crowd, access_point: Option<AccessPoint>) -> Self {
        Self {
            crowd,
            access_point,
            talk: None,
            now_ns: 0,
            look_ns: 0,
            looked: Ok(()),
        }
    }

    /// The device and its link may have changed: use the current ones.
    fn look(&mut self, now_ns: u64) -> Result<(), String> {
        let device = &self.crowd.device;
        self.talk.take_if(|(line, _)| !line.works_on(device));
        if self.talk.is_none() {
            let (line, own) = Line::open(&self.crowd)?;
            self.talk = Some((line, Core::new(now_ns, own, random())));
        }
        match &mut self.access_point {
            Some(access_point) => access_point.look(),
            None => Ok(()),
        }
    }

    fn work(&mut self, now_ns: u64) -> Result<(), String> {
        let Some((line, core)) = &mut self.talk else {
            return Ok(());
        };
        line.listener
            .poll(now_ns, |from, datagram| core.hear(now_ns, from, datagram));
        if let Some(access_point) = &mut self.access_point {
            access_point.count(now_ns, core);
            access_point.watch(now_ns);
        }
        let mut result = Ok(());
        core.tell(now_ns, random(), |datagram| {
            let sent = line.send(datagram);
            result = std::mem::replace(&mut result, Ok(())).and(sent);
        });
        result
    }
}

impl Service<Neighbourhood> for Aggregator {
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
        (
            polled_ns.min(due_ns).max(now_ns + 1_000_000),
            self.looked.clone().and(worked),
        )
    }

    fn said(&self) -> Option<Neighbourhood> {
        let (line, core) = self.talk.as_ref()?;
        let neighbours = core.members();
        Some(Neighbourhood {
            reports_sent: line.sent,
            report_interval_ms: core.interval_ns() / 1_000_000,
            neighbours: neighbours
                .map(|(number, member)| Neighbour::new(self.now_ns, number, member))
                .collect(),
            datagrams: core.datagrams(line.listener.dropped()),
            strangers: self
                .access_point
                .as_ref()
                .map(|_| Strangers::from(core.strangers())),
            ..Neighbourhood::new(&self.crowd)
        })
    }
}
