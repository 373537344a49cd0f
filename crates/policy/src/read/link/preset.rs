//! `preset`: classes that a policy asks for by one word.

use super::aqm::ReadAqm;
use super::class::ReadClass;
use super::matching::ReadMatch;
use super::share::ReadShare;
use crate::findings::Findings;
use crate::read::keys::Words;
use crate::read::section::Section;
use crate::source::{Source, Span};
use crate::{DEFAULT_CLASS, Match};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preset {
    /// Those of CAKE's keyword of that name.
    Diffserv4,
}

pub(super) const PRESETS: Words<Preset, 1> = [("diffserv4", Preset::Diffserv4)];

/// What a link says of it, and where.
pub(crate) type ReadPreset = (Preset, Span);

pub(super) fn read(section: &Section, findings: &mut Findings) -> Option<ReadPreset> {
    let span = section.get("preset")?.span;
    Some((section.word("preset", &PRESETS, findings)?, span))
}

/// A class by DSCP, with its share of the link in sixteenths.
struct Marked {
    name: &'static str,
    sixteenths: u64,
    code_points: &'static [u8],
}

/// tc-cake(8), "diffserv4": a class goes first up to its share, and above it after best effort.
const DIFFSERV4: [Marked; 3] = [
    Marked {
        name: "voice",
        sixteenths: 4,
        // CS4 to CS7, VA and EF.
        code_points: &[32, 40, 48, 56, 44, 46],
    },
    Marked {
        name: "video",
        sixteenths: 8,
        // CS2, CS3, AF2x, AF3x, AF4x, and the bit of TOS for little delay (RFC 1349).
        code_points: &[16, 24, 18, 20, 22, 26, 28, 30, 34, 36, 38, 4],
    },
    Marked {
        name: "bulk",
        sixteenths: 1,
        // CS1 and LE (RFC 8622).
        code_points: &[8, 1],
    },
];

/// The least rate that a class may have.
const FLOOR_LEAST_BPS: u64 = 1000;
/// Best effort goes before what exceeds its share.
const PRIORITY_BEST_EFFORT: u8 = 5;
const PRIORITY_ABOVE_SHARE: u8 = 6;

/// Its classes on a link of this rate. Without a default class of their own, best effort is added.
pub(super) fn classes(
    (preset, span): &ReadPreset,
    rate_bps: Option<u64>,
    has_default: bool,
    source: &Source,
) -> Vec<ReadClass> {
    let Preset::Diffserv4 = preset;
    let line = source.line(span.start);
    let class = |name: &str, share, matches| ReadClass {
        name: Some(name.to_owned()),
        span: span.clone(),
        line,
        is_of_preset: true,
        tenant: None,
        share,
        per_flow: false,
        queue_packets: None,
        burst_ns: None,
        aqm: ReadAqm::default(),
        gate: None,
        receive: None,
        set_dscp: None,
        best_effort: false,
        matches,
    };
    let marked = DIFFSERV4.iter().map(|marked| {
        let floor = |bps: u64| (bps * marked.sixteenths / 16).max(FLOOR_LEAST_BPS);
        let share = ReadShare::for_preset(rate_bps.map(floor), span, PRIORITY_ABOVE_SHARE);
        class(marked.name, share, matches(marked.code_points, span))
    });
    let best_effort = || {
        let share = ReadShare::for_preset(None, span, PRIORITY_BEST_EFFORT);
        class(DEFAULT_CLASS, share, Vec::new())
    };
    marked.chain((!has_default).then(best_effort)).collect()
}

fn matches(code_points: &[u8], span: &Span) -> Vec<ReadMatch> {
    let matching = |dscp: &u8| ReadMatch {
        terms: Match {
            dscp: Some(*dscp),
            ..Match::default()
        },
        span: span.clone(),
    };
    code_points.iter().map(matching).collect()
}
