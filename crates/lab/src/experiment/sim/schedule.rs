//! When the simulator's senders send, if they do not depend on what becomes of their packets.

use takt_sim::{Answer, Flow, Loss, Packet, Qdisc, Setup, Terms};

/// A packet that is to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    /// From the beginning on.
    pub at_ns: u64,
    /// The index of its flow.
    pub flow: u32,
    /// Its frame.
    pub bytes: u32,
}

/// Keeps what came, and gives nothing away.
#[derive(Default)]
struct Listener(Vec<Due>);

impl Qdisc for Listener {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, now_ns: u64, _: &mut Vec<Loss>) {
        // Connections have senders of their own.
        if flow.key.proto == libc::IPPROTO_UDP as u8 {
            self.0.push(Due {
                at_ns: now_ns,
                flow: packet.flow,
                bytes: packet.bytes,
            });
        }
    }

    fn dequeue(&mut self, _: u64, _: &mut Vec<Loss>) -> Answer {
        Answer::Empty
    }
}

/// In the order of time.
pub fn of(setup: &Setup, seed: u64, duration_ns: u64) -> Vec<Due> {
    let mut listener = Listener::default();
    let terms = Terms { seed, duration_ns };
    takt_sim::run(setup, "", &mut listener, terms);
    listener.0
}
