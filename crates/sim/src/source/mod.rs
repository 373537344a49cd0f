//! Senders: when packets of a flow come. Each is a state machine that is asked for packets and told
//! what became of them; none of them reads a clock.

mod backlog;
mod bursts;
mod paced;
mod replay;
mod request;
mod rounds;
mod tcp;

use std::sync::Arc;

use takt_policy::traffic::{Kind, Source};

use crate::{
    capture::Arrival,
    event::What,
    packet::{Packet, Why},
    random::Random,
};

use self::{
    backlog::Backlog, bursts::Bursts, paced::Paced, replay::Replay, request::Request, tcp::Tcp,
};

pub(crate) use self::rounds::Rounds;

/// What a sender wants to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Poll {
    /// Send the packet with this number, and ask again.
    Send(u64),
    /// Nothing before then.
    At(u64),
    /// Nothing before it is told something.
    Nothing,
}

/// The sender of one flow.
#[derive(Debug)]
pub(crate) enum Sender {
    Backlog(Backlog),
    Paced(Paced),
    Bursts(Box<Bursts>),
    Request(Box<Request>),
    Tcp(Box<Tcp>),
    Replay(Replay),
}

impl Sender {
    /// One of a source's flows, whose packets take `wire_bytes`, or come and are as captured.
    pub fn new(
        source: &Source,
        captured: Option<&Arc<[Arrival]>>,
        wire_bytes: u32,
        random: Random,
    ) -> Self {
        let start_ns = source.start_ns;
        // Flows that began at once would stay in step.
        let is_alone = source.flows == 1;
        match source.kind {
            Kind::Backlog { packets } => Self::Backlog(Backlog::new(packets, start_ns)),
            Kind::Cbr { rate_bps } => Self::Paced(Paced::even(
                rate_bps, wire_bytes, start_ns, is_alone, random,
            )),
            Kind::Poisson { rate_bps } => {
                Self::Paced(Paced::poisson(rate_bps, wire_bytes, start_ns, random))
            }
            Kind::OnOff(periods) => {
                Self::Bursts(Box::new(Bursts::new(periods, wire_bytes, start_ns, random)))
            }
            Kind::Request { rtt_ns, think_ns } => {
                Self::Request(Box::new(Request::new(rtt_ns, think_ns, start_ns, random)))
            }
            Kind::Capture { .. } => {
                let arrivals = captured.cloned().unwrap_or_default();
                Self::Replay(Replay::new(arrivals, start_ns))
            }
            Kind::Tcp(terms) => Self::Tcp(Box::new(Tcp::new(source, terms, random))),
        }
    }

    /// What it wants to do now.
    pub fn poll(&mut self, now_ns: u64) -> Poll {
        match self {
            Self::Backlog(sender) => sender.poll(now_ns),
            Self::Paced(sender) => sender.poll(now_ns),
            Self::Bursts(sender) => sender.poll(now_ns),
            Self::Request(sender) => sender.poll(now_ns),
            Self::Tcp(sender) => sender.poll(now_ns),
            Self::Replay(sender) => sender.poll(now_ns),
        }
    }

    /// The frame of a packet that it sends; of most senders all are as usual.
    pub fn frame_bytes(&self, number: u64, usual: u32) -> u32 {
        match self {
            Self::Replay(sender) => sender.frame_bytes(number),
            _ => usual,
        }
    }

    /// A packet goes to the device and will be on the wire until then. Returns what that causes,
    /// and when.
    pub fn left(&mut self, packet: &Packet, end_ns: u64) -> Option<(u64, What)> {
        match self {
            Self::Backlog(sender) => {
                sender.left();
                None
            }
            Self::Request(sender) => Some((sender.answered_ns(end_ns), What::Answer(packet.flow))),
            Self::Tcp(sender) => Some(sender.left(packet, end_ns)),
            Self::Paced(_) | Self::Bursts(_) | Self::Replay(_) => None,
        }
    }

    /// Whether a packet that leaves makes room for another one.
    pub fn refills(&self) -> bool {
        matches!(self, Self::Backlog(_) | Self::Tcp(_))
    }

    /// A packet was lost on this host. Returns when the sender wakes for it.
    pub fn lost(&mut self, now_ns: u64, why: Why) -> Option<u64> {
        match self {
            Self::Backlog(sender) => Some(sender.lost(now_ns, why == Why::QueueFull)),
            Self::Request(sender) => Some(sender.lost(now_ns)),
            Self::Tcp(sender) => {
                sender.lost();
                None
            }
            Self::Paced(_) | Self::Bursts(_) | Self::Replay(_) => None,
        }
    }

    /// A packet was lost behind this host. Its socket has room again, and does not know. Returns
    /// when the sender wakes.
    pub fn lost_on_air(&mut self, now_ns: u64) -> Option<u64> {
        match self {
            Self::Backlog(sender) => {
                sender.left();
                Some(now_ns)
            }
            _ => self.lost(now_ns, Why::OnAir),
        }
    }

    /// The receiver wakes; what that causes, and when, is added. Returns how long a transfer took
    /// that has arrived with it.
    pub fn arrived(
        &mut self,
        flow: u32,
        now_ns: u64,
        caused: &mut Vec<(u64, What)>,
    ) -> Option<u64> {
        match self {
            Self::Tcp(sender) => sender.arrived(flow, now_ns, caused),
            _ => None,
        }
    }

    /// The transfers of all flows of a source have arrived that begin together, and it is asked for
    /// the next one then. Returns when the sender wakes.
    pub fn begin_together(&mut self, asks_ns: u64) -> Option<u64> {
        match self {
            Self::Tcp(sender) => Some(sender.begin_together(asks_ns)),
            _ => None,
        }
    }

    /// An answer came.
    pub fn answered(&mut self, now_ns: u64) {
        match self {
            Self::Request(sender) => sender.answered(now_ns),
            Self::Tcp(sender) => sender.answered(now_ns),
            Self::Backlog(_) | Self::Paced(_) | Self::Bursts(_) | Self::Replay(_) => {}
        }
    }
}
