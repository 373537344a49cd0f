//! Means of runs that differ by their seeds.

use serde::Serialize;

/// The mean of runs with different seeds, and half of its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half of the interval, by Student's distribution. `null` in JSON for a single value, of which
    /// there is none.
    pub half: f64,
}

/// Quantiles at 97.5 % for one degree of freedom and more (Student 1908).
const T: [f64; 30] = [
    12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
    2.12, 2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04,
];

impl Interval {
    /// Of at least one value. With more than 31 the quantile of 31 is taken, which is a little wide.
    pub fn from_values(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if values.len() < 2 {
            return Self {
                mean,
                half: f64::INFINITY,
            };
        }
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0)).sqrt();
        let t = T.get(values.len() - 2).unwrap_or(&T[T.len() - 1]);
        Self {
            mean,
            half: t * deviation / count.sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_students() {
        // Of 1 to 5 the deviation is the root of 2.5.
        let interval = Interval::from_values(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(interval.mean, 3.0);
        assert!((interval.half - 2.78 * (2.5_f64 / 5.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn equal_values_have_none_and_one_value_says_nothing() {
        assert_eq!(Interval::from_values(&[7.0; 40]).half, 0.0);
        assert_eq!(Interval::from_values(&[7.0]).half, f64::INFINITY);
    }
}
