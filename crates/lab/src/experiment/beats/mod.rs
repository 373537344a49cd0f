//! Do threads run at their guaranteed times, and what does that cost?
//!
//! The experiment of HiTactix, section 3: four threads of T = 40 ms and L = 8 ms beside packets
//! and two busy ordinary threads; their jitter, the cost of a switch, the causes of delay. From
//! the bottom: [`clock`] is the clock of all threads, [`beat`] the threads, [`policy`] Takt's
//! policy and [`contender`] the other schedulers' settings, [`settings`] those of the machine;
//! [`script`] is the input of a [`process`] of this experiment and [`program`] that program,
//! [`load`] the load beside it and [`outside`] the device from which it may come; [`stage`] runs
//! them, and [`jitter`], [`storm`], [`control`], [`audio`], [`switches`], [`edges`], [`calls`],
//! [`overrun`], [`group`], [`throughput`] and [`cyclictest`] are the measurements, in each contender's [`turn`];
//! [`packets`] follows from the storms.

mod audio;
mod beat;
mod calls;
mod clock;
mod contender;
mod control;
mod cyclictest;
mod edges;
mod extent;
mod group;
mod jitter;
mod load;
mod outside;
mod overrun;
mod packets;
mod policy;
mod process;
mod program;
mod script;
mod settings;
mod spans;
mod stage;
mod storm;
mod switches;
mod throughput;
mod turn;

use takt_report::Row;

pub(super) use self::clock::{now_ns, sleep_until};
use self::contender::Contender;
use self::extent::Extent;
pub use self::program::play_from_stdin;
pub(super) use self::program::{Work, enter, exact_timers};
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
    packets::compare(&mut rows);
    throughput::compare(&mut rows, Contender::Fifo.name());
    // Rows to be compared are adjacent, although measured in different turns.
    rows.sort_by_key(|row| {
        GROUPS
            .iter()
            .position(|group| row.case.starts_with(group))
            .unwrap_or(GROUPS.len())
    });
    Ok(rows)
}

/// The beginnings of cases' names, in the order in which they are shown.
const GROUPS: [&str; 12] = [
    "40ms-",
    "1ms-",
    "storm-",
    "loop-",
    "audio-",
    "switch-",
    "edge-",
    "call-",
    "overrun-",
    "group-",
    "ordinary-",
    "cyclictest-",
];
