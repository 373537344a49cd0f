//! `points` of `[radio]`: pairs of a strength and a weight.

use serde_json::{Value, json};
use toml::Spanned;
use toml::de::{DeArray, DeValue};

use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::section::{Field, wrong_type};
use crate::value::{Fault, decibel, fraction};
use crate::{Code, Point};

/// The kernel side has room for so many.
const POINTS_MAX: usize = 16;

const EXPECTED: &str = "a list of pairs";
const EXAMPLE: &str = "points = [[0, 0.0], [4, 0.2], [10, 0.8], [14, 1.0]]";
const WEIGHT_HELP: &str = "the weight of a point, its second number, goes from 0 to 1";

pub(super) fn schema() -> Value {
    json!({
        "type": "array",
        "minItems": 1,
        "maxItems": POINTS_MAX,
        "items": {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "items": {"type": "number"},
        },
    })
}

/// `None` if an error has been reported.
pub(super) fn read(field: &Field, findings: &mut Findings) -> Option<Vec<Point>> {
    let DeValue::Array(array) = field.value else {
        findings.add(field.wrong_type(EXPECTED, EXAMPLE).at(&field.span));
        return None;
    };
    if array.is_empty() || array.len() > POINTS_MAX {
        let error = Diagnostic::error(
            Code::BadPoints,
            format!("{} points make no curve", array.len()),
            format!("1 to {POINTS_MAX} points do: {EXAMPLE}"),
        );
        findings.add(error.at(&field.span, ""));
        return None;
    }
    let mut points: Vec<Point> = Vec::new();
    for entry in array.iter() {
        let point = read_point(entry).and_then(|point| match points.last() {
            Some(last) => check_order(last, point),
            None => Ok(point),
        });
        match point {
            Ok(point) => points.push(point),
            Err(fault) => {
                findings.add(fault.at(&entry.span()));
                return None;
            }
        }
    }
    Some(points)
}

fn read_point(entry: &Spanned<DeValue>) -> Result<Point, Fault> {
    let wrong = || wrong_type("points", EXPECTED, entry.get_ref(), EXAMPLE);
    let DeValue::Array(pair) = entry.get_ref() else {
        return Err(wrong());
    };
    let pair: &DeArray = pair;
    let [soc, weight] = &pair[..] else {
        return Err(Fault::new(
            Code::BadPoints,
            "a point is a pair: a strength in dB and a weight",
            format!("write it like this: {EXAMPLE}"),
        ));
    };
    let number = |value: &Spanned<DeValue>| match value.get_ref() {
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        other => Err(wrong_type("points", "pairs of numbers", other, EXAMPLE)),
    };
    Ok(Point {
        soc_centidb: decibel::parse(&number(soc)?)?,
        weight_ppm: fraction::parse("weight", &number(weight)?, 0..=1_000_000, WEIGHT_HELP)?,
    })
}

fn check_order(last: &Point, point: Point) -> Result<Point, Fault> {
    let fault = |message: &str, help: &str| Err(Fault::new(Code::BadPoints, message, help));
    if point.soc_centidb <= last.soc_centidb {
        return fault(
            "the point stands at no higher strength than the one before it",
            "list points by rising dB",
        );
    }
    if point.weight_ppm < last.weight_ppm {
        return fault(
            "the point has less weight than the one before it",
            "a better signal never has less weight: list points by rising dB and weight",
        );
    }
    Ok(point)
}
