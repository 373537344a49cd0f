//! Which cells there are, and how long each is.
//!
//! A second on a full air takes the host between 3 and 5: some two thousand frames, each through
//! several stacks, a virtio device and the medium. All cases of all contenders for 60 s would be
//! half a day. So figures are of 10 s, and of 20 where the bars are (ten terminals, 16 ms); delays
//! other than that are there with ten terminals, and numbers other than ten at 16 ms, where
//! contenders differ; everything else is there with those that a question is about.

use std::time::Duration;

use super::case::{Case, Stranger, Traffic};
use super::cell::Cell;
use super::contender::Contender;

use Contender::{Bbr, Cubic, Takt, TaktAlone};

/// CUBIC needs that long to fill the access point's queue.
const WARM_UP_S: u64 = 6;

/// In the order of what they are worth: who has less than an hour leaves out the last.
pub fn full() -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut add = |case: Case, seconds: u64, contenders: &[Contender]| {
        cells.extend(contenders.iter().map(|contender| Cell {
            case,
            contender: *contender,
            warm_up: Duration::from_secs(WARM_UP_S),
            length: Duration::from_secs(seconds),
        }));
    };
    let ten = Case::upload(10, 16);
    // The bars, and one alone that they are held against.
    add(Case::upload(1, 16), 10, &[Takt, Cubic, Bbr]);
    add(ten, 20, &Contender::ALL);
    let lossy = |loss_ppm| Case { loss_ppm, ..ten };
    add(lossy(10_000), 10, &[Takt, Cubic, Bbr]);
    for congestion_control in ["cubic", "bbr"] {
        for is_first in [true, false] {
            let stranger = Some(Stranger {
                congestion_control,
                is_first,
            });
            add(Case { stranger, ..ten }, 10, &[Takt]);
        }
    }
    // Numbers and delays.
    for terminals in [2, 5] {
        add(Case::upload(terminals, 16), 8, &[Takt, Cubic, Bbr]);
    }
    for wired_ms in [0, 64, 128, 256] {
        add(Case::upload(10, wired_ms), 8, &[Takt, Cubic, Bbr]);
    }
    let other = |traffic| Case { traffic, ..ten };
    add(other(Traffic::ComeAndGo), 15, &[Takt, Cubic]);
    add(ten, 8, &[TaktAlone]);
    add(other(Traffic::Down), 8, &[Takt, Cubic]);
    add(other(Traffic::Both), 8, &[Takt, Cubic]);
    for loss_ppm in [5_000, 20_000] {
        add(lossy(loss_ppm), 8, &[Takt, Cubic]);
    }
    cells
}

/// Ten terminals that upload: about a minute on an idle host.
pub fn short() -> Vec<Cell> {
    [Takt, Cubic, Bbr]
        .map(|contender| Cell {
            case: Case::upload(10, 16),
            contender,
            warm_up: Duration::from_secs(1),
            length: Duration::from_secs(2),
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
