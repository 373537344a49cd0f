//! Who processes the host's packets.

use crate::experiment::background::contender;
use crate::experiment::background::upload::Marking;
use crate::experiment::pair::DEVICE;
use crate::experiment::setup::Qdisc;

/// The wire's rate, by what is the bottleneck.
#[derive(Debug, Clone, Copy)]
pub enum Wire {
    Slow {
        rate_bps: u64,
    },
    /// More than the processor can send.
    Fast {
        rate_bps: u64,
    },
}

impl Wire {
    pub fn rate_bps(self) -> u64 {
        match self {
            Self::Slow { rate_bps } | Self::Fast { rate_bps } => rate_bps,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    /// No background.
    Alone,
    Fifo,
    /// Priority queues, and software interrupts for all packets.
    Softirq,
    /// Priority queues, and a thread of the background's importance for what it receives.
    Threads,
    /// Priority queues, and threads for what each sends and receives, on devices of their own
    /// ([`tasks`](crate::experiment::background::tasks)).
    Tasks,
    Takt,
}

impl Contender {
    pub const ALL: [Self; 6] = [
        Self::Alone,
        Self::Fifo,
        Self::Softirq,
        Self::Threads,
        Self::Tasks,
        Self::Takt,
    ];

    /// The name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Fifo => "fifo",
            Self::Softirq => "prio-softirq",
            Self::Threads => "prio-threads",
            Self::Tasks => "prio-tasks",
            Self::Takt => "takt",
        }
    }

    pub fn has_background(self) -> bool {
        self != Self::Alone
    }

    /// On a slow wire with the device's short buffer, on a fast one without: the device takes all
    /// that the processor makes.
    pub fn qdisc(self, wire: Wire) -> Qdisc {
        match (wire, self.like()) {
            (Wire::Slow { rate_bps }, like) => like.qdisc(rate_bps),
            (Wire::Fast { rate_bps }, like @ contender::Contender::Takt) => like.qdisc(rate_bps),
            (Wire::Fast { .. }, contender::Contender::Fifo) => root("pfifo limit 1000"),
            (Wire::Fast { .. }, _) => root("prio"),
        }
    }

    pub fn marking(self) -> Marking {
        self.like().marking()
    }

    fn like(self) -> contender::Contender {
        match self {
            Self::Alone | Self::Softirq | Self::Threads => contender::Contender::Priority,
            Self::Fifo => contender::Contender::Fifo,
            Self::Tasks => contender::Contender::Tasks,
            Self::Takt => contender::Contender::Takt,
        }
    }
}

fn root(qdisc: &str) -> Qdisc {
    Qdisc::Tc(vec![format!(
        "qdisc replace dev {DEVICE} root handle 1: {qdisc}"
    )])
}
