//! `horizon` and `beyond_horizon` of a link: departure times that lie too far ahead.

use crate::findings::Findings;
use crate::read::section::Section;
use crate::value::{Fault, duration};
use crate::{BeyondHorizon, Code};

/// As in the kernel's fq.
const DEFAULT_NS: u64 = 10_000_000_000;
const MIN_NS: u64 = 1_000_000;
const MAX_NS: u64 = 100_000_000_000;

pub(super) fn read_ns(section: &Section, findings: &mut Findings) -> u64 {
    let parse = |text: &str| match duration::parse_ns(text)? {
        ns @ MIN_NS..=MAX_NS => Ok(ns),
        _ => Err(Fault::new(
            Code::OutOfRange,
            format!("horizon `{text}` is out of range"),
            "horizon goes from \"1ms\" to \"100s\"; the default is \"10s\"",
        )),
    };
    section
        .text("horizon", "horizon = \"10s\"", findings, parse)
        .unwrap_or(DEFAULT_NS)
}

pub(super) fn read_beyond(section: &Section, findings: &mut Findings) -> BeyondHorizon {
    let choose = |text: &str| match text {
        "drop" => Ok(BeyondHorizon::Drop),
        "cap" => Ok(BeyondHorizon::Cap),
        _ => Err(Fault::not_a_choice(
            "beyond_horizon",
            text,
            &["drop", "cap"],
        )),
    };
    section
        .text(
            "beyond_horizon",
            "beyond_horizon = \"drop\"",
            findings,
            choose,
        )
        .unwrap_or(BeyondHorizon::Drop)
}
