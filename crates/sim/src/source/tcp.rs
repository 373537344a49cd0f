//! A connection: a congestion window, a path without queues behind the device, and a receiver.
//!
//! The ends are [`takt_tcp_model`]'s. A sender of this host keeps few packets below its socket, as
//! TCP small queues do (`tcp_small_queue_check`): what it sends in a millisecond, two at least. A
//! window is kept over pauses (`net.ipv4.tcp_slow_start_after_idle = 0`), and a packet that the
//! qdisc drops is found missing as one that the path lost.

use std::collections::VecDeque;

use takt_policy::traffic::{Connection, Control, Source};
use takt_tcp_model::{self as model, Ack, Receiver, Send, Sender};

use super::Poll;
use crate::{event::What, packet::Packet, random::Random};

/// RFC 6928.
const WINDOW_FIRST: u32 = 10;
const WINDOW_MAX: u32 = 1 << 20;
const SMALL_QUEUE_NS: u64 = 1_000_000;
const SMALL_QUEUE_PACKETS: usize = 2;
/// An Ethernet frame's bytes that are no payload: its own header, IPv4's, and TCP's with timestamps.
const HEADER_BYTES: u32 = 66;

#[derive(Debug)]
pub(crate) struct Tcp {
    sender: Sender,
    receiver: Receiver,
    /// Packets on the path, and acknowledgements, in the order of their arrival.
    path: VecDeque<(u64, Packet)>,
    acks: VecDeque<Ack>,
    rtt_ns: u64,
    is_local: bool,
    /// Of its packets, below the socket.
    queued: usize,
    transfers: Option<Transfers>,
    /// It has nothing to send before.
    due_ns: u64,
    random: Random,
}

#[derive(Debug, Clone, Copy)]
struct Transfers {
    segments: u64,
    think_ns: u64,
    /// The next one begins when it is told to.
    is_together: bool,
    /// When the present one began.
    began_ns: u64,
    /// It has not arrived yet.
    is_on_its_way: bool,
}

impl Tcp {
    /// A connection of this source.
    pub fn new(source: &Source, terms: Connection, mut random: Random) -> Self {
        let Connection {
            control,
            rtt_ns,
            transfer_bytes,
            think_ns,
            together,
        } = terms;
        let receiver = match control {
            Control::Dctcp => Receiver::of_dctcp(),
            _ => Receiver::default(),
        };
        let control = match control {
            Control::Cubic => model::Control::Cubic,
            Control::Reno => model::Control::Reno,
            Control::Bbr => model::Control::Bbr,
            Control::Dctcp => model::Control::Dctcp,
        };
        let mut sender = Sender::new(control, WINDOW_FIRST, WINDOW_MAX);
        sender.probes = true;
        // Of the handshake.
        sender.measure(rtt_ns);
        let payload = u64::from(source.frame_bytes.saturating_sub(HEADER_BYTES).max(1));
        let mut transfers = transfer_bytes.map(|bytes| Transfers {
            segments: bytes.div_ceil(payload),
            think_ns,
            is_together: together.is_some(),
            began_ns: 0,
            is_on_its_way: true,
        });
        let mut due_ns = source.start_ns;
        if let Some(transfers) = &mut transfers {
            sender.data_end = transfers.segments;
            due_ns += random.exponential_ns(think_ns);
            transfers.began_ns = due_ns;
        }
        Self {
            sender,
            receiver,
            path: VecDeque::new(),
            acks: VecDeque::new(),
            rtt_ns,
            is_local: !source.is_forwarded,
            queued: 0,
            transfers,
            due_ns,
            random,
        }
    }

    pub fn poll(&mut self, now_ns: u64) -> Poll {
        if now_ns < self.due_ns {
            return Poll::At(self.due_ns);
        }
        if self
            .sender
            .timeout_ns()
            .is_some_and(|at_ns| at_ns <= now_ns)
        {
            self.sender.time_out(now_ns);
        }
        let sent = if self.may_queue() {
            self.sender.send(now_ns)
        } else {
            Send::Nothing
        };
        let timeout_ns = self.sender.timeout_ns().unwrap_or(u64::MAX);
        match sent {
            Send::Segment(number) => {
                self.queued += 1;
                Poll::Send(number)
            }
            Send::At(at_ns) => Poll::At(at_ns.min(timeout_ns)),
            Send::Nothing if timeout_ns == u64::MAX => Poll::Nothing,
            Send::Nothing => Poll::At(timeout_ns),
        }
    }

