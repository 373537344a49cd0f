//! How the stations hear: paper 003, table 3.

use crate::experiment::wlan::{Motion, STATIONS_MAX};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    /// Everyone at 15 dB or more.
    Good,
    /// The first ones below 10 dB.
    Bad { stations: usize },
    /// The first one walks around the room.
    Moving,
}

const GOOD_CENTIDB: i32 = 2000;
const BAD_CENTIDB: i32 = 300;
/// Of the walk: the medium's documentation says where these come from.
const FAR_CENTIDB: i32 = 0;
const NEAR_CENTIDB: i32 = 2000;

impl Environment {
    pub fn name(self) -> String {
        match self {
            Self::Good => "good".to_owned(),
            Self::Bad { stations } => format!("bad{stations}"),
            Self::Moving => "moving".to_owned(),
        }
    }

    /// How many of the first stations do not hear well all the time.
    pub fn troubled(self) -> usize {
        match self {
            Self::Good => 0,
            Self::Bad { stations } => stations.min(STATIONS_MAX),
            Self::Moving => 1,
        }
    }

    pub fn motion(self, station: usize) -> Motion {
        match self {
            Self::Bad { stations } if station < stations => Motion::Still {
                snr_centidb: BAD_CENTIDB,
            },
            Self::Moving if station == 0 => Motion::RoundTrip {
                far_centidb: FAR_CENTIDB,
                near_centidb: NEAR_CENTIDB,
            },
            _ => Motion::Still {
                snr_centidb: GOOD_CENTIDB,
            },
        }
    }
}
