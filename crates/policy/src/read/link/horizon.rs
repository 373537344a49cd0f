//! `horizon` and `beyond_horizon` of a link: departure times that lie too far ahead.

use crate::findings::Findings;
use crate::read::keys::Words;
use crate::read::section::Section;
use crate::value::{Fault, duration};
use crate::{BeyondHorizon, Code};

/// As in the kernel's fq.
const DEFAULT_NS: u64 = 10_000_000_000;
pub(super) const MIN_NS: u64 = 1_000_000;
pub(super) const MAX_NS: u64 = 100_000_000_000;

/// What happens to packets beyond the horizon.
pub(super) const BEYOND: Words<BeyondHorizon, 2> =
    [("drop", BeyondHorizon::Drop), ("cap", BeyondHorizon::Cap)];

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
