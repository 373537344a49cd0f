//! Strength of connection against SoCPS's formulas in floating point.

use proptest::prelude::*;
use takt_algo::{Soc, SocLaw, SocStats, SocTerms};

const INTERVAL_NS: u64 = 200_000_000;
const ONE_PPM: u32 = 1_000_000;

fn terms(smoothing_ppm: u32, decay_ppm: u32) -> SocTerms {
    let law = SocLaw::Piecewise(vec![(0, 0), (1000, ONE_PPM)]);
    SocTerms::new(INTERVAL_NS, smoothing_ppm, decay_ppm, &law)
}

fn sample() -> impl Strategy<Value = i32> {
    prop_oneof![8 => SocTerms::SAMPLES_CENTIDB, 1 => any::<i32>()]
}

/// The value that is used of it.
fn cut(sample_centidb: i32) -> i32 {
    let range = SocTerms::SAMPLES_CENTIDB;
    sample_centidb.clamp(*range.start(), *range.end())
}

#[derive(Debug, Clone)]
enum Step {
    Report(i32),
    /// This many intervals without one, and this share of another.
    Silence(u64, f64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => sample().prop_map(Step::Report),
        1 => (0..40u64, 0.0..1.0f64).prop_map(|(whole, part)| Step::Silence(whole, part)),
    ]
}

