//! Schedulers between senders and the device: Takt's own and its peers.

mod airtime;
mod cake;
mod codel;
mod cost;
mod departure;
mod edt;
mod fifo;
mod flow;
mod fq;
mod fq_codel;
mod htb;
mod iwfq;
mod pspacer;
mod takt;
mod tbf;

pub use airtime::Airtime;
pub use cake::{Cake, CakeTerms};
pub use codel::{Codel, CodelTerms};
pub use departure::Departure;
pub use edt::Edt;
pub use fifo::Fifo;
pub use flow::SocketRates;
pub use fq::{Fq, FqTerms};
pub use fq_codel::{FqCodel, FqCodelTerms};
pub use htb::Htb;
pub use iwfq::Iwfq;
pub use pspacer::PsPacer;
pub use takt::Takt;
pub use tbf::{Tbf, TbfTerms};

use std::net::IpAddr;

use crate::packet::{Flow, Loss, Packet};

/// A scheduler's answer when the device asks for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A packet.
    Packet {
        /// The packet, with a mark if it got one.
        packet: Packet,
        /// Its clocks let it go since then; its arrival if it has none.
        eligible_ns: u64,
    },
    /// A frame that only takes up the wire for so many bytes.
    Gap {
        /// All of its bytes on the wire.
        wire_bytes: u32,
    },
    /// No packet may leave before then.
    Wait {
        /// When to ask again, later than now.
        until_ns: u64,
    },
    /// Nothing is queued.
    Empty,
}

/// A scheduler, as the kernel calls one: without a clock of its own.
pub trait Qdisc {
    /// A packet arrives. Packets that are lost by it, itself or others, are added to `losses`.
    fn enqueue(&mut self, packet: Packet, flow: &Flow, now_ns: u64, losses: &mut Vec<Loss>);

    /// The device asks for a packet.
    fn dequeue(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Answer;

    /// The processor runs a task of this priority from now on, as `algo/gate.h` counts. Only Takt
    /// asks for that.
    fn run_task(&mut self, _task_prio: u32) {}

    /// A station has this weight from now on, in millionths. Only Takt has them.
    fn weigh(&mut self, _station: IpAddr, _weight_ppm: u32, _now_ns: u64) {}

    /// Whether it is to hear of the airtime of stations.
    fn wants_airtime(&self) -> bool {
        false
    }

    /// A station, in the traffic file's order, has taken the air for so long since the beginning.
    fn charge(&mut self, _station: usize, _busy_ns: u64) {}

    /// Whether it is to hear of the signals of stations whenever the device has room.
    fn wants_signals(&self) -> bool {
        false
    }

    /// A station's signal at this moment, in hundredths of a dB.
    fn hear(&mut self, _station: usize, _snr_centidb: i32) {}
}
