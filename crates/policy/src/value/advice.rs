//! Advice parses to what the writer meant, or there is none: for every unit and name, in spellings
//! that people use and with slips of the keyboard.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::json_schema;

/// What the help tells to write, conditions aside.
fn told(help: &str) -> Vec<&str> {
    let advice = help.split("; units").next().unwrap_or_default();
    let quoted = advice.split('"').skip(1).step_by(2);
    if advice.contains("write ") || advice.contains("did you mean ") {
        quoted.collect()
    } else {
        Vec::new()
    }
}

/// All single slips: a letter left out, doubled, or typed before the one in front of it.
fn slips(word: &str) -> BTreeSet<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut slips = BTreeSet::new();
    for at in 0..letters.len() {
        let mut without = letters.clone();
        without.remove(at);
        let mut doubled = letters.clone();
        doubled.insert(at, letters[at]);
        let mut swapped = letters.clone();
        swapped.swap(at, at.saturating_sub(1));
        slips.extend([without, doubled, swapped].map(String::from_iter));
    }
    slips.remove(word);
    slips
}

fn in_case(word: &str, case: u8) -> String {
    let mut letters = word.chars();
    match case {
        0 => word.to_owned(),
        1 => word.to_uppercase(),
        _ => letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect())
            .unwrap_or_default(),
    }
}

/// Bits, and what is said of them, as words that people write.
const BIT_STEPS: &[(&str, u64)] = &[
    ("", 1),
    ("k", 1_000),
    ("kilo", 1_000),
    ("m", 1_000_000),
    ("mega", 1_000_000),
    ("g", 1_000_000_000),
    ("giga", 1_000_000_000),
    ("t", 1_000_000_000_000),
    ("tera", 1_000_000_000_000),
    ("ki", 1 << 10),
    ("mi", 1 << 20),
    ("gi", 1 << 30),
];

const PER: &[&str] = &["", "/s", "/sec", "/second", "ps", " per second"];

fn advised_bps(text: &str) -> Vec<u64> {
    match rate::parse(text) {
        Ok(rate) => vec![rate.bps],
        Err(fault) => {
            let advised = told(&fault.help).into_iter().map(rate::parse);
            advised
                .map(|rate| rate.expect("advice is a rate").bps)
                .collect()
        }
    }
}

fn advised_ns(text: &str) -> Vec<u64> {
    match duration::parse_ns(text) {
        Ok(ns) => vec![ns],
        Err(fault) => {
            let advised = told(&fault.help).into_iter().map(duration::parse_ns);
            advised
                .map(|ns| ns.expect("advice is a duration"))
                .collect()
        }
    }
}

