//! Which cells there are, and how long each is.

use std::time::Duration;

use super::case::Case;
use super::cell::Cell;
use super::contender::Contender;

pub fn full() -> Vec<Cell> {
    short()
}

/// Ten terminals that upload, 16 ms from the server.
pub fn short() -> Vec<Cell> {
    Contender::ALL
        .into_iter()
        .map(|contender| Cell {
            case: Case::upload(10, 16),
            contender,
            warm_up: Duration::from_secs(3),
            length: Duration::from_secs(3),
        })
        .collect()
}
