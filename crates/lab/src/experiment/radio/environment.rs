//! The stations' signals: SoCPS, table 3, and more.

use std::time::Duration;

use crate::experiment::wlan::Motion;

/// SoCPS's number of stations.
pub const STATIONS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    /// All stations at 15 dB or more.
    Good,
    /// The first ones below 10 dB.
    Bad { stations: usize },
    /// The first one walks around the room.
    Moving,
    /// A part of that walk, always the same: it approaches.
    Approaching,
    /// The first one at several strengths in turn, to compare them.
    Sweep,
    /// The first one's signal steps down and up.
    Stepping,
}

const GOOD_CENTIDB: i32 = 2000;
const BAD_CENTIDB: i32 = 300;
/// Of the walk; the medium's documentation has the sources.
const FAR_CENTIDB: i32 = 0;
const NEAR_CENTIDB: i32 = 2000;
/// 30 s into the walk, at 6.7 dB and a third of a dB more each second.
const APPROACH_FROM: Duration = Duration::from_secs(30);
/// Of the sweep.
pub const SWEEP_DB: [i32; 11] = [0, 1, 2, 3, 4, 6, 8, 9, 10, 12, 15];
/// An interval for settling, and three that count.
pub const SWEEP_STEP: Duration = Duration::from_secs(12);
/// Of the steps: weight 0.1, at which frames are still sent and can be counted.
const GONE_CENTIDB: i32 = 200;
pub const STAY: Duration = Duration::from_secs(4);

impl Environment {
    pub fn name(self) -> String {
        match self {
            Self::Good => "good".to_owned(),
            Self::Bad { stations } => format!("bad{stations}"),
            Self::Moving => "moving".to_owned(),
            Self::Approaching => "approaching".to_owned(),
            Self::Sweep => "sweep".to_owned(),
            Self::Stepping => "stepping".to_owned(),
        }
    }

    /// The number of the first stations whose signal is weak at times.
    pub fn troubled(self) -> usize {
        match self {
            Self::Good => 0,
            Self::Bad { stations } => stations.min(STATIONS),
            Self::Moving | Self::Approaching | Self::Sweep | Self::Stepping => 1,
        }
    }

    /// The measurement begins at a multiple of this on the medium's clock.
    pub fn begins_every(self) -> Option<Duration> {
        match self {
            Self::Sweep => Some(SWEEP_STEP),
            Self::Stepping => Some(STAY * 2),
            Self::Approaching => Some(APPROACH_FROM),
            Self::Good | Self::Bad { .. } | Self::Moving => None,
        }
    }

    pub fn motion(self, station: usize) -> Motion {
        match self {
            Self::Bad { stations } if station < stations => Motion::Still {
                snr_centidb: BAD_CENTIDB,
            },
            Self::Moving | Self::Approaching if station == 0 => Motion::RoundTrip {
                far_centidb: FAR_CENTIDB,
                near_centidb: NEAR_CENTIDB,
            },
            Self::Sweep if station == 0 => Motion::Steps {
                centidb: SWEEP_DB.map(|db| db * 100).into(),
                each: SWEEP_STEP,
            },
            Self::Stepping if station == 0 => Motion::Steps {
                centidb: vec![GOOD_CENTIDB, GONE_CENTIDB],
                each: STAY,
            },
            _ => Motion::Still {
                snr_centidb: GOOD_CENTIDB,
            },
        }
    }
}
