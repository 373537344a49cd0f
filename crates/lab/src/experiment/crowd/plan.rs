//! The cells and their lengths.
//!
//! A second on a full air takes the host between 5 and 8: some three thousand frames, each
//! through several stacks, a virtio device and the medium; a cell's network and taktds take a
//! dozen more. All cases of all contenders for 60 s each would take more than a day. So figures
//! are of 3 to 8 s, most where the bars are (ten terminals, 16 ms). Other delays are measured
//! with ten terminals, other numbers at 16 ms, and the rest with the contenders that a question
//! is about.

use std::time::Duration;

use super::case::{Case, Stranger, Traffic};
use super::cell::Cell;
use super::contender::Contender;

use Contender::{Bbr, Cubic, CubicFqCodel, CubicShortQueue, Takt, TaktAlone, Vegas};

/// Slow start is over then, and queues have the length that it gave them.
const WARM_UP_S: u64 = 2;
/// In half of it a group learns its capacity, before a stranger takes some.
const WARM_UP_ACQUAINTED_S: u64 = 16;

pub fn full() -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut add = |case: Case, seconds: u64, contenders: &[Contender]| {
        let is_acquainted = case.stranger.is_some_and(|stranger| !stranger.is_first);
        let warm_up_s = if is_acquainted {
            WARM_UP_ACQUAINTED_S
        } else {
            WARM_UP_S
        };
        cells.extend(contenders.iter().map(|contender| Cell {
            case,
            contender: *contender,
            warm_up: Duration::from_secs(warm_up_s),
            length: Duration::from_secs(seconds),
            is_recorded: *contender == Takt && case == Case::upload(10, 16),
        }));
    };
    let ten = Case::upload(10, 16);
    let with = |traffic| Case { traffic, ..ten };
    let beside = |congestion_control, is_first| Case {
        stranger: Some(Stranger {
            congestion_control,
            is_first,
        }),
        ..ten
    };
    let lossy = |terminals| Case {
        loss_ppm: 10_000,
        ..Case::upload(terminals, 16)
    };
    add(Case::upload(1, 16), 4, &[Takt, Cubic]);
    add(ten, 8, &[Takt, Cubic, Bbr]);
    // Ten terminals need four segments each to fill the air, and are hardly affected; fewer
    // are.
    for terminals in [1, 2, 10] {
        add(lossy(terminals), 4, &[Takt, Cubic]);
    }
    add(beside("cubic", true), 6, &[Takt]);
    add(beside("cubic", false), 6, &[Takt]);
    add(ten, 3, &[TaktAlone, CubicShortQueue, CubicFqCodel, Vegas]);
    for terminals in [2, 5] {
        add(Case::upload(terminals, 16), 3, &[Takt, Cubic]);
    }
    for (wired_ms, seconds) in [(0, 3), (64, 3), (256, 6)] {
        add(Case::upload(10, wired_ms), seconds, &[Takt, Cubic, Bbr]);
    }
    add(beside("bbr", true), 4, &[Takt]);
    add(with(Traffic::ComeAndGo), 6, &[Takt]);
    add(with(Traffic::Down), 3, &[Takt, Cubic, Bbr]);
    add(with(Traffic::Both), 3, &[Takt, Cubic]);
    cells
}

/// Ten terminals that upload: about a minute on an otherwise idle host.
pub fn short() -> Vec<Cell> {
    [Takt, Cubic]
        .map(|contender| Cell {
            case: Case::upload(10, 16),
            contender,
            warm_up: Duration::from_secs(1),
            length: Duration::from_secs(2),
            is_recorded: contender == Takt,
        })
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every bar's cells are in the same run.
    #[test]
    fn the_bars_can_be_read_off() {
        let cells = full();
        let has = |name: &str, contender| {
            let mut found = cells.iter().filter(|cell| cell.contender == contender);
            found.any(|cell| cell.case.name() == name)
        };
        assert!(has("upload-1-16ms", Cubic));
        for contender in [Takt, Cubic, Bbr] {
            assert!(has("upload-10-16ms", contender));
        }
        for contender in [Takt, Cubic, Bbr] {
            assert!(has("download-10-16ms", contender));
        }
        for contender in [Takt, Cubic] {
            assert!(has("upload-10-16ms-loss-1%", contender));
        }
        assert!(has("upload-10-16ms-cubic-first", Takt));
        assert!(has("upload-10-16ms-cubic-later", Takt));
    }

    #[test]
    fn no_cell_is_there_twice() {
        let names: Vec<_> = full()
            .iter()
            .map(|cell| (cell.case.name(), cell.contender.name()))
            .collect();
        let mut different = names.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), names.len());
    }
}