proptest! {
    #[test]
    fn reports_and_silence_as_in_the_paper(
        smoothing_ppm in 10_000..=ONE_PPM,
        decay_ppm in 0..=ONE_PPM,
        first in sample(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let terms = terms(smoothing_ppm, decay_ppm);
        let (alpha, beta) = (f64::from(smoothing_ppm) / 1e6, f64::from(decay_ppm) / 1e6);
        let (mut soc, mut stats) = (Soc::default(), SocStats::default());
        let mut now_ns = 1 << 40;
        soc.report(&mut stats, &terms, first, now_ns);
        let mut model = f64::from(cut(first));
        for step in steps {
            match step {
                Step::Report(sample) => {
                    now_ns += INTERVAL_NS;
                    soc.report(&mut stats, &terms, sample, now_ns);
                    model = alpha * f64::from(cut(sample)) + (1.0 - alpha) * model;
                }
                Step::Silence(whole, part) => {
                    // The next report would have come an interval later.
                    let missed_ns = whole * INTERVAL_NS;
                    let late_ns = (part * INTERVAL_NS as f64) as u64;
                    soc.tick(&mut stats, &terms, now_ns + missed_ns + late_ns);
                    let heard = soc.centidb();
                    // Asked again, it gives the same answer.
                    soc.tick(&mut stats, &terms, now_ns + missed_ns + late_ns);
                    prop_assert_eq!(soc.centidb(), heard);
                    if model > 0.0 && whole > 0 {
                        model *= beta.powi(whole as i32 - 1);
                        // The last of them is missing once it is half an interval late.
                        if late_ns >= INTERVAL_NS / 2 {
                            model *= beta;
                        }
                    }
                    soc.report(&mut stats, &terms, 0, now_ns + missed_ns + late_ns);
                    model *= 1.0 - alpha;
                    now_ns += missed_ns + late_ns;
                }
            }
            prop_assert!(
                (f64::from(soc.centidb()) - model).abs() <= 1.0,
                "{} instead of {model}", soc.centidb()
            );
        }
    }

    #[test]
    fn silence_never_makes_a_station_better(
        decay_ppm in any::<u32>(),
        first in sample(),
        silences_ns in prop::collection::vec(any::<u64>(), 1..20),
    ) {
        let terms = terms(ONE_PPM, decay_ppm);
        let (mut soc, mut stats) = (Soc::default(), SocStats::default());
        soc.report(&mut stats, &terms, first, 0);
        let mut before = soc.centidb();
        prop_assert_eq!(before, cut(first));
        for silent_ns in silences_ns {
            soc.tick(&mut stats, &terms, silent_ns);
            prop_assert!(soc.centidb() <= before);
            // Nor does it turn a good station into one below the noise.
            prop_assert!(soc.centidb() >= before.min(0));
            before = soc.centidb();
        }
    }

    #[test]
    fn a_report_moves_towards_its_sample_and_not_beyond(
        smoothing_ppm in any::<u32>(),
        samples in prop::collection::vec(sample(), 2..40),
    ) {
        let terms = terms(smoothing_ppm, ONE_PPM);
        let (mut soc, mut stats) = (Soc::default(), SocStats::default());
        soc.report(&mut stats, &terms, samples[0], 0);
        for sample in &samples[1..] {
            let before = soc.centidb();
            soc.report(&mut stats, &terms, *sample, 0);
            let (low, high) = (before.min(cut(*sample)), before.max(cut(*sample)));
            prop_assert!((low..=high).contains(&soc.centidb()));
        }
    }

    #[test]
    fn any_constant_signal_is_reached(smoothing_ppm in 10_000..=ONE_PPM, from in sample(), to in sample()) {
        let terms = terms(smoothing_ppm, 700_000);
        let (mut soc, mut stats) = (Soc::default(), SocStats::default());
        soc.report(&mut stats, &terms, from, 0);
        for interval in 1..2000 {
            soc.report(&mut stats, &terms, to, interval * INTERVAL_NS);
        }
        prop_assert_eq!(soc.centidb(), cut(to));
        prop_assert_eq!((stats.reports, stats.missed), (2000, 0));
    }

    /// Also where the points do not rise, which no policy says.
    #[test]
    fn a_weight_rises_with_soc_between_points(
        steps in prop::collection::vec((1..500i32, 1..60_000u32), 1..=SocTerms::POINTS_MAX),
        soc_centidb in prop::collection::vec(-4000..8000i32, 2..20),
    ) {
        let mut points = Vec::new();
        let mut last = (-2000, 0);
        for (soc, weight) in steps {
            last = (last.0 + soc, last.1 + weight);
            points.push(last);
        }
        let terms = SocTerms::new(INTERVAL_NS, 1, 1, &SocLaw::Piecewise(points.clone()));
        for point in &points {
            prop_assert_eq!(terms.weight_ppm(point.0), point.1);
        }
        let mut sorted = soc_centidb;
        sorted.sort_unstable();
        let weights: Vec<u32> = sorted.iter().map(|soc| terms.weight_ppm(*soc)).collect();
        prop_assert!(weights.is_sorted());
        prop_assert!(weights.iter().all(|weight| (points[0].1..=last.1).contains(weight)));
        for (soc, weight) in sorted.iter().zip(weights) {
            let exact = linear(&points, *soc);
            prop_assert!((f64::from(weight) - exact).abs() <= 1.0);
        }
    }

    #[test]
    fn wild_terms_do_no_harm(
        points in prop::collection::vec((any::<i32>(), any::<u32>()), 0..20),
        interval_ns in any::<u64>(),
        shares_ppm in any::<(u32, u32)>(),
        reports in prop::collection::vec((any::<i32>(), any::<u64>()), 1..20),
    ) {
        let law = SocLaw::Piecewise(points);
        let terms = SocTerms::new(interval_ns, shares_ppm.0, shares_ppm.1, &law);
        let (mut soc, mut stats) = (Soc::default(), SocStats::default());
        for (sample, now_ns) in reports {
            soc.report(&mut stats, &terms, sample, now_ns);
            prop_assert!(SocTerms::SAMPLES_CENTIDB.contains(&soc.centidb()));
            terms.weight_ppm(sample);
        }
    }
}

fn linear(points: &[(i32, u32)], soc_centidb: i32) -> f64 {
    let (soc, x) = (f64::from(soc_centidb), |i: usize| f64::from(points[i].0));
    let y = |i: usize| f64::from(points[i].1);
    match points.iter().position(|point| soc_centidb < point.0) {
        Some(0) => y(0),
        Some(i) => y(i - 1) + (y(i) - y(i - 1)) * (soc - x(i - 1)) / (x(i) - x(i - 1)),
        None => y(points.len() - 1),
    }
}
