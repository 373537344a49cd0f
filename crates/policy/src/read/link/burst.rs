//! `burst` of a link and of a class: how long a packet may occupy them.

use std::ops::RangeInclusive;

use crate::Code;
use crate::findings::Findings;
use crate::read::section::Section;
use crate::value::{Fault, duration};

/// The kernel's own TCP makes segments of 1 ms of its pace (`sk_pacing_shift`).
pub(crate) const DEFAULT_NS: u64 = 1_000_000;
/// A class that flows share has so many times its link's. From 0.26 Gbit/s on that is TCP's longest
/// segment, as under fq; with 1 ms a byte of 0.4 Gbit/s costs half as much again on a path without
/// delay (docs/adr/0050).
pub(crate) const SHARED_TIMES: u64 = 2;
/// Of a link, whose device bounds segments.
pub(super) const LINK_NS: RangeInclusive<u64> = 50_000..=MAX_NS;
/// Of a class, whose sockets' pace bounds segments: TCP makes none that are shorter than 1 ms of it.
pub(crate) const CLASS_NS: RangeInclusive<u64> = DEFAULT_NS..=MAX_NS;
const MAX_NS: u64 = 100_000_000;

pub(super) fn read_link_ns(section: &Section, findings: &mut Findings) -> Option<u64> {
    read(
        section,
        LINK_NS,
        "burst of a link goes from \"50us\" to \"100ms\"; the default is \"1ms\"",
        findings,
    )
}

pub(super) fn read_class_ns(section: &Section, findings: &mut Findings) -> Option<u64> {
    read(
        section,
        CLASS_NS,
        "burst of a class goes from \"1ms\" to \"100ms\", since TCP makes no segments that are \
         shorter than 1 ms of its pace; a link's may be shorter",
        findings,
    )
}

fn read(
    section: &Section,
    range: RangeInclusive<u64>,
    help: &str,
    findings: &mut Findings,
) -> Option<u64> {
    section.text("burst", "burst = \"1ms\"", findings, |text| {
        let ns = duration::parse_ns(text).map_err(|fault| of_bytes(text, fault))?;
        if range.contains(&ns) {
            Ok(ns)
        } else {
            Err(Fault::new(
                Code::OutOfRange,
                format!("burst `{text}` is out of range"),
                help,
            ))
        }
    })
}

/// In tc a burst is in bytes.
fn of_bytes(text: &str, fault: Fault) -> Fault {
    const UNITS: [&str; 11] = [
        "", "b", "k", "kb", "kib", "mb", "mib", "byte", "bytes", "kbit", "mbit",
    ];
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
    let help = "burst is a time, not a number of bytes: burst = \"1ms\"";
    if unit.len() < text.len() && UNITS.contains(&&*unit.to_ascii_lowercase()) {
        Fault::new(fault.code, fault.message, help)
    } else {
        fault
    }
}
