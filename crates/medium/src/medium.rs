//! What goes into the medium and what comes out of it.

use std::collections::VecDeque;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use thiserror::Error;

use crate::{Fading, Profile, RateChoice, SnrPath, channel::Channel, exchange::Phase, node::Node};

/// The access point or a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

/// What a node is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The caller's; the medium only hands it back.
    pub token: u64,
    /// Of the Ethernet frame, without its FCS.
    pub bytes: u32,
    /// Who is to have it.
    pub to: Receiver,
}

/// Stations send to the access point whatever is written here, as 802.11's
/// stations do; it is the caller who passes such frames on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// This one alone.
    Node(NodeId),
    /// At the slowest basic rate, once, without acknowledgement.
    Everyone,
}

/// What the medium is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A node takes a frame in hand.
    Transmit {
        /// Who sends.
        from: NodeId,
        /// What.
        frame: Frame,
    },
    /// A station's SNR goes another way from now on.
    Path {
        /// Whose.
        station: NodeId,
        /// How well it hears from now on.
        path: SnrPath,
    },
    /// Frames to and from a station are sent at another rate from now on.
    Rate {
        /// Whose.
        station: NodeId,
        /// By which rate it is sent to.
        choice: RateChoice,
    },
}

/// What the medium says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A frame arrived. A broadcast arrives at every station by itself.
    Deliver {
        /// When it ended.
        at_ns: u64,
        /// Who sent.
        from: NodeId,
        /// Who has it.
        to: NodeId,
        /// The frame's.
        token: u64,
    },
    /// The medium is done with a frame, will not name it again, and its sender
    /// is free to take the next.
    Done {
        /// When its sender knew.
        at_ns: u64,
        /// Who sent.
        from: NodeId,
        /// The frame's.
        token: u64,
        /// What became of it.
        outcome: Outcome,
        /// What all its attempts took of the air, with SIFS and acknowledgement.
        air_ns: u64,
    },
}

/// What became of a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It arrived, and its sender heard so.
    Acknowledged,
    /// Sent once; nobody knows who heard it.
    Unacknowledged,
    /// Sent as often as allowed and never acknowledged.
    Dropped,
}

/// Why an input changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// The node has a frame already.
    #[error("node {} has a frame in hand already; it takes the next after Done", .0.0)]
    Occupied(NodeId),
    /// There is no such node.
    #[error("there is no station {}", .0.0)]
    Unknown(NodeId),
    /// The profile has no such rate.
    #[error("the profile has no rate {0}")]
    NoRate(usize),
}

/// What frames to and from a station took of the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Air {
    /// Frames, with SIFS and acknowledgement where there was one.
    pub busy_ns: u64,
    /// Transmissions, repeated ones included.
    pub attempts: u64,
    /// Of these, those that another was on the air with.
    pub collisions: u64,
    /// Attempts without collision that could not be read.
    pub losses: u64,
}

/// One access point, its stations, and the air.
#[derive(Debug, Clone)]
pub struct Medium {
    pub(crate) profile: Profile,
    pub(crate) needed_snr_centidb: Vec<i32>,
    pub(crate) seed: u64,
    pub(crate) nodes: Vec<Node>,
    pub(crate) now_ns: u64,
    pub(crate) busy_ns: u64,
    pub(crate) phase: Phase,
    /// Who sends, while frames are on the air.
    pub(crate) senders: Vec<usize>,
    pub(crate) actions: VecDeque<Action>,
}

impl Medium {
    /// The first node.
    pub const ACCESS_POINT: NodeId = NodeId(0);

    /// An access point without stations.
    pub fn new(profile: Profile, seed: u64) -> Self {
        let mut medium = Medium {
            needed_snr_centidb: profile.needed_snr_centidb(),
            profile,
            seed,
            nodes: Vec::new(),
            now_ns: 0,
            busy_ns: 0,
            phase: Phase::Idle,
            senders: Vec::new(),
            actions: VecDeque::new(),
        };
        medium.add_station(SnrPath::constant(0));
        medium
    }

