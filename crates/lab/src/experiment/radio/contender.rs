//! Who schedules at the access point, set as somebody who knows it would set it
//! there.

use std::path::Path;

use crate::experiment::setup::Qdisc;
use crate::experiment::wlan::DEVICE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    /// First in, first out, as long as the paper's (BSD's interface queue).
    Fifo,
    FqCodel,
    /// Hosts share equally, and then each host's flows; there is no rate to shape
    /// to, since nobody knows the air's.
    Cake,
    Takt(Weights),
}

/// How Takt weighs stations: paper 003, section 5.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    /// It knows none: first in, first out.
    None,
    /// All or nothing, from so many dB on.
    GoodBad(u32),
    Piecewise,
}

impl Contender {
    pub const ALL: [Self; 8] = [
        Self::Fifo,
        Self::FqCodel,
        Self::Cake,
        Self::Takt(Weights::None),
        Self::Takt(Weights::GoodBad(12)),
        Self::Takt(Weights::GoodBad(6)),
        Self::Takt(Weights::GoodBad(1)),
        Self::Takt(Weights::Piecewise),
    ];

    pub const SHORT: [Self; 3] = [Self::Fifo, Self::FqCodel, Self::Takt(Weights::Piecewise)];

    pub fn name(self) -> &'static str {
        match self {
            Self::Fifo => "pfifo",
            Self::FqCodel => "fq_codel",
            Self::Cake => "cake",
            Self::Takt(Weights::None) => "takt-fifo",
            Self::Takt(Weights::GoodBad(12)) => "takt-gb12",
            Self::Takt(Weights::GoodBad(6)) => "takt-gb6",
            Self::Takt(Weights::GoodBad(_)) => "takt-gb1",
            Self::Takt(Weights::Piecewise) => "takt-pw",
        }
    }

    /// Does taktd tell it how stations hear?
    pub fn is_told(self) -> bool {
        matches!(self, Self::Takt(weights) if weights != Weights::None)
    }

    /// `snr` is the file that says how stations hear.
    pub fn qdisc(self, snr: &Path) -> Qdisc {
        let words = match self {
            Self::Fifo => "pfifo limit 50",
            Self::FqCodel => "fq_codel",
            Self::Cake => "cake unlimited besteffort dual-dsthost",
            Self::Takt(weights) => return Qdisc::Takt(policy(weights, snr)),
        };
        Qdisc::Tc(vec![format!("qdisc replace dev {DEVICE} root {words}")])
    }
}

/// The device takes a frame when the air does, so the rate is never what holds one back.
fn policy(weights: Weights, snr: &Path) -> String {
    let law = match weights {
        Weights::None => String::new(),
        Weights::GoodBad(threshold) => format!("weight = \"gb\"\nthreshold = {threshold}\n"),
        Weights::Piecewise => {
            "weight = \"pw\"\npoints = [[0, 0.0], [4, 0.2], [10, 0.8], [14, 1.0]]\n".to_owned()
        }
    };
    let radio = match weights {
        Weights::None => String::new(),
        _ => format!(
            "[radio]\ninterval = \"200ms\"\nsource = \"file\"\nfile = {:?}\n{law}",
            snr.display()
        ),
    };
    format!(
        "[link.{DEVICE}]\nrate = \"1gbit\"\n\n\
         [[link.{DEVICE}.class]]\nname = \"default\"\nqueue_packets = 50\n\n{radio}"
    )
}
