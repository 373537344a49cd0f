//! From values to coordinates.

/// A logarithmic axis over whole decades.
pub struct LogScale {
    /// Powers of ten at both ends.
    first: i32,
    last: i32,
    from_px: f64,
    to_px: f64,
}

impl LogScale {
    /// The decades that cover `values`. Values below `floor` are drawn at `floor`, since a
    /// logarithmic axis has no zero. `None` without values.
    pub fn covering(
        values: impl IntoIterator<Item = f64>,
        floor: f64,
        px: (f64, f64),
    ) -> Option<Self> {
        let (low, high) = values.into_iter().map(|value| value.max(floor)).fold(
            None,
            |range: Option<(f64, f64)>, value| {
                let (low, high) = range.unwrap_or((value, value));
                Some((low.min(value), high.max(value)))
            },
        )?;
        let first = low.log10().floor() as i32;
        let last = (high.log10().ceil() as i32).max(first + 1);
        Some(LogScale {
            first,
            last,
            from_px: px.0,
            to_px: px.1,
        })
    }

    /// Values off the axis are drawn at its end.
    pub fn place(&self, value: f64) -> f64 {
        let span = f64::from(self.last - self.first);
        // Zero and less have no logarithm; they are off the axis at its low end.
        let value = value.max(f64::MIN_POSITIVE);
        let share = (value.log10() - f64::from(self.first)) / span;
        self.from_px + share.clamp(0.0, 1.0) * (self.to_px - self.from_px)
    }

    pub fn decades(&self) -> impl Iterator<Item = f64> + use<> {
        (self.first..=self.last).map(|power| 10_f64.powi(power))
    }
}

/// A round step (1, 2 or 5 times a power of ten) that divides `span` into at
/// most `steps` parts.
pub fn round_step(span: f64, steps: f64) -> f64 {
    let power = 10_f64.powf((span / steps).log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|step| span / step <= steps)
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_cover_the_values() {
        let scale = LogScale::covering([0.0, 3.0, 1200.0], 1.0, (0.0, 400.0)).unwrap();
        assert_eq!(
            scale.decades().collect::<Vec<_>>(),
            [1.0, 10.0, 100.0, 1000.0, 10000.0]
        );
        assert_eq!(
            [0.0, 1.0, 100.0, 1e9].map(|v| scale.place(v)),
            [0.0, 0.0, 200.0, 400.0]
        );
    }

    #[test]
    fn steps_are_round_and_few() {
        assert_eq!(round_step(3120.0, 6.0), 1000.0);
        assert_eq!(round_step(2458.0, 6.0), 500.0);
        assert_eq!(round_step(9.0, 10.0), 1.0);
    }
}
