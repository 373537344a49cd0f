//! Who decides how much is in flight, set as somebody who knows it would set it.

use crate::experiment::wlan::DEVICE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    Takt,
    /// With a taktd that has ended: each flow goes by its own round trips.
    TaktAlone,
    Cubic,
    /// It paces by itself, whatever the qdisc.
    Bbr,
    Vegas,
    /// The access point keeps a tenth of what others' does, and what is too much is lost: also
    /// acknowledgements, and the air has room for data instead.
    CubicShortQueue,
    /// The access point sorts what waits there by flow, and drops what waits too long.
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

    /// As the kernel calls it; Takt's policy chooses its own beside it.
    pub fn congestion_control(self) -> &'static str {
        match self {
            Self::Bbr => "bbr",
            Self::Vegas => "vegas",
            _ => "cubic",
        }
    }

    /// Where acknowledgements wait for the access point's turn: as many as its device keeps by
    /// default (`txqueuelen`), first in, first out.
    pub fn access_point(self) -> String {
        qdisc(match self {
            Self::CubicFqCodel => FQ_CODEL,
            Self::CubicShortQueue => "pfifo limit 100",
            _ => "pfifo limit 1000",
        })
    }

    /// A terminal's own queue is what distributions and mac80211 have there, whoever decides: it
    /// holds little, since TCP holds back what its own device has not sent.
    pub fn terminal(self) -> String {
        qdisc(FQ_CODEL)
    }
}

/// With mac80211's times for CoDel.
const FQ_CODEL: &str = "fq_codel target 20ms interval 100ms";

fn qdisc(words: &str) -> String {
    format!("qdisc replace dev {DEVICE} root {words}")
}
