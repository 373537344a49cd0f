//! Outcomes of transmissions: received, answered, repeated or dropped.

use crate::{Action, Medium, NodeId, Outcome, exchange::Phase, frames::InHand};

impl Medium {
    pub(crate) fn end_data(&mut self) {
        if let Phase::Data { first_ns, .. } = std::mem::replace(&mut self.phase, Phase::Idle) {
            self.busy_ns += self.now_ns - first_ns;
        }
        match self.senders[..] {
            [sender] => self.end_alone(sender),
            _ => self.end_collision(),
        }
    }

    fn end_collision(&mut self) {
        self.clear_after(self.profile.eifs_ns());
        let senders = std::mem::take(&mut self.senders);
        for &index in &senders {
            let peer = self.peer(index);
            if let Some(station) = peer {
                self.nodes[station].air.collisions += 1;
            }
            if peer.is_some() && self.profile.acknowledged {
                self.await_timeout(index);
            } else {
                self.finish(index);
            }
        }
        self.keep(senders);
    }

    fn end_alone(&mut self, sender: usize) {
        match self.peer(sender) {
            Some(station) => self.end_unicast(sender, station),
            None => self.end_broadcast(sender),
        }
    }

    fn end_broadcast(&mut self, sender: usize) {
        self.senders.clear();
        self.clear_after(self.profile.difs_ns);
        let Some(frame) = self.nodes[sender].frames.get(0).map(|first| first.frame) else {
            return;
        };
        for station in 1..self.nodes.len() {
            if self.carries(sender, station, frame.bytes) {
                self.deliver(sender, station, frame.token);
            } else {
                self.nodes[station].clear_ns = self.now_ns + self.profile.eifs_ns();
            }
        }
        self.finish(sender);
    }

    fn end_unicast(&mut self, sender: usize, station: usize) {
        let receiver = self.receiver(sender);
        let is_read = self.receive(sender, receiver, station);
        if !is_read {
            self.nodes[station].air.losses += 1;
        }
        if !self.profile.acknowledged {
            self.senders.clear();
            self.clear_after(self.profile.difs_ns);
            return self.finish(sender);
        }
        let frames = self.nodes[sender].frames.on_air().count();
        let rate = self.nodes[sender].hand.map_or(0, |hand| hand.rate);
        let answer_ns = self.profile.sifs_ns + self.profile.answer_ns(rate, frames);
        if is_read {
            self.busy_ns += answer_ns;
            self.nodes[station].air.busy_ns += answer_ns;
            self.nodes[sender].frames.answer(answer_ns);
            self.phase = Phase::Ack {
                end_ns: self.now_ns + answer_ns,
                sender,
            };
        } else {
            self.senders.clear();
            // The other nodes could read it and leave time for its answer.
            let reserved_ns = self.profile.nav_ns(answer_ns) + self.profile.difs_ns;
            self.clear_after(reserved_ns);
            self.nodes[receiver].clear_ns = self.now_ns + self.profile.eifs_ns();
            self.await_timeout(sender);
        }
    }

    /// The receiver of a node's frames, which are no broadcast.
    fn receiver(&self, sender: usize) -> usize {
        let access_point = usize::from(Self::ACCESS_POINT.0);
        if sender == access_point {
            self.peer(sender).unwrap_or(access_point)
        } else {
            access_point
        }
    }

    /// Whether `receiver` could read any of the frames that `sender` has just sent over the
    /// channel of `station`. It passes them on in order.
    fn receive(&mut self, sender: usize, receiver: usize, station: usize) -> bool {
        let mut is_read = false;
        for index in 0..self.nodes[sender].frames.len() {
            let frame = self.nodes[sender].frames.get(index);
            let Some(bytes) = frame
                .filter(|frame| frame.is_on_air)
                .map(|frame| frame.frame.bytes)
            else {
                continue;
            };
            if self.carries(sender, station, bytes) {
                is_read = true;
                if let Some(frame) = self.nodes[sender].frames.get_mut(index) {
                    frame.is_received = true;
                }
            }
        }
        self.deliver_in_order(sender, receiver);
        is_read
    }

    /// Whether a frame of this length, which has just been sent, can be read.
    fn carries(&mut self, sender: usize, station: usize, bytes: u32) -> bool {
        let rate = self.nodes[sender].hand.map_or(0, |hand| hand.rate);
        let rate = &self.profile.rates[rate];
        let bytes = self.profile.air_bytes(bytes);
        self.nodes[station]
            .channel
            .carries(self.now_ns, rate, bytes)
    }

