//! Quantities of Kubernetes (`resource.Quantity`), as rates: `10M` is ten million bits a second.

/// Least and most that the bandwidth plugin of CNI takes: `1k` and `1P`.
pub const RATE_MIN_BPS: u64 = 1_000;
/// See [`RATE_MIN_BPS`].
pub const RATE_MAX_BPS: u64 = 1_000_000_000_000_000;

const TEXT_MAX_BYTES: usize = 64;
/// Of the number, without zeros in front: more would not fit the arithmetic.
const DIGITS_MAX: usize = 30;

/// Why a text is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRate {
    /// It is no quantity.
    #[error(
        "{0:?} is not a quantity; write bits per second as a number with a suffix k, M, G, \
         T, P, Ki, Mi, Gi and so on, such as 10M"
    )]
    NoQuantity(String),
    /// Kubernetes takes none below a kilobit per second.
    #[error(
        "{0:?} is below 1k, a kilobit per second; M stands for millions, and m for thousandths"
    )]
    Small(String),
    /// Kubernetes takes none above a petabit per second.
    #[error("{0:?} is above 1P, a petabit per second")]
    Large(String),
}

/// Bits per second, rounded up to a whole one.
pub fn rate_bps(text: &str) -> Result<u64, BadRate> {
    let shown = || text.chars().take(TEXT_MAX_BYTES).collect::<String>();
    match value(text) {
        None => Err(BadRate::NoQuantity(shown())),
        Some(bps) if bps < u128::from(RATE_MIN_BPS) => Err(BadRate::Small(shown())),
        Some(bps) if bps > u128::from(RATE_MAX_BPS) => Err(BadRate::Large(shown())),
        // Within the bounds it fits.
        Some(bps) => Ok(bps as u64),
    }
}

/// The value of a quantity, rounded up; below zero it is 0, and beyond the arithmetic its end.
fn value(text: &str) -> Option<u128> {
    if text.len() > TEXT_MAX_BYTES {
        return None;
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|next: char| !next.is_ascii_digit() && next != '.');
    let (number, suffix) = unsigned.split_at(end.unwrap_or(unsigned.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.len() > DIGITS_MAX {
        return None;
    }
    let mantissa: u128 = match digits {
        "" => 0,
        digits => digits.parse().ok()?,
    };
    let (factor, exponent) = scale(suffix)?;
    if text.starts_with('-') {
        return Some(0);
    }
    let exponent = exponent - i32::try_from(fraction.len()).ok()?;
    let ten = 10_u128.checked_pow(exponent.unsigned_abs());
    let value = mantissa.saturating_mul(factor);
    Some(match (exponent < 0, ten) {
        (false, ten) => value.saturating_mul(ten.unwrap_or(u128::MAX)),
        (true, Some(ten)) => value.div_ceil(ten),
        (true, None) => u128::from(value > 0),
    })
}

/// What a suffix multiplies by: a power of two, and a power of ten.
fn scale(suffix: &str) -> Option<(u128, i32)> {
    const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    const DECIMAL: [(&str, i32); 10] = [
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("", 0),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    ];
    if let Some(at) = BINARY.iter().position(|own| *own == suffix) {
        return Some((1 << (10 * (at + 1)), 0));
    }
    if let Some((_, exponent)) = DECIMAL.iter().find(|(own, _)| *own == suffix) {
        return Some((1, *exponent));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let exponent: i32 = is_number.then(|| exponent.parse().ok())??;
    (-1_000..=1_000)
        .contains(&exponent)
        .then_some((1, exponent))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn as_kubernetes_reads_them() {
        let right = [
            ("10M", 10_000_000),
            ("1k", 1_000),
            ("1Ki", 1_024),
            ("1.5G", 1_500_000_000),
            (".5M", 500_000),
            ("5.k", 5_000),
            ("+2T", 2_000_000_000_000),
            ("1P", RATE_MAX_BPS),
            ("1e6", 1_000_000),
            ("1E6", 1_000_000),
            ("25e-1k", 0),
            ("2500000000u", 2_500),
            ("1000.0001", 1_001),
            ("1000001m", 1_001),
            ("000000000000000000000000000000000000001M", 1_000_000),
            ("1Gi", 1 << 30),
        ];
        for (text, wanted_bps) in right {
            match wanted_bps {
                0 => assert!(rate_bps(text).is_err(), "{text}"),
                wanted_bps => assert_eq!(rate_bps(text), Ok(wanted_bps), "{text}"),
            }
        }
        for text in [
            "", "M", ".", "1.2.3k", "10 M", "10mb", "10Kib", "1e", "1e+", "٣M", "0x10", "--1",
        ] {
            assert!(
                matches!(rate_bps(text), Err(BadRate::NoQuantity(_))),
                "{text}"
            );
        }
        for text in ["0", "999", "10m", "-10M", "1n", "1e-1000", "999.0"] {
            assert!(matches!(rate_bps(text), Err(BadRate::Small(_))), "{text}");
        }
        for text in ["1E", "1.1P", "1Pi", "1e1000", "1000000000000001"] {
            assert!(matches!(rate_bps(text), Err(BadRate::Large(_))), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = rate_bps(&text);
        }

        #[test]
        fn whole_numbers_are_what_they_say(bps in RATE_MIN_BPS..=RATE_MAX_BPS) {
            prop_assert_eq!(rate_bps(&bps.to_string()), Ok(bps));
            prop_assert_eq!(rate_bps(&format!("{bps}000m")), Ok(bps));
        }
    }
}
