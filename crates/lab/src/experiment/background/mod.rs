//! Does a background upload slow down a foreground upload, and what does preventing that cost?
//!
//! The experiment of LP-LBE, section 5: while 500 KB are uploaded in the background, a
//! foreground upload of 10 to 300 KB starts. From the bottom: [`wire`] is the modem's link and
//! the way to the server, [`contender`] the qdisc in front of it, [`tasks`] and [`bands`] what
//! two of the peers need beyond `tc`; [`upload`] is a connection and its receiver,
//! [`importance`] sets threads' priorities; [`transfer`] is one run and [`alone`] the
//! background by itself; [`processor`] and [`download`] are about a task that computes, and
//! [`program`] and [`receiver`] are its background programs; [`line`] is the same on a wire whose
//! device pushes back, at speeds that no policy names; [`bottleneck`] is the same where the
//! processor is short and not the wire, with a [`far_end`] of its own; [`work`] and [`segments`] count,
//! and [`figures`] makes rows.

mod alone;
mod bands;
mod bottleneck;
mod contender;
mod download;
mod far_end;
mod figures;
mod importance;
mod line;
mod processor;
mod program;
mod receiver;
mod segments;
mod tasks;
mod transfer;
mod upload;
mod wire;
mod work;

use std::collections::BTreeMap;
use std::time::Duration;

use takt_report::Row;

use self::contender::Contender;
use self::far_end::FarEnd;
pub use self::program::send_from_stdin;
pub use self::receiver::receive_numbered;
use self::tasks::Tasks;
use self::transfer::{Background, Foreground, Stage};
use self::upload::Server;
use self::wire::Wire;
use self::work::Observer;
use super::bench::Bench;
use super::error::{ExperimentError, Result, WhileDoing};
use super::pair::{self, A, B};
use super::root::Root;

/// Uplinks at the time of LP-LBE: the original WCDMA, and HSUPA.
const RATES_BPS: [(&str, u64); 2] = [("384kbit", 384_000), ("5.7mbit", 5_700_000)];
/// The programs in the background, and the tasks that process its packets.
const BACKGROUND_NICE: i32 = 19;
/// The foreground starts up to this much later: some frames at the slow rate.
const OFFSET_MAX: Duration = Duration::from_millis(100);

/// The size of a run.
struct Extent {
    sizes_kb: &'static [u64],
    runs: u32,
}

const FULL: Extent = Extent {
    sizes_kb: &[10, 50, 100, 200, 300],
    runs: 10,
};
const SHORT: Extent = Extent {
    sizes_kb: &[10, 100],
    runs: 1,
};

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let _single_frames = pair::with_single_frames()?;
    // Cached path metrics of a connection would help the next one.
    for namespace in [A, B] {
        namespace.run(|| {
            std::fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1")
                .doing("let connections forget")
        })?;
    }
    let observer = Observer::new(FarEnd::default())?;
    let wire = Wire::build()?;
    let server = Server::start(None)?;
    let mut alone_ns = BTreeMap::new();
    let mut rows = Vec::new();
    for contender in Contender::ALL {
        let stage = Stage {
            foreground: Foreground::READY,
            background: { contender.has_background() }
                .then(|| Background::of_500_kb(contender.marking())),
            server: &server,
            observer: &observer,
            takt: bench.takt(),
        };
        let mut root = Root::new(bench.takt());
        match measure(
            contender,
            &stage,
            &wire,
            &mut root,
            bench.short,
            &mut alone_ns,
        ) {
            Ok(measured) => rows.extend(measured),
            Err(missing @ ExperimentError::Unsupported { .. }) => {
                eprintln!("{} is left out: {missing}", contender.name());
            }
            Err(error) => return Err(error),
        }
        root.detach()?;
    }
    drop((server, wire));
    rows.extend(processor::run(bench.takt(), bench.short)?);
    rows.extend(line::run(bench.takt(), bench.short)?);
    Ok(rows)
}

/// Only what is measured on a wire that pushes back.
pub fn run_on_a_line(bench: &Bench) -> Result<Vec<Row>> {
    line::run(bench.takt(), bench.short)
}

/// Only what is measured where the processor is the bottleneck.
pub fn run_on_a_busy_processor(bench: &Bench) -> Result<Vec<Row>> {
    bottleneck::run(bench.takt(), bench.short)
}

/// One contender's rows. The first contender's transfers are the reference for the others.
fn measure(
    contender: Contender,
    stage: &Stage<'_>,
    wire: &Wire,
    root: &mut Root<'_>,
    short: bool,
    alone_ns: &mut BTreeMap<(u64, u64), f64>,
) -> Result<Vec<Row>> {
    let extent = if short { SHORT } else { FULL };
    let row = |case: String, metrics| Row {
        scheduler: contender.name().to_owned(),
        case,
        metrics,
    };
    let mut rows = Vec::new();
    for (rate, rate_bps) in RATES_BPS {
        wire.set_rate(rate_bps)?;
        root.attach(contender.name(), &contender.qdisc(rate_bps))?;
        if contender == Contender::Fq {
            bands::set_weights()?;
        }
        let _tasks = (contender == Contender::Tasks)
            .then(Tasks::start)
            .transpose()?;
        // The first connections pay for cold caches.
        stage.transfer(10_000, Duration::ZERO)?;
        for size_kb in extent.sizes_kb {
            let case = format!("{rate}-{size_kb}kb");
            eprintln!("background: {}, {case}", contender.name());
            let transfers = (0..extent.runs)
                .map(|run| stage.transfer(size_kb * 1_000, offset(run)))
                .collect::<Result<Vec<_>>>()?;
            let alone_ns = *alone_ns
                .entry((rate_bps, *size_kb))
                .or_insert_with(|| figures::mean_ns(&transfers));
            rows.push(row(
                case,
                figures::of_transfers(&transfers, size_kb * 1_000, rate_bps, alone_ns),
            ));
        }
        if let Some(background) = stage.background {
            let case = format!("{rate}-background-alone");
            eprintln!("background: {}, {case}", contender.name());
            rows.push(row(
                case,
                stage.background_alone(background, rate_bps, short)?,
            ));
        }
    }
    Ok(rows)
}

/// The same for every contender, and different from run to run: the multiples of the golden
/// ratio are evenly spread for any number of runs.
fn offset(run: u32) -> Duration {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    OFFSET_MAX.mul_f64((f64::from(run) * GOLDEN).fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_spread_evenly() {
        let mut offsets: Vec<_> = (0..10).map(offset).collect();
        offsets.sort();
        for gap in offsets.windows(2).map(|pair| pair[1] - pair[0]) {
            assert!(gap > OFFSET_MAX / 20 && gap < OFFSET_MAX / 5, "{gap:?}");
        }
    }
}
