//! The cost of a byte when devices segment and merge, as they do everywhere but in the rest of the
//! laboratory: the processor's whole work for a KB of payload that is delivered, sender and receiver
//! included. It depends on the bytes in a packet, and so does what leaves back to back; rows have
//! both. So does how long [urgent](self::urgent) packets wait beside them.

mod bursts;
mod case;
mod contender;
mod figures;
mod flows;
mod leaving;
mod urgent;

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;
use takt_report::{Row, rate_error_ppm};

use self::case::{Case, PORT};
use self::contender::{Contender, Setting};
use self::figures::Work;
use self::flows::Flows;
use self::leaving::Packet;
use crate::experiment::bench::Bench;
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair;
use crate::experiment::root::Root;
use crate::experiment::round_trip::RoundTrip;

const ROUND_TRIP: Duration = Duration::from_millis(10);
/// Slow start is over.
const WARM_UP: Duration = Duration::from_secs(1);
/// A record for bursts lasts as long as this many bytes, a hundred of the largest packets; of each
/// flow as long as two.
const RECORD_BYTES: u64 = 100 * PACKET_MAX_BYTES;
const RECORD_FLOW_BYTES: u64 = 2 * PACKET_MAX_BYTES;
const PACKET_MAX_BYTES: u64 = 64_000;
const RECORD_MIN: Duration = Duration::from_millis(100);
const RECORD_MAX: Duration = Duration::from_secs(2);
const RECORD_IDLE_MIN_PERCENT: f64 = 20.0;

/// Packets have their receiver's address here, unlike in most of this experiment.
pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let _offloads = pair::with_offloads()?;
    let cases = if bench.short {
        &Case::ALL[..Case::SHORT]
    } else {
        &Case::ALL[..]
    };
    let mut rows = Vec::new();
    for contender in Contender::ALL {
        // One policy of Takt's replaces another.
        let mut root = Root::new(bench.takt());
        for case in cases {
            let Some(setting) = contender.setting(case) else {
                continue;
            };
            eprintln!("cost: {}, {}", contender.name(), case.name);
            match measure(bench, contender, case, &setting, &mut root) {
                Ok(metrics) => rows.push(Row {
                    scheduler: contender.name().to_owned(),
                    case: case.name.to_owned(),
                    metrics,
                }),
                Err(missing @ ExperimentError::Unsupported { .. }) => {
                    eprintln!("{} is left out: {missing}", contender.name());
                }
                Err(error) => return Err(error),
            }
        }
        root.detach()?;
    }
    // Rows of a case are adjacent, although measured apart.
    rows.sort_by_key(|row| cases.iter().position(|case| case.name == row.case));
    rows.extend(urgent::run(bench)?);
    Ok(rows)
}

fn measure(
    bench: &Bench,
    contender: Contender,
    case: &Case,
    setting: &Setting,
    root: &mut Root<'_>,
) -> Result<Metrics> {
    root.attach(contender.name(), &setting.qdisc)?;
    let _far = (!case.round_trip.is_zero())
        .then(|| RoundTrip::of(case.round_trip))
        .transpose()?;
    let flows = Flows::start(case, setting.pacing_bytes_per_s)?;
    sleep(WARM_UP);
    let window = Duration::from_secs(if bench.short { 1 } else { 2 });
    let work = Work::during(window, case.sent, &flows)?;
    let mut figures = work.metrics();
    figures.extend(metrics([("flows", json!(case.flows))]));
    if contender != Contender::None {
        // Afterwards, since recording takes time for each packet.
        let packets = leaving::during(record_duration(case), PORT)?;
        figures.extend(metrics([
            ("target_bps", json!(case.target_bps())),
            ("rate_error_ppm", json!(error_ppm(case, &work, &packets))),
            (
                "burst_p99_bytes",
                json!(bursts::burst_p99_bytes(case, &packets)),
            ),
        ]));
    }
    flows.stop()?;
    Ok(figures)
}

/// By the record, which is exact. A processor that has no time to record sends less meanwhile, and
/// of so many packets a count says enough.
fn error_ppm(case: &Case, work: &Work, packets: &[Packet]) -> Option<f64> {
    if work.idle_share_percent < RECORD_IDLE_MIN_PERCENT {
        rate_error_ppm(work.achieved_bps(), case.target_bps() as f64)
    } else {
        bursts::error_ppm(case, packets)
    }
}

fn record_duration(case: &Case) -> Duration {
    let bytes = RECORD_BYTES.max(case.flows as u64 * RECORD_FLOW_BYTES);
    let ns = 8 * bytes * 1_000_000_000 / case.target_bps();
    Duration::from_nanos(ns).clamp(RECORD_MIN, RECORD_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_the_same_bytes_at_most_rates() {
        let lasts = |name: &str| {
            let case = Case::ALL.iter().find(|case| case.name == name);
            record_duration(case.expect("a case"))
        };
        assert_eq!(lasts("100mbit"), Duration::from_millis(512));
        assert_eq!(lasts("400mbit-64-flows"), Duration::from_micros(163_840));
        assert_eq!(lasts("5gbit"), RECORD_MIN);
        assert_eq!(lasts("5mbit-a-flow"), RECORD_MAX);
    }
}
