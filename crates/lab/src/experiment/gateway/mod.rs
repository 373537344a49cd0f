//! A house behind a gateway, on lines of several rates whose modems have deep queues: how much
//! later packets arrive when the line is full, in either direction, and who gets how much of it.
//!
//! [`network`] has the hosts, the gateway and the [`line`], [`contender`] what is set up at the
//! gateway, [`case`] what is on the line; a [`talk`] is datagrams both ways, a [`stream`] TCP (and [`segments`] what it sent again), a
//! [`page`] what a browser loads; [`play`] is the loop around them, and [`figures`] makes rows.

mod case;
mod choice;
mod contender;
mod figures;
mod line;
mod network;
mod page;
mod play;
mod segments;
mod stream;
mod talk;

use std::time::Duration;

use takt_report::Row;

use self::case::{Case, Group, Traffic};
pub use self::choice::{Choice, names};
use self::contender::Contender;
use self::figures::Span;
use self::network::{Counters, D, Family, Network, Server};
use self::play::Play;
use self::segments::Segments;
use super::bench::Bench;
use super::error::{ExperimentError, Result};
use super::load::Idle;
use super::metrics::Metrics;

/// Talks alone: what delays are compared with.
const IDLE: Duration = Duration::from_secs(2);
/// Flows have left slow start, and CoDel has found its rate of drops.
const WARM_UP: Duration = Duration::from_secs(6);
/// Reading the load figures keeps the processor busy for a moment.
const AFTER_A_LOAD_FIGURE: Duration = Duration::from_millis(20);
/// More than the deepest queues hold; what has not arrived then is lost.
const DRAIN: Duration = Duration::from_secs(4);
/// At the last page.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let choice = &bench.gateway;
    let contenders = choice.contenders()?;
    let groups = case::groups(bench.short, choice)?;
    let cases: usize = groups.iter().map(|group| group.cases.len()).sum();
    let mut progress = Progress {
        done: 0,
        all: cases * contenders.len(),
    };
    let mut rows = Vec::new();
    for group in &groups {
        let _network = Network::build(group.line, group.offloads)?;
        for contender in &contenders {
            rows.extend(of_contender(bench, group, *contender, &mut progress)?);
        }
    }
    // A table for each kind of traffic, over all lines.
    rows.sort_by_key(|(traffic, _)| *traffic);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

struct Progress {
    done: usize,
    all: usize,
}

fn of_contender(
    bench: &Bench,
    group: &Group,
    contender: Contender,
    progress: &mut Progress,
) -> Result<Vec<(Traffic, Row)>> {
    let mut shaper = match contender.attach(bench.takt(), group.line) {
        Err(missing @ ExperimentError::Unsupported { .. }) => {
            eprintln!("{} is left out: {missing}", contender.name());
            progress.done += group.cases.len();
            return Ok(Vec::new());
        }
        attached => attached?,
    };
    let mut rows = Vec::new();
    for case in &group.cases {
        progress.done += 1;
        let Progress { done, all } = progress;
        eprintln!(
            "gateway: {}, {}, {done} of {all}",
            contender.name(),
            case.name()
        );
        let row = Row {
            scheduler: contender.name().to_owned(),
            case: case.name(),
            metrics: measure(case)?,
        };
        rows.push((case.traffic, row));
    }
    shaper.detach()?;
    Ok(rows)
}

fn measure(case: &Case) -> Result<Metrics> {
    let mut play = Play::new(case.traffic.talks(case.line)?, case.traffic.streams()?)?;
    let early = case.traffic.talks_without_load();
    play.start_talks(0..early)?;
    let idle = Span::from(play.run(IDLE)?);
    play.start_talks(early..play.talks.len())?;
    play.start_streams()?;
    play.run(WARM_UP)?;
    let (mut metrics, loaded, pages) = std::thread::scope(|scope| {
        let server = Server::Page.address(Family::Ipv4);
        let pages = (case.traffic == Traffic::Page)
            .then(|| scope.spawn(move || page::load_for(case.duration, D, server)));
        let (metrics, loaded) = measure_load(case, &mut play)?;
        let Some(pages) = pages else {
            return Ok((metrics, loaded, Vec::new()));
        };
        // The last page is not to have the line for itself.
        while !pages.is_finished() {
            play.run(BETWEEN_LOOKS)?;
        }
        match pages.join() {
            Ok(pages) => Ok::<_, ExperimentError>((metrics, loaded, pages?)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })?;
    let talks = play.finish(DRAIN)?;
    figures::of_talks(&mut metrics, case.traffic, &talks, idle, loaded);
    figures::of_pages(&mut metrics, pages);
    Ok(metrics)
}

/// What the line and the flows did for the measured time, and when that was.
fn measure_load(case: &Case, play: &mut Play) -> Result<(Metrics, Span)> {
    let idle_before = Idle::now()?;
    play.run(AFTER_A_LOAD_FIGURE)?;
    let received = |play: &Play| -> Vec<u64> {
        let streams = play.streams.iter();
        streams.map(|stream| stream.received_bytes).collect()
    };
    let (before, from, segments) = (received(play), Counters::now()?, Segments::now()?);
    let loaded = Span::from(play.run(case.duration)?);
    let to = Counters::now()?;
    let segments = Segments::now()?.since(segments);
    let busy = Idle::now()?.since(&idle_before);
    let after = received(play);
    let bytes: Vec<u64> = after
        .iter()
        .zip(before)
        .map(|(to, from)| to - from)
        .collect();
    let mut metrics = Metrics::new();
    figures::of_streams(&mut metrics, case.traffic, &play.streams, &bytes, loaded);
    figures::of_segments(&mut metrics, segments);
    figures::of_line(&mut metrics, case.line, from, to, loaded);
    figures::of_processor(&mut metrics, &busy);
    Ok((metrics, loaded))
}
