//! Access to the air, one event after another. Idle slots are counted, not simulated one by
//! one.

use crate::{Direction, Medium, NodeId, Receiver, frames::Transmission, link::LinkState};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Idle,
    /// Frames are on the air since `first_ns` and until `end_ns`.
    Data {
        first_ns: u64,
        /// Nodes hear it only after a slot has passed (a slot is as long as hearing and turning
        /// around takes): a node that starts within it collides.
        is_heard: bool,
        end_ns: u64,
    },
    /// An acknowledgement to the only sender follows.
    Ack {
        end_ns: u64,
        sender: usize,
    },
}

impl Phase {
    pub fn sounds_idle(self) -> bool {
        matches!(
            self,
            Phase::Idle
                | Phase::Data {
                    is_heard: false,
                    ..
                }
        )
    }
}

enum Event {
    Start(usize),
    Heard,
    DataEnd,
    AckEnd,
    Timeout(usize),
}

impl Medium {
    /// Processes all events up to `now_ns`.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        while let Some((at_ns, event)) = self.next_event()
            && at_ns <= now_ns
        {
            self.now_ns = self.now_ns.max(at_ns);
            match event {
                Event::Start(index) => self.start(index),
                Event::Heard => self.hear(),
                Event::DataEnd => self.end_data(),
                Event::AckEnd => self.end_ack(),
                Event::Timeout(index) => self.time_out(index),
            }
        }
        self.now_ns = self.now_ns.max(now_ns);
    }

    fn next_event(&self) -> Option<(u64, Event)> {
        let timeout = self
            .next_timeout()
            .map(|(at_ns, index)| (at_ns, Event::Timeout(index)));
        let air = match self.phase {
            Phase::Idle => self
                .next_start()
                .map(|(at_ns, index)| (at_ns, Event::Start(index))),
            Phase::Data {
                first_ns,
                is_heard: false,
                ..
            } => {
                let heard_ns = first_ns + self.profile.slot_ns;
                match self.next_start() {
                    Some((at_ns, index)) if at_ns < heard_ns => Some((at_ns, Event::Start(index))),
                    _ => Some((heard_ns, Event::Heard)),
                }
            }
            Phase::Data { end_ns, .. } => Some((end_ns, Event::DataEnd)),
            Phase::Ack { end_ns, .. } => Some((end_ns, Event::AckEnd)),
        };
        match (timeout, air) {
            (Some(timeout), Some(air)) => Some(if timeout.0 <= air.0 { timeout } else { air }),
            (timeout, air) => timeout.or(air),
        }
    }

    /// Earliest time at which an action can come, without further inputs: a frame's end, not
    /// its start.
    pub(crate) fn next_outcome_ns(&self) -> Option<u64> {
        let timeout_ns = self.next_timeout().map(|(at_ns, _)| at_ns);
        let air_ns = match self.phase {
            Phase::Idle => self.next_start().map(|(at_ns, index)| {
                at_ns.max(self.now_ns) + self.attempt(index, at_ns).1.airtime_ns
            }),
            Phase::Data { end_ns, .. } | Phase::Ack { end_ns, .. } => Some(end_ns),
        };
        match (timeout_ns, air_ns) {
            (Some(timeout_ns), Some(air_ns)) => Some(timeout_ns.min(air_ns)),
            (timeout_ns, air_ns) => timeout_ns.or(air_ns),
        }
    }

    fn next_start(&self) -> Option<(u64, usize)> {
        let slot_ns = self.profile.slot_ns;
        let waiting = self
            .nodes
            .iter()
            .enumerate()
            .filter(|(index, _)| !self.sends(*index));
        waiting
            .filter_map(|(index, node)| Some((node.access_ns(slot_ns)?, index)))
            .min()
    }

    fn next_timeout(&self) -> Option<(u64, usize)> {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter_map(|(index, node)| Some((node.timeout_ns?, index)))
            .min()
    }

    fn sends(&self, index: usize) -> bool {
        self.senders.contains(&index)
    }

    /// The rate of a node's next attempt, and what it takes.
    fn attempt(&self, index: usize, now_ns: u64) -> (usize, Transmission) {
        let node = &self.nodes[index];
        let failures = node.hand.map_or(0, |hand| hand.failures);
        let rate = match self.peer(index) {
            Some(station) => {
                let link = self.nodes[station].link(direction(index));
                let by_snr = || self.rate_by_snr(station, now_ns);
                link.control.attempt(failures).unwrap_or_else(by_snr)
            }
            None => self.profile.slowest_basic(),
        };
        (rate, node.frames.fit(&self.profile, rate))
    }

    pub(crate) fn rate_by_snr(&self, station: usize, now_ns: u64) -> usize {
        let snr_centidb = self.nodes[station].channel.path.snr_centidb(now_ns);
        let enough = |&needed: &i32| needed <= snr_centidb;
        self.needed_snr_centidb
            .iter()
            .rposition(enough)
            .unwrap_or_default()
    }

    /// The station whose channel a node's frame uses; `None` for a broadcast.
    pub(crate) fn peer(&self, index: usize) -> Option<usize> {
        if index != usize::from(Self::ACCESS_POINT.0) {
            return Some(index);
        }
        match self.nodes[index].hand?.to {
            Receiver::Node(station) => Some(usize::from(station.0)),
            Receiver::Everyone => None,
        }
    }

    /// The link that a node's frame uses; `None` for a broadcast.
    pub(crate) fn link_of(&mut self, index: usize) -> Option<&mut LinkState> {
        let station = self.peer(index)?;
        Some(self.nodes[station].link_mut(direction(index)))
    }

    fn start(&mut self, index: usize) {
        let now_ns = self.now_ns;
        let (rate, fit) = self.attempt(index, now_ns);
        let airtime_ns = fit.airtime_ns;
        let peer = self.peer(index);
        let node = &mut self.nodes[index];
        node.start();
        if let Some(hand) = &mut node.hand {
            hand.rate = rate;
            hand.end_ns = now_ns + airtime_ns;
        }
        let fresh = node.frames.start(fit);
        if let Some(station) = peer {
            let air = &mut self.nodes[station].air;
            air.attempts += 1;
            air.busy_ns += airtime_ns;
            let figures = &mut self.nodes[station].link_mut(direction(index)).figures;
            figures.frames += fresh as u64;
            figures.retries += (fit.frames - fresh) as u64;
        }
        self.senders.push(index);
        self.phase = match self.phase {
            Phase::Data {
                first_ns,
                is_heard,
                end_ns,
            } => Phase::Data {
                first_ns,
                is_heard,
                end_ns: end_ns.max(now_ns + airtime_ns),
            },
            _ => Phase::Data {
                first_ns: now_ns,
                is_heard: false,
                end_ns: now_ns + airtime_ns,
            },
        };
    }

    fn hear(&mut self) {
        if let Phase::Data {
            first_ns, is_heard, ..
        } = &mut self.phase
        {
            *is_heard = true;
            for (index, node) in self.nodes.iter_mut().enumerate() {
                if !self.senders.contains(&index) {
                    node.freeze(*first_ns, &self.profile);
                }
            }
        }
    }
}

/// The direction of a node's frames.
fn direction(sender: usize) -> Direction {
    match NodeId(sender as u16) {
        Medium::ACCESS_POINT => Direction::Down,
        _ => Direction::Up,
    }
}
