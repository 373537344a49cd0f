//! Does `takt sim` say what a kernel does?
//!
//! Each case is a policy with a traffic file, as users write them. The traffic is sent through a
//! kernel's scheduler, at the moments at which the simulator's senders send, and simulated under
//! the model of that scheduler. A row has both figures of a source, and how far they are apart.
//!
//! Timers of the model are as late as the kernel's: that is measured first, and a row of its own.

mod case;
mod compare;
mod contender;
mod delivery;
mod lateness;
mod player;
mod schedule;
mod start;
mod transfer;

use std::thread::sleep;
use std::time::Duration;

use takt_policy::traffic::Distribution;
use takt_report::Row;
use takt_sim::{Setup, Terms};

use self::case::{Case, cases};
use self::contender::Contender;
use super::bench::Bench;
use super::error::{ExperimentError, Result};
use super::root::Root;

const SEED: u64 = 1;
const NS_PER_S: u64 = 1_000_000_000;
/// In short: of cases that play the simulator's own schedule, and of those with a free phase, which
/// need a thousand packets of a probe for a percentile. Then of all cases otherwise.
const DURATIONS_S: [u64; 3] = [3, 5, 20];
/// Until the kernel has freed what the scheduler before has left: for a link's packets a thread of
/// the kernel's goes through all slots at once, which holds up a sender for a millisecond.
const SETTLE: Duration = Duration::from_secs(1);

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let [short_s, short_free_s, long_s] = DURATIONS_S;
    let terms = |is_free: bool| Terms {
        seed: SEED,
        duration_ns: NS_PER_S
            * match (bench.short, is_free) {
                (true, false) => short_s,
                (true, true) => short_free_s,
                (false, _) => long_s,
            },
    };
    let late = lateness::measure(bench, terms(false))?;
    let mut rows = vec![late.row()];
    for case in cases() {
        let terms = terms(case.has_free_phase());
        let path_ns = path_ns(&case, terms)?;
        for &contender in case.contenders {
            eprintln!("sim: {}, {}", contender.name(), case.name);
            let setup = setup(&case.policy_on(contender), &case.traffic, &late.times)?;
            let mut root = Root::new(bench.takt());
            sleep(SETTLE);
            match measure(&case, contender, setup, path_ns, terms, &mut root) {
                Ok(of_case) => rows.extend(of_case),
                Err(missing @ ExperimentError::Unsupported { .. }) => {
                    eprintln!("{} is left out: {missing}", contender.name());
                }
                Err(error) => return Err(error),
            }
            root.detach()?;
        }
    }
    Ok(rows)
}

/// A policy with a traffic file. Timers are late by `late`.
fn setup(policy: &str, traffic: &str, late: &Distribution) -> Result<Setup> {
    let wrong = |error: &dyn std::fmt::Display| ExperimentError::Output {
        command: "takt sim".to_owned(),
        reason: error.to_string(),
    };
    let policy = takt_policy::parse("policy", policy).map_err(|error| wrong(&error))?;
    let traffic = takt_policy::traffic::parse("traffic", traffic).map_err(|error| wrong(&error))?;
    let mut setup = Setup::new(&policy, "policy", None, &traffic).map_err(|error| wrong(&error))?;
    setup.traffic.host.timer_late = late.clone();
    Ok(setup)
}

/// What the way from a sender to the receiver's time stamp takes without a scheduler, in the
/// median.
fn path_ns(case: &Case, terms: Terms) -> Result<u64> {
    const SHORT: u64 = NS_PER_S / 2;
    let late = Distribution::default();
    let setup = setup(&case.policy, &case.traffic, &late)?;
    let schedule = schedule::of(&setup, terms.seed, SHORT);
    let deliveries = player::play(&setup, &schedule, start::soon_ns()?)?;
    let mut delays_ns: Vec<u64> = deliveries.iter().filter_map(|one| one.delay_ns()).collect();
    delays_ns.sort_unstable();
    Ok(delays_ns.get(delays_ns.len() / 2).copied().unwrap_or(0))
}

fn measure(
    case: &Case,
    contender: Contender,
    mut setup: Setup,
    path_ns: u64,
    terms: Terms,
    root: &mut Root<'_>,
) -> Result<Vec<Row>> {
    contender.pace(&mut setup, case.rate_bps);
    let _round_trip = transfer::round_trip(&setup)?;
    let _single_frames = super::pair::with_single_frames()?;
    root.attach(contender.name(), &contender.qdisc(case))?;
    let schedule = schedule::of(&setup, terms.seed, terms.duration_ns);
    let begin_ns = start::soon_ns()?;
    let transfers = transfer::start(&setup, begin_ns, terms.duration_ns)?;
    let deliveries = player::play(&setup, &schedule, begin_ns)?;
    let transferred = transfers.finish()?;
    let mut model = contender.model(&setup, case.rate_bps);
    let outcome = takt_sim::run(&setup, contender.name(), &mut *model, terms);
    let seen = compare::Seen {
        deliveries: &deliveries,
        transferred: &transferred,
        path_ns,
        window_ns: setup.traffic.measure_after_ns..terms.duration_ns,
        has_free_phase: case.has_free_phase(),
    };
    let sources = (0..).zip(&outcome.sources);
    Ok(sources
        .map(|(source, simulated)| Row {
            scheduler: contender.name().to_owned(),
            case: format!("{}/{}", case.name, simulated.name),
            metrics: seen.beside(&setup, source, simulated),
        })
        .collect())
}
