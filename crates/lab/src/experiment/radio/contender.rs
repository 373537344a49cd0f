//! The schedulers at the access point, each set up as an expert would.

use std::path::Path;
use std::time::Duration;

use super::clients;
use crate::experiment::setup::Qdisc;
use crate::experiment::wlan::{DEVICE, Waiting};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    /// A FIFO of SoCPS's length (BSD's interface queue).
    Fifo,
    /// With the times that mac80211 gives CoDel where stations are this slow: a single frame
    /// takes longer than its target for fast links.
    FqCodel,
    /// Hosts share equally, and then each host's flows. There is no rate to shape to, since the
    /// air's is unknown. `rtt` for the same reason as above.
    Cake,
    /// The usual scheduler of access points, without a qdisc: mac80211's queues and airtime.
    Airtime,
    Takt(Weights),
    /// By [`Weights::Piecewise`], with reports from the stations themselves, over the air, at
    /// this interval in milliseconds.
    Reported {
        interval_ms: u64,
    },
}

/// How Takt weighs stations: SoCPS, section 5.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    /// No stations: a FIFO.
    None,
    /// All or nothing, from this many dB on.
    GoodBad(u32),
    Piecewise,
}

/// T_soc, in general.
pub const SNR_INTERVAL: Duration = Duration::from_millis(200);

impl Contender {
    pub const PW: Self = Self::Takt(Weights::Piecewise);

    /// Everything that may differ.
    pub const ALL: [Self; 9] = [
        Self::PW,
        Self::Takt(Weights::GoodBad(12)),
        Self::Takt(Weights::GoodBad(6)),
        Self::Takt(Weights::GoodBad(1)),
        Self::Takt(Weights::None),
        Self::Fifo,
        Self::FqCodel,
        Self::Cake,
        Self::Airtime,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Fifo => "pfifo",
            Self::FqCodel => "fq_codel",
            Self::Cake => "cake",
            Self::Airtime => "airtime",
            Self::Takt(Weights::None) => "takt-fifo",
            Self::Takt(Weights::GoodBad(12)) => "takt-gb12",
            Self::Takt(Weights::GoodBad(6)) => "takt-gb6",
            Self::Takt(Weights::GoodBad(_)) => "takt-gb1",
            Self::Takt(Weights::Piecewise) => "takt-pw",
            Self::Reported { interval_ms: 20 } => "takt-pw-20ms",
            Self::Reported { .. } => "takt-pw-200ms",
        }
    }

    /// The interval of strengths, if there are any.
    pub fn told_every(self) -> Option<Duration> {
        match self {
            Self::Takt(Weights::None) => None,
            Self::Takt(_) => Some(SNR_INTERVAL),
            Self::Reported { interval_ms } => Some(Duration::from_millis(interval_ms)),
            Self::Fifo | Self::FqCodel | Self::Cake | Self::Airtime => None,
        }
    }

    /// Whether the stations report over the air.
    pub fn is_reported(self) -> bool {
        matches!(self, Self::Reported { .. })
    }

    pub fn waiting(self) -> Waiting {
        match self {
            Self::Airtime => Waiting::Airtime,
            _ => Waiting::Qdisc,
        }
    }

    /// `folder` has the file with the stations' signal, and the key.
    pub fn qdisc(self, folder: &Path) -> Qdisc {
        let words = match self {
            Self::Fifo => "pfifo limit 50",
            Self::FqCodel => "fq_codel target 50ms interval 300ms",
            Self::Cake => "cake unlimited besteffort dual-dsthost rtt 300ms",
            // Nothing ever waits in it.
            Self::Airtime => "pfifo limit 1000",
            Self::Takt(weights) => return Qdisc::Takt(self.policy(weights, folder)),
            Self::Reported { .. } => {
                return Qdisc::Takt(self.policy(Weights::Piecewise, folder));
            }
        };
        Qdisc::Tc(vec![format!("qdisc replace dev {DEVICE} root {words}")])
    }

    /// The device takes a frame when the air does, so the rate is never the limit.
    fn policy(self, weights: Weights, folder: &Path) -> String {
        let law = match weights {
            Weights::None => String::new(),
            Weights::GoodBad(threshold) => format!("weight = \"gb\"\nthreshold = {threshold}\n"),
            Weights::Piecewise => {
                "weight = \"pw\"\npoints = [[0, 0.0], [4, 0.2], [10, 0.8], [14, 1.0]]\n".to_owned()
            }
        };
        let source = if self.is_reported() {
            format!("key_file = {:?}", clients::key(folder).display())
        } else {
            format!(
                "source = \"file\"\nfile = {:?}",
                clients::snr(folder).display()
            )
        };
        let radio = self.told_every().map(|interval| {
            let ms = interval.as_millis();
            format!("[radio]\ninterval = \"{ms}ms\"\n{source}\n{law}")
        });
        format!(
            "[link.{DEVICE}]\nrate = \"1gbit\"\n\n\
             [[link.{DEVICE}.class]]\nname = \"default\"\nqueue_packets = 12\n\n{}",
            radio.unwrap_or_default()
        )
    }
}