    fn may_queue(&self) -> bool {
        let few = || {
            self.sender
                .paced_in(SMALL_QUEUE_NS)
                .max(SMALL_QUEUE_PACKETS)
        };
        !self.is_local || self.queued < few()
    }

    /// A packet goes to the device, and is on the wire until then.
    pub fn left(&mut self, packet: &Packet, end_ns: u64) -> (u64, What) {
        self.queued -= 1;
        let at_ns = end_ns + self.rtt_ns / 2;
        self.path.push_back((at_ns, *packet));
        (at_ns, What::Arrive(packet.flow))
    }

    pub fn lost(&mut self) {
        self.queued -= 1;
    }

    /// The receiver has a packet, or has delayed an acknowledgement for long enough. Returns how
    /// long a transfer took that has arrived with it.
    pub fn arrived(
        &mut self,
        flow: u32,
        now_ns: u64,
        caused: &mut Vec<(u64, What)>,
    ) -> Option<u64> {
        let before = self.acks.len();
        while let Some((at_ns, packet)) = self.path.front().copied()
            && at_ns <= now_ns
        {
            self.path.pop_front();
            let first = self.receiver.notice_mark(now_ns, packet.is_marked);
            self.acks.extend(first);
            let mut ack = self.receiver.receive(now_ns, packet.number);
            if ack.is_none() && self.ends_with(packet.number) {
                ack = self.receiver.end(now_ns);
            }
            self.acks.extend(ack);
        }
        match self.receiver.delayed_until_ns {
            Some(until_ns) if until_ns <= now_ns => {
                let ack = self.receiver.acknowledge(now_ns);
                self.acks.push_back(ack);
            }
            Some(until_ns) => caused.push((until_ns, What::Arrive(flow))),
            None => {}
        }
        for _ in before..self.acks.len() {
            caused.push((now_ns + self.rtt_ns.div_ceil(2), What::Answer(flow)));
        }
        self.complete(now_ns)
    }

    /// The last segment of a transfer says that the sender has no more (PSH).
    fn ends_with(&self, number: u64) -> bool {
        let transfers = self.transfers.as_ref();
        transfers.is_some_and(|transfers| (number + 1).is_multiple_of(transfers.segments))
    }

    fn complete(&mut self, now_ns: u64) -> Option<u64> {
        let has_all = self.receiver.delivered() >= self.sender.data_end;
        let transfers = self.transfers.as_mut()?;
        let completes = has_all && std::mem::take(&mut transfers.is_on_its_way);
        completes.then(|| now_ns - transfers.began_ns)
    }

    /// The transfers of all flows have arrived, and their receiver asks for the next one then.
    /// Returns when it begins.
    pub fn begin_together(&mut self, asks_ns: u64) -> u64 {
        self.begin(asks_ns + self.rtt_ns.div_ceil(2));
        self.due_ns
    }

    fn begin(&mut self, from_ns: u64) {
        let Some(transfers) = &mut self.transfers else {
            return;
        };
        self.due_ns = from_ns + self.random.exponential_ns(transfers.think_ns);
        self.sender.data_end += transfers.segments;
        transfers.began_ns = self.due_ns;
        transfers.is_on_its_way = true;
    }

    /// The sender has the next acknowledgement.
    pub fn answered(&mut self, now_ns: u64) {
        let Some(ack) = self.acks.pop_front() else {
            return;
        };
        self.sender.take(now_ns, &ack);
        if self.sender.acknowledged() >= self.sender.data_end
            && self
                .transfers
                .is_some_and(|transfers| !transfers.is_together)
        {
            self.begin(now_ns);
        }
    }
}
