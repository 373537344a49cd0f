//! `algo/soc.h`.

use crate::sys::{self, takt_soc, takt_soc_params, takt_soc_point};

pub use crate::sys::takt_soc_stats as SocStats;

/// The law from SoC to weight. SoCPS, section 4.3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocLaw {
    /// Full weight above the threshold, none otherwise.
    GoodBad {
        /// In hundredths of a dB.
        threshold_centidb: i32,
    },
    /// Linear between points of SoC and weight, 1 to [`SocTerms::POINTS_MAX`] of them,
    /// both rising.
    Piecewise(Vec<(i32, u32)>),
}

/// How samples become SoC, and SoC becomes weight.
#[derive(Clone, Copy)]
pub struct SocTerms(takt_soc_params);

impl SocTerms {
    /// The most points of a law.
    pub const POINTS_MAX: usize = sys::TAKT_SOC_POINTS as usize;
    /// The range of a sample, in hundredths of a dB; others are cut.
    pub const SAMPLES_CENTIDB: std::ops::RangeInclusive<i32> =
        sys::TAKT_SOC_MIN_CENTIDB..=sys::TAKT_SOC_MAX_CENTIDB as i32;

    /// Points beyond [`Self::POINTS_MAX`] are left out.
    pub fn new(interval_ns: u64, smoothing_ppm: u32, decay_ppm: u32, law: &SocLaw) -> Self {
        let mut params = takt_soc_params {
            interval_ns,
            smoothing_ppm,
            decay_ppm,
            ..takt_soc_params::default()
        };
        match law {
            SocLaw::GoodBad { threshold_centidb } => {
                params.law = sys::TAKT_SOC_GB;
                params.threshold_centidb = *threshold_centidb;
            }
            SocLaw::Piecewise(points) => {
                params.law = sys::TAKT_SOC_PW;
                for (to, &(soc_centidb, weight_ppm)) in params.points.iter_mut().zip(points) {
                    *to = takt_soc_point {
                        soc_centidb,
                        weight_ppm,
                    };
                    params.point_count += 1;
                }
            }
        }
        Self(params)
    }

    /// The interval of reports.
    pub fn interval_ns(&self) -> u64 {
        self.0.interval_ns
    }

    /// The weight of a SoC, in parts per million.
    pub fn weight_ppm(&self, soc_centidb: i32) -> u32 {
        // SAFETY: a valid struct; see the crate's documentation.
        unsafe { sys::takt_soc_weight(&self.0, soc_centidb) }
    }
}

/// The strength of connection of one station.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Soc(takt_soc);

impl Soc {
    /// A report arrived. The first is the SoC, later ones are smoothed into it.
    pub fn report(
        &mut self,
        stats: &mut SocStats,
        terms: &SocTerms,
        sample_centidb: i32,
        now_ns: u64,
    ) {
        // SAFETY: valid structs; see the crate's documentation.
        unsafe { sys::takt_soc_report(&mut self.0, stats, &terms.0, sample_centidb, now_ns) }
    }

    /// Time has passed; missed reports decay the SoC.
    pub fn tick(&mut self, stats: &mut SocStats, terms: &SocTerms, now_ns: u64) {
        // SAFETY: as above.
        unsafe { sys::takt_soc_tick(&mut self.0, stats, &terms.0, now_ns) }
    }

    /// In hundredths of a dB.
    pub fn centidb(&self) -> i32 {
        // SAFETY: a valid struct.
        unsafe { sys::takt_soc_centidb(&self.0) }
    }
}
