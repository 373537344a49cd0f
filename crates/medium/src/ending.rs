//! Outcomes of transmissions: received, answered, repeated or dropped.

use crate::{Action, Medium, NodeId, Outcome, exchange::Phase};

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
                self.finish(index, Outcome::Unacknowledged);
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
        for station in 1..self.nodes.len() {
            if !self.receive(sender, station, station) {
                self.nodes[station].clear_ns = self.now_ns + self.profile.eifs_ns();
            }
        }
        self.finish(sender, Outcome::Unacknowledged);
    }

    fn end_unicast(&mut self, sender: usize, station: usize) {
        let access_point = usize::from(Self::ACCESS_POINT.0);
        let receiver = if sender == access_point {
            station
        } else {
            access_point
        };
        let is_read = self.receive(sender, receiver, station);
        if !is_read {
            self.nodes[station].air.losses += 1;
        }
        if !self.profile.acknowledged {
            self.senders.clear();
            self.clear_after(self.profile.difs_ns);
            return self.finish(sender, Outcome::Unacknowledged);
        }
        let ack_ns = self.nodes[sender]
            .hand
            .map_or(0, |hand| self.profile.ack_ns(hand.rate));
        let answer_ns = self.profile.sifs_ns + ack_ns;
        if is_read {
            self.busy_ns += answer_ns;
            self.nodes[station].air.busy_ns += answer_ns;
            if let Some(hand) = &mut self.nodes[sender].hand {
                hand.air_ns += answer_ns;
            }
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

    /// Whether `receiver` could read the frame that `sender` has just sent over the channel of
    /// `station`.
    fn receive(&mut self, sender: usize, receiver: usize, station: usize) -> bool {
        let now_ns = self.now_ns;
        let Some(hand) = self.nodes[sender].hand else {
            return false;
        };
        let bytes = self.profile.air_bytes(hand.frame.bytes);
        let rate = &self.profile.rates[hand.rate];
        let is_read = self.nodes[station].channel.carries(now_ns, rate, bytes);
        if is_read && !hand.delivered {
            self.actions.push_back(Action::Deliver {
                at_ns: now_ns,
                from: NodeId(sender as u16),
                to: NodeId(receiver as u16),
                token: hand.frame.token,
            });
            // A broadcast is sent once, so no station receives it twice.
            let is_broadcast = self.peer(sender).is_none();
            if let Some(hand) = &mut self.nodes[sender].hand {
                hand.delivered = !is_broadcast;
            }
        }
        is_read
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
        let is_read = self.nodes[station]
            .channel
            .carries(now_ns, rate, self.profile.ack_bytes);
        if is_read {
            self.tell_control(sender, true);
            self.finish(sender, Outcome::Acknowledged);
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
        self.tell_control(index, false);
        let node = &mut self.nodes[index];
        node.clear_ns = node.clear_ns.max(self.now_ns + space_ns);
        if !node.fail(&self.profile) {
            if let Some(link) = self.link_of(index) {
                link.figures.dropped += 1;
            }
            self.finish(index, Outcome::Dropped);
        }
    }

    /// The sender knows what became of its attempt.
    fn tell_control(&mut self, index: usize, is_acknowledged: bool) {
        let Some(hand) = self.nodes[index].hand else {
            return;
        };
        if let Some(link) = self.link_of(index) {
            link.control.sent(hand.failures, is_acknowledged);
        }
    }

    fn finish(&mut self, index: usize, outcome: Outcome) {
        if let Some(hand) = self.nodes[index].finish(&self.profile) {
            self.actions.push_back(Action::Done {
                at_ns: self.now_ns,
                from: NodeId(index as u16),
                token: hand.frame.token,
                outcome,
                air_ns: hand.air_ns,
            });
        }
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
