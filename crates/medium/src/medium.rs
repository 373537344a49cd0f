//! The medium's inputs and outputs.

use std::collections::VecDeque;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use thiserror::Error;

use crate::{
    Direction, Fading, Link, Profile, RateChoice, SnrPath, channel::Channel, exchange::Phase,
    link::LinkState, node::Node,
};

/// The access point or a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

/// A frame that a node is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The caller's token; the medium returns it unchanged.
    pub token: u64,
    /// Length of the Ethernet frame, without its FCS.
    pub bytes: u32,
    /// The receiver.
    pub to: Receiver,
}

/// Stations send to the access point whatever is written here, as 802.11's stations do; the
/// caller forwards such frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// One node.
    Node(NodeId),
    /// All stations: at the slowest basic rate, once, without acknowledgement.
    Everyone,
}

/// Inputs of the medium.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A node starts to send a frame.
    Transmit {
        /// The sender.
        from: NodeId,
        /// The frame.
        frame: Frame,
    },
    /// A station's SNR follows another path from now on.
    Path {
        /// The station.
        station: NodeId,
        /// Its path.
        path: SnrPath,
    },
    /// Frames to and from a station are sent at another rate from now on.
    Rate {
        /// The station.
        station: NodeId,
        /// Its rate.
        choice: RateChoice,
    },
    /// The same for one direction: stations and access point may choose differently.
    RateOneWay {
        /// The station.
        station: NodeId,
        /// The direction of the frames.
        direction: Direction,
        /// Their rate.
        choice: RateChoice,
    },
}

/// Outputs of the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A frame arrived. A broadcast arrives at each station separately.
    Deliver {
        /// When it ended.
        at_ns: u64,
        /// The sender.
        from: NodeId,
        /// The receiver.
        to: NodeId,
        /// The frame's token.
        token: u64,
    },
    /// The frame is finished, the medium does not use its token again, and its sender may take
    /// the next frame.
    Done {
        /// When its sender knew.
        at_ns: u64,
        /// The sender.
        from: NodeId,
        /// The frame's token.
        token: u64,
        /// The outcome.
        outcome: Outcome,
        /// The air time of all its attempts, with SIFS and acknowledgement.
        air_ns: u64,
    },
}

/// The outcome of a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It arrived and was acknowledged.
    Acknowledged,
    /// Sent once, as a broadcast; its reception is unknown.
    Unacknowledged,
    /// Sent as often as allowed and never acknowledged.
    Dropped,
}

/// Why an input was refused.
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

