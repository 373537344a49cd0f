//! The phase of the tables. The kernel's side reads CLOCK_MONOTONIC; how far the policy's clock is
//! ahead of it says where that clock's zero lies. Both clocks run equally fast, so this changes
//! only when the policy's clock is set.

use takt_policy::BeatsClock;

use super::{change::Change, found::Found, refusal::Refusal, roster::Roster};
use crate::{error::Error, os::clock};

/// Two measurements of the same difference may differ so much.
const SAME_NS: u64 = 200;

/// How far the clock is ahead now; `before_ns` if it was not set since that was found.
pub(super) fn ahead_ns(clock: BeatsClock, before_ns: Option<u64>) -> u64 {
    match clock {
        BeatsClock::Monotonic => 0,
        BeatsClock::Tai => {
            let now_ns = clock::tai_ahead_ns();
            let found_ns = now_ns.start() + (now_ns.end() - now_ns.start()) / 2;
            let width_ns = now_ns.end() - now_ns.start();
            before_ns
                .filter(|before_ns| before_ns.abs_diff(found_ns) <= width_ns.max(SAME_NS))
                .unwrap_or(found_ns)
        }
    }
}

/// By how much a roster's clock was set forward since its tables were made.
pub(super) fn was_set_by_ns(roster: &Roster) -> i64 {
    let now_ns = ahead_ns(roster.beats.clock, Some(roster.clock_ahead_ns));
    now_ns.wrapping_sub(roster.clock_ahead_ns) as i64
}

/// What is wrong with the clock, if anything is.
pub(super) fn problem(roster: &Roster) -> Option<String> {
    let by_ns = was_set_by_ns(roster);
    (by_ns != 0).then(|| {
        format!(
            "CLOCK_TAI was set by {by_ns} ns since the tables were made: taktd follows it, or \
             `takt apply` again"
        )
    })
}

/// How far TAI is ahead of UTC, by the kernel; `None` if the roster's clock is another.
pub(super) fn tai_offset_s(roster: &Roster) -> Option<u64> {
    (roster.beats.clock == BeatsClock::Tai).then(clock::tai_offset_s)
}

/// Whether the clock of this namespace's tasks was set since their tables were made.
pub(crate) fn is_to_follow(netns_cookie: u64) -> Result<bool, Error> {
    Ok(off(netns_cookie)?.is_some())
}

/// Makes the tables anew, in the phase of their clock. Returns by how much it was set forward, if
/// it was. From its next frame on a CPU follows.
pub(crate) fn follow(netns_cookie: u64) -> Result<Option<i64>, Error> {
    let Some((found, by_ns)) = off(netns_cookie)? else {
        return Ok(None);
    };
    let record = found.record.as_ref();
    let Some(roster) = record.map(|record| record.roster.clone()) else {
        return Ok(None);
    };
    let change = Change::to(roster.in_phase(), Some(found.scheduler), found.record);
    change.map_err(Refusal::without_new_tasks)?.make()?;
    Ok(Some(by_ns))
}

fn off(netns_cookie: u64) -> Result<Option<(Found, i64)>, Error> {
    let Some(found) = Found::look()? else {
        return Ok(None);
    };
    let roster = found.record.as_ref().map(|record| &record.roster);
    let by_ns = roster.map_or(0, was_set_by_ns);
    let is_off = by_ns != 0 && found.ended.is_none() && !found.is_elsewhere(netns_cookie);
    Ok(is_off.then_some((found, by_ns)))
}
