//! Figures in few letters: four digits and a unit.

const RATES: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
const TIMES: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let unit = units.iter().find(|(factor, _)| value >= *factor);
    let (factor, unit) = unit.or(units.last()).copied().unwrap_or((1.0, ""));
    let value = value / factor;
    let decimals = match value {
        value if value == value.round() && value < 1e4 => 0,
        value if value < 10.0 => 3,
        value if value < 100.0 => 2,
        _ => 1,
    };
    format!("{value:.decimals$}{unit}")
}

/// In bits per second.
pub(super) fn rate(bps: f64) -> String {
    scaled(bps, &RATES)
}

pub(super) fn time(ns: u64) -> String {
    scaled(ns as f64, &TIMES)
}

/// How far off, with its sign.
pub(super) fn error(ppm: f64) -> String {
    match ppm.abs() {
        part if part < 1000.0 => format!("{ppm:+.2}ppm"),
        _ => format!("{:+.2}%", ppm / 1e4),
    }
}

/// Nothing to say.
pub(super) fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_shown() {
        assert_eq!(rate(0.0), "0");
        assert_eq!(rate(1_250_000_000.0), "1.250G");
        assert_eq!(rate(64_000.0), "64k");
        assert_eq!(time(999), "999ns");
        assert_eq!(time(41_830), "41.83us");
        assert_eq!(error(-375_000.0), "-37.50%");
        assert_eq!(error(0.327), "+0.33ppm");
    }
}
