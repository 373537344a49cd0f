//! Numbers with a decimal fraction and a unit, without floating point.

/// `digits / 10^scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u64,
    scale: u32,
}

/// A number as [`Decimal::split`] takes it, as a regular expression.
pub(super) const DECIMAL: &str = r"\d+(\.\d+)?";

/// Digits kept after the decimal point; 10^-12 of the largest unit is below any resolution here.
const SCALE_MAX: usize = 12;

impl Decimal {
    /// Splits `"2.5gbit"` into the number and the rest. `None` if the text does not start with a
    /// number, or with one beyond all ranges.
    pub fn split(text: &str) -> Option<(Decimal, &str)> {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        let fraction = &fraction[..fraction.len().min(SCALE_MAX)];
        let scale = fraction.len() as u32;
        let digits = whole
            .parse::<u64>()
            .ok()?
            .checked_mul(10u64.pow(scale))?
            .checked_add(fraction.parse().ok()?)?;
        Some((Decimal { digits, scale }, unit))
    }

    pub fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// The number times `factor`, rounded to the nearest integer; saturates.
    pub fn times(self, factor: u64) -> u64 {
        let divisor = 10u128.pow(self.scale);
        let product = u128::from(self.digits) * u128::from(factor);
        u64::try_from((product + divisor / 2) / divisor).unwrap_or(u64::MAX)
    }
}
