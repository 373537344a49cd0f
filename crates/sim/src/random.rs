//! Random numbers: one generator for each use, so that one more draw here changes nothing there.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution as _, Exp1, Pareto};
use rand_pcg::Pcg64Mcg;
use takt_policy::traffic::Distribution;

/// Draws of one flow, or of the host.
#[derive(Debug, Clone)]
pub(crate) struct Random(Pcg64Mcg);

impl Random {
    /// The generator with this number, of a run with this seed.
    pub fn new(seed: u64, number: u64) -> Self {
        // An odd factor spreads neighbouring numbers over the generator's seeds.
        let mixed = seed ^ number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(Pcg64Mcg::seed_from_u64(mixed))
    }

    /// A whole number below the end, or 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.random_range(0..end.max(1))
    }

    /// Of an exponential distribution, rounded.
    pub fn exponential_ns(&mut self, mean_ns: u64) -> u64 {
        let unit: f64 = Exp1.sample(&mut self.0);
        (unit * mean_ns as f64).round() as u64
    }

    /// Of Pareto's distribution with this mean, rounded; its shape is above 1.
    pub fn pareto_ns(&mut self, mean_ns: u64, shape_milli: u64) -> u64 {
        let shape = shape_milli as f64 / 1e3;
        let least = mean_ns as f64 * (shape - 1.0) / shape;
        match Pareto::new(least.max(1.0), shape) {
            Ok(pareto) => pareto.sample(&mut self.0).round() as u64,
            // Not with a shape that a traffic file may have.
            Err(_) => mean_ns,
        }
    }

    /// Of a distribution of the traffic file.
    pub fn draw_ns(&mut self, from: &Distribution) -> u64 {
        match from {
            Distribution::Constant(ns) => *ns,
            Distribution::Uniform(first_ns, last_ns) => {
                first_ns + self.below(last_ns - first_ns + 1)
            }
            Distribution::Histogram(buckets) => self.draw_bucket_ns(buckets),
        }
    }

    fn draw_bucket_ns(&mut self, buckets: &[(u64, u64)]) -> u64 {
        let total: u64 = buckets.iter().map(|(_, count)| count).sum();
        let mut at = self.below(total);
        for (index, &(edge_ns, count)) in buckets.iter().enumerate() {
            if at < count {
                let end_ns = buckets.get(index + 1).map_or(edge_ns + 1, |next| next.0);
                return edge_ns + self.below(end_ns - edge_ns);
            }
            at -= count;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_draws_within_its_buckets_and_as_often() {
        let buckets = Distribution::Histogram(vec![(100, 1), (200, 3), (300, 0)]);
        let mut random = Random::new(1, 0);
        let drawn: Vec<u64> = (0..4000).map(|_| random.draw_ns(&buckets)).collect();
        let first = drawn.iter().filter(|ns| (100..200).contains(*ns)).count();
        assert!((900..1100).contains(&first), "{first}");
        assert!(drawn.iter().all(|ns| (100..300).contains(ns)));
    }

    #[test]
    fn means_are_as_asked_for() {
        let mut random = Random::new(2, 0);
        let mut mean = |draw: &mut dyn FnMut(&mut Random) -> u64| {
            (0..100_000).map(|_| draw(&mut random)).sum::<u64>() / 100_000
        };
        let exponential = mean(&mut |random| random.exponential_ns(10_000));
        let pareto = mean(&mut |random| random.pareto_ns(10_000, 3_000));
        let uniform = mean(&mut |random| random.draw_ns(&Distribution::Uniform(5_000, 15_000)));
        for mean_ns in [exponential, pareto, uniform] {
            assert!((9_800..10_200).contains(&mean_ns), "{mean_ns}");
        }
    }

    #[test]
    fn neighbours_differ() {
        let first = |number| Random::new(7, number).below(u64::MAX);
        assert_ne!(first(0), first(1));
        assert_eq!(first(3), first(3));
    }
}