    fn deliver_in_order(&mut self, sender: usize, receiver: usize) {
        while let Some(frame) = self.nodes[sender].frames.deliver() {
            self.deliver(sender, receiver, frame.token);
        }
    }

    fn deliver(&mut self, sender: usize, receiver: usize, token: u64) {
        self.actions.push_back(Action::Deliver {
            at_ns: self.now_ns,
            from: NodeId(sender as u16),
            to: NodeId(receiver as u16),
            token,
        });
    }

    pub(crate) fn end_ack(&mut self) {
        let Phase::Ack { sender, .. } = self.phase else {
            return;
        };
        self.phase = Phase::Idle;
        self.senders.clear();
        self.clear_after(self.profile.difs_ns);
        let now_ns = self.now_ns;
        let (Some(station), Some(hand)) = (self.peer(sender), self.nodes[sender].hand) else {
            return;
        };
        let rate = &self.profile.rates[self.profile.ack_rate(hand.rate)];
        let frames = self.nodes[sender].frames.on_air().count();
        let bytes = self.profile.answer_bytes(frames);
        let is_read = self.nodes[station].channel.carries(now_ns, rate, bytes);
        if is_read {
            self.end_attempt(sender, true);
            self.settle(sender);
            self.nodes[sender].succeed(&self.profile);
            self.begin(sender);
        } else {
            self.fail(sender, self.profile.eifs_ns());
        }
    }

    /// Only the sender waits for an answer that does not come.
    fn await_timeout(&mut self, index: usize) {
        let now_ns = self.now_ns;
        let timeout_ns = self.profile.ack_timeout_ns();
        let node = &mut self.nodes[index];
        let end_ns = node.hand.map_or(now_ns, |hand| hand.end_ns);
        node.timeout_ns = Some((end_ns + timeout_ns).max(now_ns));
        node.clear_ns = now_ns;
    }

    pub(crate) fn time_out(&mut self, index: usize) {
        self.fail(index, self.profile.difs_ns);
    }

    /// An attempt failed; the node goes on after `space_ns` from now.
    fn fail(&mut self, index: usize, space_ns: u64) {
        self.end_attempt(index, false);
        let node = &mut self.nodes[index];
        node.clear_ns = node.clear_ns.max(self.now_ns + space_ns);
        if self.settle(index) {
            self.nodes[index].succeed(&self.profile);
            self.begin(index);
        } else {
            self.nodes[index].fail(&self.profile);
        }
    }

    /// The sender knows what became of its attempt.
    fn end_attempt(&mut self, index: usize, is_answered: bool) {
        let node = &mut self.nodes[index];
        let Some(hand) = node.hand else {
            return;
        };
        let sent = node.frames.on_air().count();
        let acknowledged = node.frames.end(is_answered);
        if let Some(link) = self.link_of(index) {
            link.control
                .sent(hand.failures, sent as u32, acknowledged as u32);
        }
    }

    /// Reports the frames that are finished; returns whether there were any.
    fn settle(&mut self, index: usize) -> bool {
        let attempts_max = self.profile.attempts_max;
        let mut is_any = false;
        while let Some((frame, outcome)) = self.nodes[index].frames.finish(attempts_max) {
            is_any = true;
            self.report(index, frame, outcome);
            if outcome == Outcome::Dropped
                && let Some(link) = self.link_of(index)
            {
                link.figures.dropped += 1;
                // Its receiver waited for it.
                let receiver = self.receiver(index);
                self.deliver_in_order(index, receiver);
            }
        }
        is_any
    }

    /// A frame without acknowledgements is finished.
    fn finish(&mut self, index: usize) {
        if let Some(frame) = self.nodes[index].frames.pop() {
            self.report(index, frame, Outcome::Unacknowledged);
        }
        self.nodes[index].succeed(&self.profile);
    }

    fn report(&mut self, index: usize, frame: InHand, outcome: Outcome) {
        self.actions.push_back(Action::Done {
            at_ns: self.now_ns,
            from: NodeId(index as u16),
            token: frame.frame.token,
            outcome,
            air_ns: frame.air_ns,
        });
    }

    /// The air is idle from now on; all nodes' slots count after `space_ns`.
    fn clear_after(&mut self, space_ns: u64) {
        for node in &mut self.nodes {
            node.clear_ns = self.now_ns + space_ns;
        }
    }

    /// Reuse the vector of senders for the next frame.
    fn keep(&mut self, mut senders: Vec<usize>) {
        senders.clear();
        self.senders = senders;
    }
}
