//! Weights of stations.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Serialize;

/// Weights by strength of connection (SoCPS): a station's share follows its reception.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Radio {
    /// Between two samples, reports or decays.
    pub interval_ns: u64,
    /// The share of the newest sample in the average, in millionths.
    pub smoothing_ppm: u32,
    /// The part of the average that remains after an interval without a report, in millionths.
    pub decay_ppm: u32,
    /// The function from strength to weight.
    pub law: WeightLaw,
    /// The devices whose links have stations; `None`: all of this policy.
    pub links: Option<Vec<String>>,
    /// The source of strengths.
    pub source: RadioSource,
    /// The UDP port that reports are taken on, if they are the source.
    pub listen: u16,
    /// The key that reports are sent and taken with. A path that is relative in the file starts at
    /// the file if the policy was [loaded](crate::load), else at the current directory.
    pub key_file: Option<PathBuf>,
    /// On a client: where it reports its strength.
    pub report: Option<Report>,
}

/// From strength of connection to weight. SoCPS, section 4.3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum WeightLaw {
    /// PW: linear from point to point, level before the first and after the last. 1 to 16 points;
    /// strengths rise, weights do not fall.
    Piecewise {
        /// From the weakest to the strongest.
        points: Vec<Point>,
    },
    /// GB: 1 above the threshold, 0 otherwise.
    GoodBad {
        /// In hundredths of a dB.
        threshold_centidb: i32,
    },
}

/// A weight for a strength of connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Point {
    /// Hundredths of a dB.
    pub soc_centidb: i32,
    /// 0 to 1,000,000.
    pub weight_ppm: u32,
}

/// The source of strengths of connection. Strengths set by hand (`takt station set`) always count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RadioSource {
    /// Reports of clients, which measure.
    Reports,
    /// The access point's own table of stations (nl80211).
    StationDump,
    /// A file with lines `ADDR DB`, read every interval; the path is as that of the key.
    File(PathBuf),
    /// Only strengths set by hand.
    None,
}

impl RadioSource {
    /// In the policy's spelling.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Reports => "reports",
            Self::StationDump => "station-dump",
            Self::File(_) => "file",
            Self::None => "none",
        }
    }
}

/// Where a client sends the strength of its connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The receiver of the reports.
    pub to: SocketAddr,
    /// The device whose signal is measured.
    pub device: String,
}
