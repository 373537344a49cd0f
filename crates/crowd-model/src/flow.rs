//! One connection: its ends, and the wire between access point and server.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use takt_algo::Download;

use crate::{
    Direction, FlowTerms, Setup,
    member::Bounded,
    tcp::{Receiver, Sender},
    wire::Wire,
};

pub(crate) struct Flow {
    pub terminal: usize,
    pub direction: Direction,
    pub ends_ns: u64,
    pub has_begun: bool,
    pub sender: Sender,
    pub receiver: Receiver,
    pub bounded: Bounded,
    pub download: Download,
    /// The first round trip of a download's terminal; 0: not yet.
    pub handshake_ns: u64,
    /// When it asked last.
    pub hello_ns: u64,
    pub up: Wire,
    pub down: Wire,
    /// Of its frames, at the terminal.
    pub queued: usize,
    pub timeout_at_ns: u64,
    pub paced_at_ns: u64,
    pub round_trips_ns: Vec<u64>,
}

impl Flow {
    /// One of this terminal, before it begins.
    pub fn new(terminal: usize, setup: &Setup, terms: &FlowTerms, random: &mut Pcg64Mcg) -> Self {
        let mut wire = |loss_ppm| Wire::new(setup, loss_ppm, random.random());
        let (data, acks) = (wire(setup.loss_ppm), wire(setup.ack_loss_ppm));
        let (up, down, receiver) = match terms.direction {
            Direction::Up => (data, acks, Receiver::default()),
            Direction::Down => (acks, data, Receiver::of_terminal()),
        };
        Self {
            terminal,
            direction: terms.direction,
            ends_ns: terms.ends_ns,
            has_begun: false,
            sender: Sender::new(terms.control, setup.initial_window, setup.window_max),
            receiver,
            bounded: Bounded::default(),
            download: Download::default(),
            handshake_ns: 0,
            hello_ns: 0,
            up,
            down,
            queued: 0,
            timeout_at_ns: 0,
            paced_at_ns: 0,
            round_trips_ns: Vec::new(),
        }
    }
}
