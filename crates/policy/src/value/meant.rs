//! What an unknown unit means. A guess keeps the magnitude, or there is none.

/// A unit of rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RateUnit {
    pub step: &'static Step,
    pub of: RateOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateOf {
    Bits,
    Bytes,
    /// As `25mb` and `25m/s`.
    BitsOrBytes,
}

/// A prefix of bits and bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// As units of rate have it.
    pub letters: &'static str,
    pub name: &'static str,
    pub factor: u64,
}

const STEPS: [Step; 8] = [
    step("", "", 1),
    step("k", "kilo", 1_000),
    step("m", "mega", 1_000_000),
    step("g", "giga", 1_000_000_000),
    step("t", "tera", 1_000_000_000_000),
    step("ki", "kibi", 1 << 10),
    step("mi", "mebi", 1 << 20),
    step("gi", "gibi", 1 << 30),
];

const fn step(letters: &'static str, name: &'static str, factor: u64) -> Step {
    Step {
        letters,
        name,
        factor,
    }
}

const RATE_ENDINGS: [(&str, RateOf); 7] = [
    ("bit", RateOf::Bits),
    ("bits", RateOf::Bits),
    ("byte", RateOf::Bytes),
    ("bytes", RateOf::Bytes),
    ("b", RateOf::BitsOrBytes),
    ("bs", RateOf::BitsOrBytes),
    ("", RateOf::BitsOrBytes),
];

const PER_SECOND: [&str; 6] = ["/second", "/sec", "/s", "persecond", "persec", "ps"];

/// Shorter words are too near to each other.
const TYPO_MIN_BYTES: usize = 3;

/// `known` are the units that there are.
pub(super) fn rate<'a>(unit: &str, known: impl Iterator<Item = &'a str>) -> Option<RateUnit> {
    let unit = bare(unit);
    let stem = PER_SECOND.iter().find_map(|end| unit.strip_suffix(end));
    let stem = stem.unwrap_or(&unit);
    spelled_rate(stem).or_else(|| spelled_rate(mended(stem, known)?))
}

/// The unit that is one slip away.
fn mended<'a>(stem: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = super::nearest(stem, known, 1);
    let unit = match near.as_slice() {
        [unit] => *unit,
        // `gibt` may be `gibit`, but has the letters of `gbit`.
        several => several.iter().find(|unit| sorted(unit) == sorted(stem))?,
    };
    // The prefix tells the magnitude.
    let keeps_prefix = unit.chars().next() == stem.chars().next();
    (keeps_prefix && stem.len() >= TYPO_MIN_BYTES).then_some(unit)
}

fn sorted(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.sort_unstable();
    letters
}

fn spelled_rate(stem: &str) -> Option<RateUnit> {
    RATE_ENDINGS.iter().find_map(|(ending, of)| {
        let prefix = stem.strip_suffix(ending).filter(|_| !stem.is_empty())?;
        let is_meant = |step: &&Step| prefix == step.letters || prefix == step.name;
        let step = STEPS.iter().find(is_meant)?;
        Some(RateUnit { step, of: *of })
    })
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Ns(u64),
    /// `m` alone.
    MinutesOrMilliseconds,
}

const SECOND_NS: u64 = 1_000_000_000;

/// Words before and after [`SECONDS`], and what they are without it.
const SECOND_STEPS: [(&str, u64); 9] = [
    ("", SECOND_NS),
    ("m", 1_000_000),
    ("milli", 1_000_000),
    ("u", 1_000),
    // The micro sign, and the letter mu.
    ("\u{b5}", 1_000),
    ("\u{3bc}", 1_000),
    ("micro", 1_000),
    ("n", 1),
    ("nano", 1),
];

const SECONDS: [&str; 5] = ["s", "sec", "secs", "second", "seconds"];

const LONGER: [(&[&str], u64); 3] = [
    (&["min", "mins", "minute", "minutes"], 60 * SECOND_NS),
    (&["h", "hr", "hrs", "hour", "hours"], 3_600 * SECOND_NS),
    (&["d", "day", "days"], 86_400 * SECOND_NS),
];

pub(super) fn time(unit: &str) -> Option<TimeUnit> {
    let unit = bare(unit);
    if unit == "m" {
        return Some(TimeUnit::MinutesOrMilliseconds);
    }
    let longer = LONGER.iter().find(|(names, _)| names.contains(&&*unit));
    let part = || {
        SECOND_STEPS.iter().find(|(prefix, _)| {
            let rest = unit.strip_prefix(prefix);
            // `5u` has no other meaning.
            rest.is_some_and(|rest| {
                SECONDS.contains(&rest) || (rest.is_empty() && !unit.is_empty())
            })
        })
    };
    let ns = longer.map(|(_, ns)| *ns).or_else(|| Some(part()?.1));
    ns.map(TimeUnit::Ns)
}

/// In lower case and without blanks.
fn bare(unit: &str) -> String {
    let letters = unit.chars().filter(|c| !c.is_whitespace());
    letters.flat_map(char::to_lowercase).collect()
}
