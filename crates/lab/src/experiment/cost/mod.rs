//! The additional cost of a packet over no scheduler at all.
//!
//! Two cases. [*At once*](self::at_once): packets find their class idle and go straight
//! through, queued and dequeued in the call that sent them. [*Waiting*](self::waiting): every
//! class has packets queued, and each leaves at its due time. Both with classes of one flow
//! each, and with one class in which every flow has its own rate. And both with
//! [stations](self::stations) that share by weight. Then the cost when TCP is
//! [watched](self::monitored), and the cost of a [byte](self::bytes) in packets of many frames. On a
//! real machine only the first.

mod at_once;
pub(super) mod bytes;
pub(super) mod caches;
mod counters;
mod monitored;
mod stations;
mod waiting;

use takt_report::Row;

use self::at_once::AtOnce;
use crate::experiment::bench::Bench;
use crate::experiment::error::Result;
use crate::experiment::pair;

const ROUNDS_NATIVE: u32 = 7;

/// Rounds take the schedulers in turn, so that slow changes affect all of them, and none is
/// attached and detached more often than that.
pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    // Traffic has no receiver here: the work after the cable is no part of the cost, and with
    // less of it the rest shows better.
    let misled = pair::drop_on_arrival()?;
    let rounds = match (bench.native, bench.short) {
        (false, true) => 1,
        (false, false) => 3,
        // Other programs disturb some of them.
        (true, true) => ROUNDS_NATIVE,
        (true, false) => 3 * ROUNDS_NATIVE,
    };
    let cases = AtOnce::cases();
    let mut measured = Vec::new();
    let mut waited = Vec::new();
    for round in 1..=rounds {
        bench.with_each(|scheduler, root| {
            for case in &cases {
                eprintln!(
                    "cost: round {round} of {rounds}, {}, {}",
                    scheduler.name(),
                    case.name
                );
                measured.extend(case.measure(scheduler, root)?);
            }
            // By what the machine is idle: beside other programs that tells nothing.
            if round == 1 && !bench.native {
                waited.extend(waiting::run(scheduler, root, bench.short)?);
            }
            Ok(())
        })?;
    }
    let mut rows = at_once::rows(&cases, &measured);
    if bench.native {
        return Ok(rows);
    }
    rows.extend(waiting::with_cost(waited));
    if bench.wants_all() {
        rows.extend(stations::run(bench)?);
        drop(misled);
        rows.extend(monitored::run(bench)?);
        rows.extend(bytes::run(bench)?);
    }
    Ok(rows)
}
