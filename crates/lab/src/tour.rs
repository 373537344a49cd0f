//! Short runs of the five capabilities' experiments, as many at a time as there are
//! [slots](crate::host) for machines. Virtual time is not affected: their figures are those of
//! a run alone. The cost of a packet takes as long as two of them; it, the bystanders, the kernels
//! and the soak are run only on request.

use std::sync::{
    Arc, Mutex, PoisonError,
    mpsc::{Sender, channel},
};
use std::thread;

use takt_report::Report;

use crate::experiment::NAMES;
use crate::host;
use crate::run::{RunError, RunOptions, run_one};

/// The name of all five.
pub const NAME: &str = "tour";

/// The longest first, so that none is left for the end.
const LONGEST_FIRST: [&str; 5] = ["pacing", "crowd", "beats", "background", "radio"];

type Outcome = (&'static str, Result<Report, RunError>);

/// All reports in the order of [`NAMES`]. The first error ends the tour: machines that run then
/// end with this program.
pub(crate) fn run(options: &RunOptions) -> Result<Vec<Report>, RunError> {
    // Once for all of them.
    host::ensure(options.kernel.as_deref())?;
    let waiting = Arc::new(Mutex::new(LONGEST_FIRST.into_iter()));
    let (sender, outcomes) = channel();
    for _ in 0..host::machines_at_once().min(LONGEST_FIRST.len()) {
        let (waiting, sender, options) = (Arc::clone(&waiting), sender.clone(), options.clone());
        thread::spawn(move || {
            let next = || {
                let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.next()
            };
            run_each(next, &options, &sender);
        });
    }
    drop(sender);
    let mut reports = Vec::new();
    for (name, outcome) in outcomes {
        reports.push((place(name), outcome?));
    }
    reports.sort_by_key(|(place, _)| *place);
    Ok(reports.into_iter().map(|(_, report)| report).collect())
}

fn run_each(
    next: impl Fn() -> Option<&'static str>,
    options: &RunOptions,
    outcomes: &Sender<Outcome>,
) {
    while let Some(name) = next() {
        let outcome = run_one(name, true, options);
        // After an error there is no receiver any more.
        if outcomes.send((name, outcome)).is_err() {
            return;
        }
    }
}

fn place(name: &str) -> usize {
    NAMES
        .iter()
        .position(|known| *known == name)
        .unwrap_or(NAMES.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tour_has_every_capability_once() {
        let mut begun = LONGEST_FIRST.to_vec();
        begun.extend([
            "cost",
            "sim",
            "bystanders",
            "kernels",
            "soak",
            "queues",
            "gateway",
        ]);
        let mut known = NAMES.to_vec();
        begun.sort_unstable();
        known.sort_unstable();
        assert_eq!(begun, known);
    }
}
