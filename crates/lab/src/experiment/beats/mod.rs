//! Do threads run when they were promised, and what does that cost?
//!
//! The paper's experiment (002, HiTactix, section 3): four threads of T = 40 ms
//! and L = 8 ms beside packets that come and go and two busy ordinary threads;
//! their jitter, the cost of a switch, what delays a beat. From the bottom:
//! [`clock`] is the time all count in, [`beat`] who is to run when, [`policy`]
//! how Takt is told and [`contender`] how everybody else is, [`settings`] what
//! that needs of the machine; [`script`] is what a [`process`] of this
//! experiment plays and [`program`] that program, [`load`] what goes on beside
//! it; [`stage`] plays, and [`jitter`], [`switches`], [`edges`], [`overrun`],
//! [`group`], [`throughput`] and [`cyclictest`] are what is measured, in each
//! contender's [`turn`].

mod beat;
mod clock;
mod contender;
mod cyclictest;
mod edges;
mod extent;
mod group;
mod jitter;
mod load;
mod overrun;
mod policy;
mod process;
mod program;
mod script;
mod settings;
mod spans;
mod stage;
mod switches;
mod throughput;
mod turn;

use takt_report::Row;

pub(super) use self::clock::{now_ns, sleep_until};
use self::contender::Contender;
use self::extent::Extent;
pub use self::program::play_from_stdin;
pub(super) use self::program::{enter, exact_timers};
pub(super) use self::script::Class;
use self::settings::Unthrottled;
use self::turn::Turn;
use super::bench::Bench;
use super::error::Result;

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let extent = Extent::of(bench.short);
    let mut rows = Vec::new();
    for contender in Contender::ALL {
        let turn = Turn::new(contender, bench.takt());
        let _unthrottled = contender.is_fifo().then(Unthrottled::set).transpose()?;
        rows.extend(turn.take(&extent)?);
    }
    switches::compare(&mut rows);
    throughput::compare(&mut rows, Contender::Fifo.name());
    // What is compared stands together, whoever's turn it was measured in.
    rows.sort_by_key(|row| {
        GROUPS
            .iter()
            .position(|group| row.case.starts_with(group))
            .unwrap_or(GROUPS.len())
    });
    Ok(rows)
}

/// How cases begin, in the order in which they are shown.
const GROUPS: [&str; 8] = [
    "40ms-",
    "1ms-",
    "switch-",
    "edge-",
    "overrun-",
    "group-",
    "ordinary-",
    "cyclictest-",
];