proptest! {
    #[test]
    fn rates_in_bits_and_bytes(
        number in 1u64..1_000,
        (step, factor) in prop::sample::select(BIT_STEPS),
        (of, bits) in prop::sample::select(&[
            ("bit", 1), ("bits", 1), ("byte", 8), ("bytes", 8),
        ][..]),
        per in prop::sample::select(PER),
        blank in prop::sample::select(&["", " "][..]),
        case in 0u8..3,
    ) {
        let unit = in_case(&format!("{step}{of}{per}"), case);
        let advised = advised_bps(&format!("{number}{blank}{unit}"));
        let bps = number * factor * bits;
        let is_rate = (rate::MIN_BPS..=rate::MAX_BPS).contains(&bps);
        prop_assert_eq!(advised, if is_rate { vec![bps] } else { vec![] }, "{}", unit);
    }

    /// Both are told.
    #[test]
    fn rates_in_bits_or_bytes(
        number in 1_000u64..40_000,
        (step, factor) in prop::sample::select(BIT_STEPS),
        letter in prop::sample::select(&["", "b", "B"][..]),
        per in prop::sample::select(&["/s", "/sec", " per second"][..]),
    ) {
        let bps = number * factor;
        prop_assume!(8 * bps <= rate::MAX_BPS && !(step.is_empty() && letter.is_empty()));
        prop_assert_eq!(advised_bps(&format!("{number}{step}{letter}{per}")), [bps, 8 * bps]);
    }

    /// A guess at one of `gbit` and `gibit` may be the other.
    #[test]
    fn slips_in_units_of_rates(number in 1_000u64..400_000, at in 0usize..12, per in 0usize..2) {
        const UNITS: [(&str, u64); 12] = [
            ("bit", 1), ("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000),
            ("tbit", 1_000_000_000_000), ("kibit", 1 << 10), ("mibit", 1 << 20),
            ("gibit", 1 << 30), ("bps", 8), ("kbps", 8_000), ("mbps", 8_000_000),
            ("gbps", 8_000_000_000),
        ];
        let (unit, factor) = UNITS[at];
        let is_unit = |slip: &String| rate::parse(&format!("{number}{slip}")).is_ok();
        for slip in slips(unit).into_iter().filter(|slip| !is_unit(slip)) {
            let advised = advised_bps(&format!("{number}{slip}{}", PER[per]));
            let bps = number * factor;
            let near = bps / 100 * 92..=bps / 100 * 108;
            let is_either = |bits: &[u64]| bits[0] * 8 == bits[1];
            let is_right = match advised.as_slice() {
                [one] => near.contains(one),
                // Of `mbs` one is meant.
                both => both.is_empty() || is_either(both) && both.iter().any(|bps| near.contains(bps)),
            };
            prop_assert!(is_right, "{}: {:?} for {}", slip, advised, bps);
        }
    }

    #[test]
    fn times(
        number in 1u64..100_000,
        (unit, ns) in prop::sample::select(&[
            ("ns", 1), ("nsec", 1), ("nanoseconds", 1), ("n", 1),
            ("us", 1_000), ("µs", 1_000), ("μs", 1_000), ("usecs", 1_000), ("u", 1_000),
            ("microsecond", 1_000),
            ("ms", 1_000_000), ("msec", 1_000_000), ("milliseconds", 1_000_000),
            ("millis", 1_000_000),
            ("s", 1_000_000_000), ("sec", 1_000_000_000), ("secs", 1_000_000_000),
            ("second", 1_000_000_000), ("seconds", 1_000_000_000),
            ("min", 60_000_000_000), ("mins", 60_000_000_000), ("minutes", 60_000_000_000),
            ("h", 3_600_000_000_000), ("hr", 3_600_000_000_000), ("hours", 3_600_000_000_000),
            ("d", 86_400_000_000_000), ("days", 86_400_000_000_000),
        ][..]),
        blank in prop::sample::select(&["", " "][..]),
        case in 0u8..3,
    ) {
        let text = format!("{number}{blank}{}", in_case(unit, case));
        prop_assert_eq!(advised_ns(&text), [number * ns]);
    }

    /// Whatever the unit is, the advice is a value.
    #[test]
    fn any_unit(number in "[1-9][0-9]{0,9}(\\.[0-9]{1,4})?", unit in "[a-zA-Z/ ]{1,6}") {
        advised_bps(&format!("{number}{unit}"));
        advised_ns(&format!("{number}{unit}"));
    }
}

#[test]
fn a_unit_without_one_meaning_gets_no_advice() {
    for text in [
        "5m",
        "5M",
        "5 m",
        "5fortnights",
        "5w",
        "5mo",
        "5sm",
        "5ks",
        "5ps",
    ] {
        assert_eq!(advised_ns(text), [0u64; 0], "{text}");
    }
    for text in [
        "5nbit",
        "5mkbit",
        "5pbit",
        "5mbit/min",
        "500tbits",
        "5%",
        "5bp",
    ] {
        assert_eq!(advised_bps(text), [0u64; 0], "{text}");
    }
}

/// A number alone may be in any unit.
#[test]
fn without_a_unit_the_advice_has_a_condition() {
    for (text, help) in [
        ("5", "write \"5mbit\" if this is in megabits per second; "),
        ("5000000", "write \"5mbit\" if this is in bits per second; "),
    ] {
        let fault = rate::parse(text).expect_err("no unit");
        assert!(fault.help.starts_with(help), "{}", fault.help);
    }
    for text in ["5", "5 "] {
        let fault = duration::parse_ns(text).expect_err("no unit");
        assert!(
            fault.help.contains("if this is in milliseconds"),
            "{}",
            fault.help
        );
    }
    let negative = rate::parse("-5mbits").expect_err("negative");
    assert!(!negative.help.contains("5mbits"), "{}", negative.help);
}

/// The keys of every kind of table.
fn tables() -> Vec<Vec<String>> {
    fn collect(schema: &Value, tables: &mut Vec<Vec<String>>) {
        if let Some(keys) = schema.get("properties").and_then(Value::as_object) {
            tables.push(keys.keys().cloned().collect());
        }
        match schema {
            Value::Object(object) => object.values().for_each(|part| collect(part, tables)),
            Value::Array(parts) => parts.iter().for_each(|part| collect(part, tables)),
            _ => {}
        }
    }
    let mut tables = Vec::new();
    collect(&json_schema(), &mut tables);
    collect(&crate::traffic::json_schema(), &mut tables);
    tables
}

#[test]
fn a_key_in_another_case_or_with_hyphens_is_found() {
    for keys in tables() {
        for key in &keys {
            let hyphens = key.replace('_', "-");
            for written in [
                in_case(key, 1),
                in_case(key, 2),
                hyphens.to_uppercase(),
                hyphens,
            ] {
                let meant = closest(&written, keys.iter().map(String::as_str));
                assert_eq!(meant, Some(key.as_str()), "{written}");
            }
        }
    }
}

#[test]
fn a_slip_in_a_key_finds_that_key_or_none() {
    for keys in tables() {
        for key in &keys {
            for slip in slips(key).difference(&keys.iter().cloned().collect()) {
                let meant = closest(slip, keys.iter().map(String::as_str));
                assert!(meant.is_none_or(|meant| meant == key), "{slip}: {meant:?}");
            }
        }
    }
}

#[test]
fn a_slip_in_a_name_finds_its_value_or_none() {
    fn check(name: &str, parse: fn(&str) -> Result<u8, Fault>) {
        let value = parse(name).expect("a name");
        for slip in slips(name) {
            let Err(fault) = parse(&slip) else {
                continue; // Another name.
            };
            for advised in told(&fault.help) {
                assert_eq!(parse(advised), Ok(value), "{slip}");
            }
        }
    }
    for (name, _) in proto::NAMES {
        check(name, proto::parse);
    }
    for (name, _) in dscp::NAMES {
        check(name, dscp::parse);
    }
    for (written, parse) in [
        ("icmpv4", proto::parse as fn(&str) -> _),
        ("ipv4", proto::parse),
    ] {
        let fault = parse(written).expect_err("no name");
        assert_eq!(told(&fault.help), [""; 0], "{written}");
    }
}

#[test]
fn numbers_with_a_unit_get_their_range_alone() {
    for help in [
        decibel::parse("6dB").expect_err("a unit").help,
        decibel::parse("600 centidb").expect_err("a unit").help,
        weight::parse("50%").expect_err("a unit").help,
        fraction::parse("free", "50%", 0..=500_000, "free goes from 0 to 0.5")
            .expect_err("a unit")
            .help,
    ] {
        assert_eq!(told(&help), [""; 0], "{help}");
    }
}

/// What is advised for a name is accepted.
#[test]
fn names_of_owners() {
    type Parse = fn(&str) -> Result<(), Fault>;
    let comm = |text: &str| owner::parse_comm("app", text).map(drop);
    let parsers: [(Parse, &[&str]); 3] = [
        (
            comm,
            &[
                "/usr/bin/",
                "/usr/bin/player",
                "/opt/a-very-long-name-of-a-program",
                "/a/\u{1}",
            ],
        ),
        (
            |text| owner::parse_cgroup(text).map(drop),
            &[
                "/sys/fs/cgroup/",
                "/sys/fs/cgroup//",
                "/sys/fs/cgroup/backup.slice",
            ],
        ),
        (
            |text| owner::parse_unit(text).map(drop),
            &[".timer", "backup.timer"],
        ),
    ];
    for (parse, texts) in parsers {
        for text in texts {
            let help = parse(text).expect_err("refused").help;
            let advised = help
                .split_once(" = \"")
                .and_then(|(_, rest)| rest.split('"').next());
            if let Some(advised) = advised {
                assert_eq!(parse(advised), Ok(()), "{text}");
            }
        }
    }
}
