//! The qdisc at the host's end of the wire, and the options of each socket.

use std::fmt::Write;

use crate::experiment::pair::DEVICE;
use crate::experiment::setup::Qdisc;

use super::upload::{Marking, Port};

/// LP-LBE's device with its original buffer, and with the reduced one (sections 4.1 and 5.1).
const WIDE_BUFFER_BYTES: u32 = 6_400;
const NARROW_BUFFER_BYTES: u32 = 1_600;
/// Bytes that a shaper queues; more than any queue here grows to.
const SHAPER_LIMIT_BYTES: u32 = 3_000_000;
/// `TC_PRIO_BULK`, which prio and fq put into their last band.
const PRIORITY_BULK: i32 = 2;
/// Lower effort (RFC 8622) in the field of the old type of service.
const TOS_LOWER_EFFORT: i32 = 1 << 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    /// No background upload: the reference for the others.
    Alone,
    Fifo,
    PriorityWide,
    Priority,
    /// Priority queues whose packets are processed by a task for each queue.
    Tasks,
    Takt,
    Cake,
    Fq,
    /// A congestion control that yields, over a FIFO that does not.
    TcpLp,
}

impl Contender {
    pub const ALL: [Self; 9] = [
        Self::Alone,
        Self::Fifo,
        Self::PriorityWide,
        Self::Priority,
        Self::Tasks,
        Self::Takt,
        Self::Cake,
        Self::Fq,
        Self::TcpLp,
    ];

    /// The name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Fifo => "fifo",
            Self::PriorityWide => "prio-6400",
            Self::Priority => "prio-1600",
            Self::Tasks => "prio-tasks",
            Self::Takt => "takt",
            Self::Cake => "cake",
            Self::Fq => "fq",
            Self::TcpLp => "tcp-lp",
        }
    }

    pub fn has_background(self) -> bool {
        self != Self::Alone
    }

    /// The qdiscs on the host's device.
    ///
    /// - TBF models the device's buffer: with the wire's rate and a burst of `n` bytes, tokens
    ///   and bytes that wait for the wire always add up to `n`. So a frame enters the buffer as
    ///   soon as it fits, and later frames stay in the queueing discipline. (The driver in
    ///   LP-LBE stops only when it holds more than `n`, so up to a frame more.)
    /// - FIFO: pfifo of 1,000 packets, Linux's default for such a device.
    /// - prio, fq: plain; the background socket is marked as bulk.
    /// - fq: a quantum of one frame, since a frame is long here; its weights are
    ///   [set](super::bands) to practically strict.
    /// - CAKE keeps its own queue short and needs no short device buffer. `diffserv4` has a tin
    ///   for lower effort; `raw` counts frames as the wire here does, so the bandwidth is
    ///   exactly right.
    /// - Takt: one line puts the port in the background. The link's clock is the wire's, so
    ///   that the wire never holds more than the frame it is sending.
    pub fn qdisc(self, rate_bps: u64) -> Qdisc {
        let behind_buffer = |buffer_bytes: u32, child: &str| {
            Qdisc::Tc(vec![
                format!(
                    "qdisc replace dev {DEVICE} root handle 1: tbf rate {rate_bps}bit \
                     burst {buffer_bytes} limit {SHAPER_LIMIT_BYTES}"
                ),
                format!("qdisc replace dev {DEVICE} parent 1:1 handle 2: {child}"),
            ])
        };
        match self {
            Self::Alone | Self::Fifo | Self::TcpLp => {
                behind_buffer(WIDE_BUFFER_BYTES, "pfifo limit 1000")
            }
            Self::PriorityWide => behind_buffer(WIDE_BUFFER_BYTES, "prio"),
            Self::Priority | Self::Tasks => behind_buffer(NARROW_BUFFER_BYTES, "prio"),
            Self::Fq => behind_buffer(NARROW_BUFFER_BYTES, "fq quantum 1514"),
            Self::Cake => Qdisc::Tc(vec![format!(
                "qdisc replace dev {DEVICE} root cake bandwidth {rate_bps}bit diffserv4 raw"
            )]),
            Self::Takt => Qdisc::Takt(policy(rate_bps)),
        }
    }

    /// The background socket's own options. Takt and the tasks recognise it by its port.
    pub fn marking(self) -> Marking {
        match self {
            Self::PriorityWide | Self::Priority | Self::Fq => Marking {
                priority: Some(PRIORITY_BULK),
                ..Marking::default()
            },
            Self::Cake => Marking {
                type_of_service: Some(TOS_LOWER_EFFORT),
                ..Marking::default()
            },
            Self::TcpLp => Marking {
                congestion_control: Some("lp"),
                ..Marking::default()
            },
            Self::Alone | Self::Fifo | Self::Tasks | Self::Takt => Marking::default(),
        }
    }
}

fn policy(rate_bps: u64) -> String {
    let mut text = format!("[link.{DEVICE}]\nrate = \"{rate_bps}bit\"\n");
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "\n[[link.{DEVICE}.class]]\nname = \"backup\"\n\
         match = [{{ proto = \"tcp\", dst_port = {} }}]\npriority = \"background\"\n",
        Port::Background.number()
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_is_the_burst() {
        let Qdisc::Tc(lines) = Contender::Priority.qdisc(384_000) else {
            panic!("tc sets it up");
        };
        assert_eq!(
            lines,
            [
                "qdisc replace dev va root handle 1: tbf rate 384000bit burst 1600 limit 3000000",
                "qdisc replace dev va parent 1:1 handle 2: prio",
            ]
        );
    }

    #[test]
    fn the_policy_is_one_class() {
        assert_eq!(
            Contender::Takt.qdisc(384_000),
            Qdisc::Takt(
                "[link.va]\nrate = \"384000bit\"\n\
                 \n[[link.va.class]]\nname = \"backup\"\n\
                 match = [{ proto = \"tcp\", dst_port = 5002 }]\npriority = \"background\"\n"
                    .to_owned()
            )
        );
    }
}
