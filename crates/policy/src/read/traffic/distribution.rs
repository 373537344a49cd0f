//! Distributions of times: `"1us"`, `["0ns", "50us"]` or `[["1us", 900], ["5us", 100]]`.

use std::ops::RangeInclusive;

use serde_json::{Value, json};
use toml::Spanned;
use toml::de::DeValue;

use crate::Code;
use crate::findings::Findings;
use crate::read::section::{Field, Section};
use crate::traffic::Distribution;
use crate::value::{Fault, duration};

const RANGE_NS: RangeInclusive<u64> = 0..=1_000_000_000;
const BUCKETS_MAX: usize = 1000;
const COUNT_MAX: u64 = 1 << 40;

pub(super) fn schema() -> Value {
    let bucket = json!([duration::schema(), {"type": "integer", "minimum": 1}]);
    json!({"anyOf": [
        duration::schema(),
        {"type": "array", "items": duration::schema(), "minItems": 2, "maxItems": 2},
        {"type": "array", "items": {"type": "array", "items": bucket}, "minItems": 1},
    ]})
}

/// The distribution of a key; without it, or if it was reported, always 0.
pub(super) fn read(section: &Section, key: &str, findings: &mut Findings) -> Distribution {
    let Some(field) = section.get(key) else {
        return Distribution::default();
    };
    let parsed = parse(&field);
    field.settle(parsed, findings).unwrap_or_default()
}

fn parse(field: &Field) -> Result<Distribution, Fault> {
    let example = format!("{} = \"1us\"", field.key);
    match field.value {
        DeValue::String(text) => time(field.key, text).map(Distribution::Constant),
        DeValue::Array(array) => match array.first().map(Spanned::get_ref) {
            Some(DeValue::Array(_)) => histogram(field.key, array),
            _ => uniform(field, array),
        },
        _ => Err(field.wrong_type("a duration or an array", &example)),
    }
}

fn time(key: &str, text: &str) -> Result<u64, Fault> {
    duration::parse_within(key, text, RANGE_NS)
}

fn uniform(field: &Field, array: &[Spanned<DeValue>]) -> Result<Distribution, Fault> {
    let key = field.key;
    let texts: Vec<&str> = array
        .iter()
        .filter_map(|it| it.get_ref().as_str())
        .collect();
    let (&[first, last], 2) = (texts.as_slice(), array.len()) else {
        let example = format!("{key} = [\"0ns\", \"50us\"]");
        return Err(field.wrong_type("a duration or two", &example));
    };
    let (first_ns, last_ns) = (time(key, first)?, time(key, last)?);
    if first_ns <= last_ns {
        Ok(Distribution::Uniform(first_ns, last_ns))
    } else {
        Err(Fault::new(
            Code::OutOfRange,
            format!("{key} ends before it starts"),
            format!("write [\"{last}\", \"{first}\"]"),
        ))
    }
}

fn histogram(key: &str, array: &[Spanned<DeValue>]) -> Result<Distribution, Fault> {
    let refuse = |problem: &str| {
        Err(Fault::new(
            Code::BadValue,
            format!("{key} is not a histogram: {problem}"),
            format!(
                "write up to {BUCKETS_MAX} pairs of a time and how often it came, times \
                 ascending: {key} = [[\"1us\", 900], [\"5us\", 100]]"
            ),
        ))
    };
    if array.len() > BUCKETS_MAX {
        return refuse("it has too many buckets");
    }
    let mut buckets: Vec<(u64, u64)> = Vec::with_capacity(array.len());
    for bucket in array {
        let DeValue::Array(pair) = bucket.get_ref() else {
            return refuse("not all entries are pairs");
        };
        let values: Vec<&DeValue> = pair.iter().map(Spanned::get_ref).collect();
        let [DeValue::String(text), DeValue::Integer(count)] = values.as_slice() else {
            return refuse("an entry is not a duration and a count");
        };
        let count = u64::from_str_radix(count.as_str(), count.radix());
        let Some(count) = count.ok().filter(|count| (1..=COUNT_MAX).contains(count)) else {
            return refuse("counts go from 1 to 2^40");
        };
        let edge_ns = time(key, text)?;
        if buckets
            .last()
            .is_some_and(|(before_ns, _)| *before_ns >= edge_ns)
        {
            return refuse("times do not ascend");
        }
        buckets.push((edge_ns, count));
    }
    Ok(Distribution::Histogram(buckets))
}
