//! What limits the data in flight, each set up as an expert would.

use crate::experiment::wlan::DEVICE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    Takt,
    /// With a taktd that has ended: each flow uses its own round trips.
    TaktAlone,
    Cubic,
    /// It paces by itself, with any qdisc.
    Bbr,
    Vegas,
    /// The access point queues a tenth of what others' does, and drops the rest: also
    /// acknowledgements, so that the air has room for data instead.
    CubicShortQueue,
    /// The access point separates its queue by flow, and drops what waits too long.
    CubicFqCodel,
}

impl Contender {
    pub fn name(self) -> &'static str {
        match self {
            Self::Takt => "takt",
            Self::TaktAlone => "takt-alone",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Vegas => "vegas",
            Self::CubicShortQueue => "cubic-100",
            Self::CubicFqCodel => "fq_codel",
        }
    }

    /// The kernel's name; Takt's policy sets its own.
    pub fn congestion_control(self) -> &'static str {
        match self {
            Self::Bbr => "bbr",
            Self::Vegas => "vegas",
            _ => "cubic",
        }
    }

    /// The queue in which acknowledgements wait for the access point's turn: a FIFO of its
    /// device's default length (`txqueuelen`).
    pub fn access_point(self) -> String {
        qdisc(match self {
            Self::CubicFqCodel => FQ_CODEL,
            Self::CubicShortQueue => "pfifo limit 100",
            _ => "pfifo limit 1000",
        })
    }

    /// A terminal's own queue is the default of distributions and mac80211, under every
    /// contender. It holds little, since TCP small queues limit it.
    pub fn terminal(self) -> String {
        qdisc(FQ_CODEL)
    }
}

/// With mac80211's times for CoDel.
const FQ_CODEL: &str = "fq_codel target 20ms interval 100ms";

fn qdisc(words: &str) -> String {
    format!("qdisc replace dev {DEVICE} root {words}")
}