/// Air time of frames to and from a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Air {
    /// Frames, with SIFS and acknowledgement where there was one.
    pub busy_ns: u64,
    /// Transmissions, repeated ones included.
    pub attempts: u64,
    /// Transmissions that collided.
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
    /// The senders, while frames are on the air.
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

    /// Adds a node with this path.
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
        // Other streams than those above, and the same in both directions: they order samples.
        let samples = random((index * 2) ^ (1 << 63));
        let link = LinkState::new(self.profile.rate_choice, &self.profile.rates, samples);
        let links = [link.clone(), link];
        self.nodes.push(Node::new(
            &self.profile,
            channel,
            links,
            random(index * 2 + 1),
        ));
        NodeId(index as u16)
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Takes an input at `now_ns`. If an earlier call had a later time, the input counts as of
    /// that time.
    pub fn handle(&mut self, now_ns: u64, input: Input) -> Result<(), Refused> {
        self.advance(now_ns);
        match input {
            Input::Transmit { from, frame } => self.transmit(from, frame),
            Input::Path { station, path } => {
                self.station_mut(station)?.channel.path = path;
                Ok(())
            }
            Input::Rate { station, choice } => {
                self.choose(station, Direction::Down, choice)?;
                self.choose(station, Direction::Up, choice)
            }
            Input::RateOneWay {
                station,
                direction,
                choice,
            } => self.choose(station, direction, choice),
        }
    }

    /// The next action up to `now_ns`, if any. Call it until there is none.
    pub fn poll(&mut self, now_ns: u64) -> Option<Action> {
        self.advance(now_ns);
        self.actions.pop_front()
    }

    /// No action comes before this time unless there is another input; `None`: none ever.
    pub fn wake_ns(&self) -> Option<u64> {
        if self.actions.is_empty() {
            self.next_outcome_ns()
        } else {
            Some(self.now_ns)
        }
    }

    /// Whether a node has no frame, and so can take any.
    pub fn is_free(&self, node: NodeId) -> bool {
        self.nodes
            .get(usize::from(node.0))
            .is_some_and(|node| node.hand.is_none())
    }

    /// Whether a node can take a frame to this receiver: it is free, or it has frames to the
    /// same receiver already and the profile sends several at once.
    pub fn has_room(&self, node: NodeId, to: Receiver) -> bool {
        let index = usize::from(node.0);
        let Some(node) = self.nodes.get(index) else {
            return false;
        };
        match (&node.hand, &self.profile.aggregation) {
            (None, _) => true,
            (Some(hand), Some(aggregation)) => {
                // All frames of a station go to the access point.
                let is_same = |other| matches!(to, Receiver::Node(_)) && to == other;
                let is_together = index != usize::from(Self::ACCESS_POINT.0) || is_same(hand.to);
                is_together && node.frames.len() < aggregation.frames_max as usize
            }
            (Some(_), None) => false,
        }
    }

    /// The mean SNR of a station, by its path.
    pub fn snr_centidb(&self, now_ns: u64, station: NodeId) -> Result<i32, Refused> {
        Ok(self.station(station)?.channel.path.snr_centidb(now_ns))
    }

    /// The SNR that a station's receiver would read now, with the fluctuation that its frames
    /// meet. A call draws from that fluctuation, so runs are equal only if their calls are.
    pub fn sample_snr_centidb(&mut self, now_ns: u64, station: NodeId) -> Result<i32, Refused> {
        self.advance(now_ns);
        let now_ns = self.now_ns;
        let snr_db = self.station_mut(station)?.channel.sample_db(now_ns);
        Ok(libm::round(snr_db * 100.0) as i32)
    }

    /// The time for which the air was occupied so far. Where frames collide that is less than
    /// the sum of their air times.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// Air time of a station's frames so far.
    pub fn air(&self, station: NodeId) -> Result<Air, Refused> {
        Ok(self.station(station)?.air)
    }

    /// The rate of a station's frames in one direction, and what became of them so far.
    pub fn link(&self, station: NodeId, direction: Direction) -> Result<Link, Refused> {
        let link = self.station(station)?.link(direction);
        let by_snr = || self.rate_by_snr(usize::from(station.0), self.now_ns);
        Ok(Link {
            rate: link.control.rate().unwrap_or_else(by_snr),
            ..link.figures
        })
    }

    fn choose(
        &mut self,
        station: NodeId,
        direction: Direction,
        choice: RateChoice,
    ) -> Result<(), Refused> {
        self.station(station)?;
        let unknown = |&rate: &usize| rate >= self.profile.rates.len();
        if let Some(rate) = choice.fastest().filter(unknown) {
            return Err(Refused::NoRate(rate));
        }
        self.nodes[usize::from(station.0)]
            .link_mut(direction)
            .choose(choice, &self.profile.rates, self.now_ns);
        Ok(())
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
        let index = usize::from(from.0);
        let has_room = self.has_room(from, frame.to);
        match self.nodes.get_mut(index) {
            None => return Err(Refused::Unknown(from)),
            Some(_) if !has_room => return Err(Refused::Occupied(from)),
            Some(node) if node.hand.is_some() => node.frames.push(frame),
            Some(node) => {
                node.take(frame, now_ns, hears_idle, slot_ns);
                self.begin(index);
            }
        }
        Ok(())
    }

    /// A sender's control decides on its next frame, if there is one.
    pub(crate) fn begin(&mut self, index: usize) {
        let now_ns = self.now_ns;
        let has_frames = self.nodes[index].hand.is_some();
        if let Some(link) = self.link_of(index).filter(|_| has_frames) {
            link.control.begin(now_ns);
        }
    }
}
