//! Queues at the access point.

use std::collections::VecDeque;

use crate::NodeId;

/// A queued frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The token of its transmission.
    pub token: u64,
    /// Its receiver, or its sender.
    pub station: NodeId,
    /// Its length with headers.
    pub bytes: u32,
    /// The number of its flow, in order of adding.
    pub source: usize,
    /// When it was sent.
    pub born_ns: u64,
    /// Whether it arrived.
    pub is_delivered: bool,
}

/// A queue in front of the transmitter.
pub trait Queue {
    /// `false`: there is no room, and the frame is lost.
    fn enqueue(&mut self, packet: Packet) -> bool;
    /// The frame to send next. Called whenever the transmitter becomes free or a frame arrives.
    fn dequeue(&mut self, now_ns: u64) -> Option<Packet>;
    /// The next frame for this station, out of turn: it joins an aggregate.
    fn dequeue_for(&mut self, station: NodeId) -> Option<Packet>;
}

/// First in, first out.
#[derive(Debug, Clone, Default)]
pub struct Fifo {
    packets: VecDeque<Packet>,
    limit_frames: usize,
}

impl Fifo {
    /// With room for this many.
    pub fn new(limit_frames: usize) -> Self {
        Fifo {
            packets: VecDeque::new(),
            limit_frames,
        }
    }
}

impl Queue for Fifo {
    fn enqueue(&mut self, packet: Packet) -> bool {
        let has_room = self.packets.len() < self.limit_frames;
        if has_room {
            self.packets.push_back(packet);
        }
        has_room
    }

    fn dequeue(&mut self, _now_ns: u64) -> Option<Packet> {
        self.packets.pop_front()
    }

    fn dequeue_for(&mut self, station: NodeId) -> Option<Packet> {
        let is_its = |packet: &Packet| packet.station == station;
        let index = self.packets.iter().position(is_its)?;
        self.packets.remove(index)
    }
}

/// A queue for every station, and bytes shared by weight: the frame that would end first if all
/// were sent side by side goes first (S. J. Golestani, A self-clocked fair queueing scheme,
/// 1994). A stand-in for Takt's own, for studies of the medium.
#[derive(Debug, Clone)]
pub struct Weighted {
    limit_frames: usize,
    shares: Vec<Share>,
    virtual_time: u128,
}

#[derive(Debug, Clone)]
struct Share {
    packets: Fifo,
    weight_ppm: u32,
    /// Virtual time at which its first frame ends.
    finish: u128,
}

const WEIGHT_ONE_PPM: u32 = 1_000_000;

impl Weighted {
    /// With room for `limit_frames` for each station.
    pub fn new(limit_frames: usize) -> Self {
        Weighted {
            limit_frames,
            shares: Vec::new(),
            virtual_time: 0,
        }
    }

    /// Parts per million; a station has one million by default, and with zero it is throttled.
    pub fn set_weight(&mut self, station: NodeId, weight_ppm: u32) {
        self.share(station).weight_ppm = weight_ppm;
    }

    fn share(&mut self, station: NodeId) -> &mut Share {
        let index = usize::from(station.0);
        while self.shares.len() <= index {
            self.shares.push(Share {
                packets: Fifo::new(self.limit_frames),
                weight_ppm: WEIGHT_ONE_PPM,
                finish: 0,
            });
        }
        &mut self.shares[index]
    }
}

impl Share {
    /// Its first frame begins at `start`.
    fn stamp(&mut self, start: u128) {
        let bytes = self
            .packets
            .packets
            .front()
            .map_or(0, |packet| packet.bytes);
        let scale = 1_000_000 * u128::from(WEIGHT_ONE_PPM);
        self.finish = start + u128::from(bytes) * scale / u128::from(self.weight_ppm.max(1));
    }
}

impl Queue for Weighted {
    fn enqueue(&mut self, packet: Packet) -> bool {
        let virtual_time = self.virtual_time;
        let share = self.share(packet.station);
        let was_empty = share.packets.packets.is_empty();
        let is_accepted = share.packets.enqueue(packet);
        if is_accepted && was_empty {
            share.stamp(share.finish.max(virtual_time));
        }
        is_accepted
    }

    fn dequeue(&mut self, now_ns: u64) -> Option<Packet> {
        let may_go = |share: &&mut Share| share.weight_ppm > 0 && !share.packets.packets.is_empty();
        let share = self
            .shares
            .iter_mut()
            .filter(may_go)
            .min_by_key(|share| share.finish)?;
        self.virtual_time = share.finish;
        let packet = share.packets.dequeue(now_ns);
        share.stamp(share.finish);
        packet
    }

    fn dequeue_for(&mut self, station: NodeId) -> Option<Packet> {
        let share = self.shares.get_mut(usize::from(station.0))?;
        let packet = share.packets.dequeue_for(station)?;
        share.stamp(share.finish);
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(station: u16) -> Packet {
        Packet {
            token: 0,
            station: NodeId(station),
            bytes: 1000,
            source: 0,
            born_ns: 0,
            is_delivered: false,
        }
    }

    #[test]
    fn a_fifo_ends_at_its_limit() {
        let mut fifo = Fifo::new(1);
        assert!(fifo.enqueue(packet(1)) && !fifo.enqueue(packet(2)));
        assert_eq!(fifo.dequeue(0), Some(packet(1)));
        assert_eq!(fifo.dequeue(0), None);
    }

    #[test]
    fn weights_share_the_bytes() {
        let mut queue = Weighted::new(10);
        queue.set_weight(NodeId(1), 150_000);
        queue.set_weight(NodeId(3), 0);
        let mut sent = [0; 4];
        for _ in 0..11_500 {
            for station in 1..=3 {
                queue.enqueue(packet(station));
            }
            if let Some(packet) = queue.dequeue(0) {
                sent[usize::from(packet.station.0)] += 1;
            }
        }
        assert!((sent[1] - 1500i32).abs() <= 1 && sent[3] == 0, "{sent:?}");
    }
}
