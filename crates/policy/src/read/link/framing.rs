//! What the line carries of a frame: by its name, or in parts.

use super::OVERHEAD_BYTES;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::keys::{Key, Takes, Words, words};
use crate::read::section::Section;
use crate::value::framing;
use crate::{Beyond, Cells, Code, Framing};

use std::ops::RangeInclusive;

const MIN_FRAME_BYTES: RangeInclusive<u64> = 0..=256;
const CELLS: Words<Cells, 3> = [
    ("atm", Cells::Atm),
    ("ptm", Cells::Ptm),
    ("none", Cells::None),
];

const NAME: &str = "framing";
const OVERHEAD: &str = "overhead";
const MIN_FRAME: &str = "min_frame";
const CELLS_KEY: &str = "cells";

pub(super) const NAMED: Key = Key::new(
    NAME,
    Takes::Spelled(framing::schema),
    "The line's framing, by CAKE's names; beside it no `overhead`, `min_frame` or `cells`",
);
pub(super) const OF_A_FRAME: Key = Key::new(
    MIN_FRAME,
    Takes::Integer(MIN_FRAME_BYTES),
    "The line's smallest frame in bytes, with its overhead",
);
pub(super) const INTO_CELLS: Key = Key::new(
    CELLS_KEY,
    Takes::Word(&words(&CELLS)),
    "What the line cuts frames into: ATM's cells of 48 bytes in 53, PTM's 64 bytes in 65, or nothing",
);

/// The framing of a link or a download; `None`: it has none of these keys.
pub(super) fn read(section: &Section, findings: &mut Findings) -> Option<Framing> {
    let named = section.text(NAME, "framing = \"docsis\"", findings, framing::parse);
    let overhead = section.integer(OVERHEAD, OVERHEAD_BYTES, findings);
    let min_frame = section.integer(MIN_FRAME, MIN_FRAME_BYTES, findings);
    let cells = section.word(CELLS_KEY, &CELLS, findings);
    if section.get(NAME).is_some() {
        refuse_parts(section, findings);
        return named;
    }
    let parts = [OVERHEAD, MIN_FRAME, CELLS_KEY];
    let any = parts.iter().any(|key| section.get(key).is_some());
    any.then(|| Framing {
        overhead_bytes: overhead.unwrap_or_default() as i32,
        min_frame_bytes: min_frame.unwrap_or_default() as u16,
        cells: cells.unwrap_or_default(),
        beyond: Beyond::Frame,
    })
}

/// A name says it all, and counts from elsewhere than `overhead` does.
fn refuse_parts(section: &Section, findings: &mut Findings) {
    for part in [OVERHEAD, MIN_FRAME, CELLS_KEY] {
        if let Some(field) = section.get(part) {
            let error = Diagnostic::error(
                Code::IdleKey,
                format!("`framing` says the {part} already"),
                "take it out, or take `framing` out and write `overhead`, `min_frame` and `cells`; for \
                 a VLAN tag on the line: framing = \"pppoe-ptm ether-vlan\"",
            );
            findings.add(error.at(&field.span, "beside `framing`"));
        }
    }
}