    /// A node more, that hears so well.
    pub fn add_station(&mut self, path: SnrPath) -> NodeId {
        const STILL: Fading = Fading {
            deviation_db: 0.0,
            coherence_ns: 1,
        };
        let index = self.nodes.len() as u64;
        // Spread by the generator's own mixing of seeds.
        let random = |stream: u64| {
            Pcg64Mcg::seed_from_u64(self.seed.wrapping_mul(1 << 17).wrapping_add(stream))
        };
        let fading = self.profile.fading.unwrap_or(STILL);
        let channel = Channel::new(path, fading, random(index * 2));
        self.nodes
            .push(Node::new(&self.profile, channel, random(index * 2 + 1)));
        NodeId(index as u16)
    }

    /// What the medium goes by.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Take an input at `now_ns`, which is not before that of any call earlier
    /// (if it is, the input counts as of that one).
    pub fn handle(&mut self, now_ns: u64, input: Input) -> Result<(), Refused> {
        self.advance(now_ns);
        match input {
            Input::Transmit { from, frame } => self.transmit(from, frame),
            Input::Path { station, path } => {
                self.station_mut(station)?.channel.path = path;
                Ok(())
            }
            Input::Rate { station, choice } => {
                if let RateChoice::Fixed(rate) = choice
                    && rate >= self.profile.rates.len()
                {
                    return Err(Refused::NoRate(rate));
                }
                self.station_mut(station)?.rate_choice = choice;
                Ok(())
            }
        }
    }

    /// The next thing that has happened up to `now_ns`, if any. Call it until
    /// there is none.
    pub fn poll(&mut self, now_ns: u64) -> Option<Action> {
        self.advance(now_ns);
        self.actions.pop_front()
    }

    /// Nothing happens before then unless there is another input; `None`: ever.
    pub fn wake_ns(&self) -> Option<u64> {
        match self.actions.is_empty() {
            true => self.next_outcome_ns(),
            false => Some(self.now_ns),
        }
    }

    /// Whether a node can take a frame.
    pub fn is_free(&self, node: NodeId) -> bool {
        self.nodes
            .get(usize::from(node.0))
            .is_some_and(|node| node.hand.is_none())
    }

    /// The mean SNR of a station, by its path.
    pub fn snr_centidb(&self, now_ns: u64, station: NodeId) -> Result<i32, Refused> {
        Ok(self.station(station)?.channel.path.snr_centidb(now_ns))
    }

    /// What a station's receiver would read in this moment, with the
    /// fluctuation that its frames meet. Asking draws from that fluctuation, so
    /// runs are the same only if the same is asked.
    pub fn sample_snr_centidb(&mut self, now_ns: u64, station: NodeId) -> Result<i32, Refused> {
        self.advance(now_ns);
        let now_ns = self.now_ns;
        let snr_db = self.station_mut(station)?.channel.sample_db(now_ns);
        Ok(libm::round(snr_db * 100.0) as i32)
    }

    /// How long somebody sent or was about to answer so far. Where frames collide that is less
    /// than what each of them took.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// What a station's frames took of the air so far.
    pub fn air(&self, station: NodeId) -> Result<Air, Refused> {
        Ok(self.station(station)?.air)
    }

    fn station(&self, station: NodeId) -> Result<&Node, Refused> {
        let known = (station != Self::ACCESS_POINT).then_some(usize::from(station.0));
        known
            .and_then(|index| self.nodes.get(index))
            .ok_or(Refused::Unknown(station))
    }

    fn station_mut(&mut self, station: NodeId) -> Result<&mut Node, Refused> {
        self.station(station)?;
        Ok(&mut self.nodes[usize::from(station.0)])
    }

    fn transmit(&mut self, from: NodeId, frame: Frame) -> Result<(), Refused> {
        if let (Self::ACCESS_POINT, Receiver::Node(station)) = (from, frame.to) {
            self.station(station)?;
        }
        let hears_idle = self.phase.sounds_idle();
        let (now_ns, slot_ns) = (self.now_ns, self.profile.slot_ns);
        match self.nodes.get_mut(usize::from(from.0)) {
            None => Err(Refused::Unknown(from)),
            Some(node) if node.hand.is_some() => Err(Refused::Occupied(from)),
            Some(node) => {
                node.take(frame, now_ns, hears_idle, slot_ns);
                Ok(())
            }
        }
    }
}
