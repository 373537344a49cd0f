//! The access point's queue towards the stations.

mod flow_queues;
mod turns;

use takt_algo::CodelTerms;

use crate::{ACK_BYTES, DATA_BYTES, tcp::Ack};
use flow_queues::FlowQueues;
use turns::Turns;

/// What the access point does with frames that wait for the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessPoint {
    /// The order of frames.
    pub queue: AccessQueue,
    /// Frames that may wait; others are dropped.
    pub frames: usize,
    /// An older acknowledgement that waits is replaced by a newer one of its flow. Not under
    /// [`AccessQueue::FqCodel`].
    pub thins: bool,
    /// It tells members how many others upload, and what they get.
    pub counts_strangers: bool,
}

/// The order in which frames of different flows leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessQueue {
    /// The one that came first.
    Fifo,
    /// A frame of each station in turn; an emptied queue goes behind those that wait.
    Turns,
    /// A queue for each flow, a quantum of bytes of each in turn, new flows first, and CoDel in
    /// each (RFC 8290).
    FqCodel(CodelTerms),
}

impl Default for AccessPoint {
    /// A Linux device with a plain queue of its usual length.
    fn default() -> Self {
        Self {
            queue: AccessQueue::Fifo,
            frames: 1000,
            thins: false,
            counts_strangers: false,
        }
    }
}

impl AccessPoint {
    /// Linux's mac80211: a target of 20 ms, an interval of 100, 8,192 frames (`fq_init` and
    /// `codel_params` in net/mac80211). Left out: its turns are of stations, by air time, and its
    /// queues are hashed. Where each station has one flow, that is the order of flows.
    pub const MAC80211: Self = Self {
        queue: AccessQueue::FqCodel(CodelTerms {
            target_ns: 20_000_000,
            interval_ns: 100_000_000,
        }),
        frames: 8192,
        thins: false,
        counts_strangers: false,
    };
}

/// A frame for a station.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub station: usize,
    pub flow: usize,
    pub content: Content,
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// A download's handshake.
    Hello,
    Data {
        sequence: u64,
        echo_ms: u64,
    },
    Ack(Ack),
}

impl Content {
    /// Of its Ethernet frame.
    pub fn bytes(&self) -> u32 {
        match self {
            Self::Data { .. } => DATA_BYTES,
            Self::Hello | Self::Ack(_) => ACK_BYTES,
        }
    }
}

/// The queue.
pub(crate) enum Queue {
    Turns(Turns),
    Flows(FlowQueues),
}

impl Queue {
    pub fn new(terms: AccessPoint, stations: usize, flows: usize) -> Self {
        match terms.queue {
            AccessQueue::Fifo => Self::Turns(Turns::new(terms, 1)),
            AccessQueue::Turns => Self::Turns(Turns::new(terms, stations)),
            AccessQueue::FqCodel(codel) => Self::Flows(FlowQueues::new(codel, terms.frames, flows)),
        }
    }

    pub fn push(&mut self, now_ns: u64, waiting: Waiting) {
        match self {
            Self::Turns(turns) => turns.push(waiting),
            Self::Flows(flows) => flows.push(now_ns, waiting),
        }
    }

    /// The frame to send next.
    pub fn pop(&mut self, now_ns: u64) -> Option<Waiting> {
        match self {
            Self::Turns(turns) => turns.pop(),
            Self::Flows(flows) => flows.pop(now_ns),
        }
    }

    /// The next one for this station, out of turn: it joins an aggregate.
    pub fn pop_for(&mut self, now_ns: u64, station: usize) -> Option<Waiting> {
        match self {
            Self::Turns(turns) => turns.pop_for(station),
            Self::Flows(flows) => flows.pop_for(now_ns, station),
        }
    }
}
