//! How much of the host's time on the beat those may have who are not root. What the
//! policy declares is not counted: root has decided that.

use std::collections::BTreeMap;

use takt_kernel::places::{AdHoc, Capacity, JoinError, Place, Terms};

use crate::protocol::{Code, Refusal};

/// Tasks of one user.
pub(super) const TASKS_OF_ONE_MAX: usize = 8;
/// Of the time that can be assigned on all processors together.
const SHARE_OF_ONE_PPM: u64 = 250_000;
const SHARE_OF_USERS_PPM: u64 = 500_000;
/// Shorter periods cost every thread of their processor something.
const PERIOD_OF_USERS_MIN_NS: u64 = 1_000_000;

/// May this user have a place on such terms, beside those that stand?
pub(super) fn admit(
    uid: u32,
    terms: &Terms,
    standing: &[Place],
    capacity: Option<Capacity>,
) -> Result<(), Refusal> {
    if uid == 0 {
        return Ok(());
    }
    // Whether this host has beats at all is root's to say.
    let Some(capacity) = capacity else {
        return Err(super::refused(JoinError::NotLoaded));
    };
    let tasks: BTreeMap<&str, AdHoc> = standing
        .iter()
        .filter_map(|place| Some((place.task.as_str(), place.ad_hoc?)))
        .filter(|(_, task)| task.uid != 0)
        .collect();
    // A group is one task, however many have come.
    let joins = terms.group.as_deref().and_then(|group| tasks.get(group));
    if joins.is_some_and(|task| task.uid == uid) {
        return Ok(());
    }
    if terms.period_ns < PERIOD_OF_USERS_MIN_NS {
        return Err(Refusal::new(
            Code::BadBeat,
            "only root's periods are shorter than 1 ms",
            "ask for a longer one, or have the policy declare the task",
        ));
    }
    let own = || tasks.values().filter(|task| task.uid == uid);
    if own().count() >= TASKS_OF_ONE_MAX {
        return Err(too_many(format!(
            "user {uid} has {TASKS_OF_ONE_MAX} tasks on the beat, and may have no more"
        )));
    }
    let wanted_ppm = share_ppm(terms.budget_ns, terms.period_ns);
    let whole_ppm = u64::from(capacity.cpu_count) * u64::from(capacity.assigned_ppm);
    let sum_ppm = |tasks: &mut dyn Iterator<Item = &AdHoc>| -> u64 {
        tasks
            .map(|task| share_ppm(task.budget_ns, task.period_ns))
            .sum()
    };
    for (who, taken_ppm, of_whole_ppm) in [
        (format!("user {uid}"), sum_ppm(&mut own()), SHARE_OF_ONE_PPM),
        (
            "all users together".to_owned(),
            sum_ppm(&mut tasks.values()),
            SHARE_OF_USERS_PPM,
        ),
    ] {
        let most_ppm = whole_ppm * of_whole_ppm / 1_000_000;
        if taken_ppm + wanted_ppm > most_ppm {
            return Err(too_many(format!(
                "{who} may have {} of a processor's time on the beat, and {} is taken",
                percent(most_ppm),
                percent(taken_ppm)
            )));
        }
    }
    Ok(())
}

/// Rounded up.
fn share_ppm(budget_ns: u64, period_ns: u64) -> u64 {
    let share = u128::from(budget_ns) * 1_000_000;
    u64::try_from(share.div_ceil(u128::from(period_ns.max(1)))).unwrap_or(u64::MAX)
}

fn percent(ppm: u64) -> String {
    format!("{}.{} %", ppm / 10_000, ppm % 10_000 / 1_000)
}

fn too_many(message: String) -> Refusal {
    Refusal::new(
        Code::TooMany,
        message,
        "ask for less, end another, or have the policy declare the task",
    )
}
