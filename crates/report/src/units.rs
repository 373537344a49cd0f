//! Figures for readers: `99.9989 Mbit/s`, `1.27 µs`, `−68,000`.

/// A metric's unit, read off the end of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    BitsPerSecond,
    Ppm,
    Nanoseconds,
    NanosecondsPerPacket,
    NanosecondsPerKilobyte,
    Percent,
    Plain,
}

/// Longer endings first: `_ns_per_packet` is not a number of packets.
const ENDINGS: [(&str, Unit); 6] = [
    ("_ns_per_packet", Unit::NanosecondsPerPacket),
    ("_ns_per_kb", Unit::NanosecondsPerKilobyte),
    ("_bps", Unit::BitsPerSecond),
    ("_ppm", Unit::Ppm),
    ("_percent", Unit::Percent),
    ("_ns", Unit::Nanoseconds),
];

impl Unit {
    /// The metric's name without its unit, and the unit.
    pub fn split(metric: &str) -> (&str, Unit) {
        ENDINGS
            .iter()
            .find_map(|(ending, unit)| Some((metric.strip_suffix(ending)?, *unit)))
            .unwrap_or((metric, Unit::Plain))
    }

    /// The addition to a column's heading where the cells are bare numbers.
    pub fn heading(self) -> Option<&'static str> {
        match self {
            Unit::Ppm => Some("ppm"),
            Unit::Percent => Some("%"),
            Unit::NanosecondsPerPacket => Some("ns/packet"),
            Unit::NanosecondsPerKilobyte => Some("ns/KB"),
            Unit::BitsPerSecond | Unit::Nanoseconds | Unit::Plain => None,
        }
    }

    pub fn format(self, value: f64) -> String {
        match self {
            Unit::BitsPerSecond => rate(value),
            Unit::Nanoseconds => time(value),
            Unit::Ppm if value.abs() < 9.95 => number(value, 1),
            // Errors are mostly far below one.
            Unit::Percent if value != 0.0 && value.abs() < 0.995 => number(value, 3),
            Unit::Percent => number(value, 1),
            Unit::Plain if value.fract() != 0.0 => number(value, 3),
            Unit::Ppm | Unit::NanosecondsPerPacket | Unit::NanosecondsPerKilobyte | Unit::Plain => {
                number(value, 0)
            }
        }
    }
}

/// Six digits, so that a hundred ppm are visible: `99.9989 Mbit/s`.
pub fn rate(bps: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    let (figure, unit) = scaled(bps, 6, &UNITS, "bit/s");
    format!("{} {unit}", without_zeros(&figure))
}

/// Three digits, `1.70 µs`; below a microsecond in whole nanoseconds.
pub fn time(ns: f64) -> String {
    match scaled(ns, 3, &TIMES, "ns") {
        (_, "ns") => format!("{} ns", number(ns, 0)),
        (figure, unit) => format!("{figure} {unit}"),
    }
}

/// A time that is round already, for an axis: `10 µs`.
pub fn round_time(ns: f64) -> String {
    let (figure, unit) = scaled(ns, 3, &TIMES, "ns");
    format!("{} {unit}", without_zeros(&figure))
}

const TIMES: [(f64, &str); 3] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];

/// In the largest unit that leaves at least 1, with so many digits.
fn scaled<'a>(
    value: f64,
    digits: usize,
    units: &[(f64, &'a str)],
    smallest: &'a str,
) -> (String, &'a str) {
    // Half a digit early, or 999.9 would become "1000" of the smaller unit.
    let rounds_to = 1.0 - 0.5 / 10_f64.powi(digits as i32);
    let (scale, unit) = units
        .iter()
        .copied()
        .find(|(scale, _)| value.abs() >= scale * rounds_to)
        .unwrap_or((1.0, smallest));
    let value = value / scale;
    let whole_digits = value.abs().max(1.0).log10().floor() as usize + 1;
    (number(value, digits.saturating_sub(whole_digits)), unit)
}

fn without_zeros(figure: &str) -> &str {
    if figure.contains('.') {
        figure.trim_end_matches('0').trim_end_matches('.')
    } else {
        figure
    }
}

/// Thousands apart, a real minus sign, and no minus on what rounds to zero.
pub fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::with_capacity(text.len() + text.len() / 3);
    if value < 0.0 && text.bytes().any(|digit| (b'1'..=b'9').contains(&digit)) {
        grouped.push('−');
    }
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_keep_what_a_hundred_ppm_change() {
        let shown = [0.0, 500e3, 1e6, 99_998_900.0, 999_999_900.0, 1e9].map(rate);
        let wanted = [
            "0 bit/s",
            "500 kbit/s",
            "1 Mbit/s",
            "99.9989 Mbit/s",
            "1 Gbit/s",
            "1 Gbit/s",
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn times_have_three_digits() {
        let shown = [3.0, 691.0, 999.6, 1_700.0, 31_682.0, 999_600.0, 1_221_907.0].map(time);
        let wanted = [
            "3 ns", "691 ns", "1.00 µs", "1.70 µs", "31.7 µs", "1.00 ms", "1.22 ms",
        ];
        assert_eq!(shown, wanted);
        assert_eq!(
            [1.0, 100.0, 1e4, 1e9].map(round_time),
            ["1 ns", "100 ns", "10 µs", "1 s"]
        );
    }

    #[test]
    fn numbers_are_grouped_and_signed() {
        let shown = [1_234_567.0, -68_000.0, 999.0, -0.2].map(|value| number(value, 0));
        assert_eq!(shown, ["1,234,567", "−68,000", "999", "0"]);
    }

    #[test]
    fn the_longest_ending_is_the_unit() {
        assert_eq!(
            Unit::split("cost_ns_per_packet"),
            ("cost", Unit::NanosecondsPerPacket)
        );
        assert_eq!(Unit::split("packets_lost"), ("packets_lost", Unit::Plain));
    }
}
