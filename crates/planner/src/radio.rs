//! The policy's radio parameters, as `algo/soc.h` takes them.

use takt_algo::{SocLaw, SocTerms};
use takt_policy::{Radio, WeightLaw};

/// Averaging and weighing as the policy says.
pub fn terms_of(radio: &Radio) -> SocTerms {
    let law = match &radio.law {
        WeightLaw::Piecewise { points } => SocLaw::Piecewise(
            points
                .iter()
                .map(|point| (point.soc_centidb, point.weight_ppm))
                .collect(),
        ),
        WeightLaw::GoodBad { threshold_centidb } => SocLaw::GoodBad {
            threshold_centidb: *threshold_centidb,
        },
    };
    SocTerms::new(
        radio.interval_ns,
        radio.smoothing_ppm,
        radio.decay_ppm,
        &law,
    )
}

/// The weight for a strength, in parts per million.
pub fn weight_ppm(radio: &Radio, soc_centidb: i32) -> u32 {
    terms_of(radio).weight_ppm(soc_centidb)
}
