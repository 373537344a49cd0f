//! The schedulers by their names.

use clap::ValueEnum;
use takt_sim::{
    Setup,
    qdisc::{Fifo, Qdisc, Takt},
};

/// A peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// First in, first out, 1000 packets.
    Fifo,
}

/// A link's scheduler with its name in outputs.
pub type Named = (String, Box<dyn Qdisc>);

/// Linux's default length of a device's queue (`txqueuelen`).
const FIFO_PACKETS: u32 = 1000;

/// What the policy asks for.
pub fn own(setup: &Setup) -> Named {
    ("takt".to_owned(), Box::new(Takt::new(setup.tables.clone())))
}

/// A peer on the same link.
pub fn peer(name: Name, _setup: &Setup) -> Named {
    match name {
        Name::Fifo => ("fifo".to_owned(), Box::new(Fifo::new(FIFO_PACKETS))),
    }
}
