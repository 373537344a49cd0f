//! Reservations for programs that ask without privileges: for which threads, and on which
//! terms.

mod turns;
mod worker;

use std::{io, os::fd::OwnedFd};

use takt_host::{
    SentAway,
    reservations::{self, Caller, JoinError, Reservation, Terms, Wish},
};
use takt_policy::{ExactTime, LEAD_AUTO_MAX_NS};

use crate::{
    peer::Process,
    protocol::{
        BeatReservation, Code, GroupMember, JoinBeat, JoinedBeat, LeaveBeat, LeftBeat, ListedBeats,
        Refusal,
    },
};

pub(crate) use worker::{Request, Wanted, Worker};

/// The kernel's side.
trait Reservations {
    fn join(&mut self, tid: u32, caller: &Caller, wish: &Wish) -> Result<Reservation, JoinError>;
    fn leave(&mut self, tid: u32) -> Result<bool, takt_host::Error>;
    fn list(&self) -> Result<Vec<Reservation>, takt_host::Error>;
    fn sent_away(&self, tid: u32, uid: u32) -> Result<Option<SentAway>, takt_host::Error>;
}

/// The kernel's side on this host.
struct Host;

impl Reservations for Host {
    fn join(&mut self, tid: u32, caller: &Caller, wish: &Wish) -> Result<Reservation, JoinError> {
        reservations::join(tid, caller, wish)
    }

    fn leave(&mut self, tid: u32) -> Result<bool, takt_host::Error> {
        reservations::leave(tid)
    }

    fn list(&self) -> Result<Vec<Reservation>, takt_host::Error> {
        reservations::list()
    }

    fn sent_away(&self, tid: u32, uid: u32) -> Result<Option<SentAway>, takt_host::Error> {
        reservations::sent_away(tid, uid)
    }
}

/// What taktd asks about a process that sent a request.
trait Asker {
    /// The groups that it is in.
    fn groups(&self) -> &[u32];
    /// The host's number of the thread that the process calls so; of its first thread without a
    /// number.
    fn thread(&self, tid: Option<u32>) -> io::Result<Option<u32>>;
    /// Whether that is still its thread.
    fn has_thread(&self, tid: u32) -> bool;
}

impl Asker for Process {
    fn groups(&self) -> &[u32] {
        &self.groups
    }

    fn thread(&self, tid: Option<u32>) -> io::Result<Option<u32>> {
        Process::thread(self, tid)
    }

    fn has_thread(&self, tid: u32) -> bool {
        Process::has_thread(self, tid)
    }
}

fn join(
    reservations: &mut impl Reservations,
    asker: &impl Asker,
    uid: u32,
    request: &JoinBeat,
) -> Result<JoinedBeat, Refusal> {
    let wish = wish(request)?;
    let tid = thread(asker, request.tid)?;
    let Some(wish) = wish else {
        let standing = reservations.list().map_err(failed)?;
        if let Some(own) = standing.into_iter().find(|own| own.tid == tid) {
            return Ok(JoinedBeat { place: shown(own) });
        }
        return Err(match reservations.sent_away(tid, uid).map_err(failed)? {
            Some(gone) => lost(&gone),
            None => no_reservation(tid),
        });
    };
    if let Wish::AdHoc(terms) = &wish {
        terms.check().map_err(refused)?;
    }
    let caller = Caller {
        uid,
        groups: asker.groups().to_vec(),
    };
    let own = reservations.join(tid, &caller, &wish).map_err(refused)?;
    // The thread may have ended before it got its reservation, and its number may have been
    // reused.
    if !asker.has_thread(tid) {
        reservations.leave(tid).map_err(failed)?;
        return Err(not_a_thread());
    }
    Ok(JoinedBeat { place: shown(own) })
}

fn leave(
    reservations: &mut impl Reservations,
    asker: &impl Asker,
    request: &LeaveBeat,
) -> Result<LeftBeat, Refusal> {
    let tid = thread(asker, request.tid)?;
    if reservations.leave(tid).map_err(failed)? {
        Ok(LeftBeat { left: true })
    } else {
        Err(no_reservation(tid))
    }
}

fn list(reservations: &impl Reservations) -> Result<ListedBeats, Refusal> {
    let listed = reservations.list().map_err(failed)?;
    Ok(ListedBeats {
        places: listed.into_iter().map(shown).collect(),
    })
}

/// The job pages, in which the program finds its own. A program works without them.
fn job_pages() -> Option<OwnedFd> {
    reservations::job_pages().ok().flatten()
}

/// `None`: the reservation that the thread has already.
fn wish(request: &JoinBeat) -> Result<Option<Wish>, Refusal> {
    let on_terms = request.period_ns.is_some()
        || request.period.is_some()
        || request.budget_ns.is_some()
        || request.offset_ns.is_some()
        || request.offset.is_some()
        || request.lead_ns.is_some()
        || request.lead.is_some()
        || request.overrun.is_some()
        || request.group.is_some();
    let malformed = |message: &str, fix: &str| Err(Refusal::new(Code::Malformed, message, fix));
    let example = r#"such as {"join_beat":{"period_ns":40000000,"budget_ns":8000000}}"#;
    let period = time("period", request.period_ns, request.period.as_deref())?;
    match (&request.task, period, request.budget_ns) {
        (Some(_), ..) if on_terms => malformed(
            "the policy sets the terms of a declared task",
            "name a task, or give a period and a budget",
        ),
        (Some(task), ..) => Ok(Some(Wish::Declared {
            task: task.clone(),
            member: request.member.clone(),
        })),
        (None, ..) if request.member.is_some() => malformed(
            "a member without its task",
            "name the task, or the member within \"group\"",
        ),
        (None, Some(period), Some(budget_ns)) => {
            terms(request, period, budget_ns).map(|terms| Some(Wish::AdHoc(terms)))
        }
        (None, ..) if on_terms => malformed("a period or a budget is missing", example),
        _ => Ok(None),
    }
}

/// A time of the request, in whole nanoseconds or as a policy spells it.
fn time(
    key: &str,
    whole_ns: Option<u64>,
    text: Option<&str>,
) -> Result<Option<ExactTime>, Refusal> {
    let malformed = |message: String, fix: String| Refusal::new(Code::Malformed, message, fix);
    match (whole_ns, text) {
        (Some(_), Some(_)) => Err(malformed(
            format!("the {key} is given twice"),
            format!("give \"{key}_ns\" or \"{key}\""),
        )),
        (None, Some(text)) => takt_policy::parse_exact(text)
            .map(Some)
            .map_err(|message| malformed(message, format!("such as \"{key}\":\"64/48000s\""))),
        (whole_ns, None) => Ok(whole_ns.map(ExactTime::from)),
    }
}

fn terms(request: &JoinBeat, period: ExactTime, budget_ns: u64) -> Result<Terms, Refusal> {
    let (group, member, member_count) = match &request.group {
        None => (None, 0, 1),
        Some(GroupMember {
            name, member, of, ..
        }) => {
            let member = member.checked_sub(1).ok_or_else(|| {
                Refusal::new(
                    Code::BadBeat,
                    "there is no member 0",
                    "members are counted from 1",
                )
            })?;
            (Some(name.clone()), member, *of)
        }
    };
    let lead_auto = request.lead.is_some();
    if lead_auto && request.lead_ns.is_some() {
        return Err(Refusal::new(
            Code::Malformed,
            "the lead is given twice",
            "give \"lead_ns\" or \"lead\"",
        ));
    }
    Ok(Terms {
        group,
        member,
        member_count,
        period_ns: period,
        budget_ns,
        offset_ns: time("offset", request.offset_ns, request.offset.as_deref())?,
        lead_ns: if lead_auto {
            LEAD_AUTO_MAX_NS
        } else {
            request.lead_ns.unwrap_or_default()
        },
        lead_auto,
        overrun: request.overrun.unwrap_or_default(),
        handoff: { request.group.as_ref() }
            .and_then(|group| group.handoff)
            .unwrap_or_default(),
    })
}

fn thread(asker: &impl Asker, tid: Option<u32>) -> Result<u32, Refusal> {
    match asker.thread(tid) {
        Ok(Some(tid)) => Ok(tid),
        // The thread has ended, or its number was reused.
        _ => Err(not_a_thread()),
    }
}

fn not_a_thread() -> Refusal {
    Refusal::new(
        Code::NotYours,
        "this thread does not belong to the requesting process",
        "a process can reserve only for its own threads; use the number that gettid() returns",
    )
}

fn no_reservation(tid: u32) -> Refusal {
    Refusal::new(
        Code::NoPlace,
        format!("thread {tid} has no reservation on the beat"),
        "join a task that the policy declares, or give a period and a budget",
    )
}

fn lost(gone: &SentAway) -> Refusal {
    let policy = match &gone.policy {
        Some(policy) => format!("`takt apply` of {policy}"),
        None => "`takt apply`".to_owned(),
    };
    Refusal::new(
        Code::NoPlace,
        format!(
            "thread {} had a reservation in task `{}` until {} s ago, when {policy} sent it away: {}",
            gone.tid,
            gone.task,
            gone.ago_ns() / 1_000_000_000,
            gone.reason
        ),
        "ask for another reservation, or for a [[task]] in the policy",
    )
}

fn refused(error: JoinError) -> Refusal {
    let (code, fix) = match &error {
        JoinError::NotLoaded => (Code::NoBeats, "`takt status --tasks` shows what there is"),
        JoinError::NoTask { .. } | JoinError::NoMember { .. } | JoinError::Group { .. } => (
            Code::BadBeat,
            "`takt status --tasks` shows what the policy declares",
        ),
        JoinError::Taken { .. } | JoinError::Joined { .. } => {
            (Code::NoPlace, "`takt status --tasks` shows who has which")
        }
        JoinError::Invalid(_) => (Code::BadBeat, "nothing was changed"),
        JoinError::MayNotJoin(_) => (Code::MayNotJoin, "nothing was changed"),
        JoinError::TooMany(_) => (
            Code::TooMany,
            "request less, end another reservation, or declare the task in the policy",
        ),
        JoinError::NoRoom(_) => (Code::NoRoom, "nothing was changed"),
        JoinError::Host(_) => (Code::Failed, "ask root to check what taktd may do there"),
    };
    Refusal::new(code, error.to_string(), fix)
}

fn failed(error: takt_host::Error) -> Refusal {
    refused(error.into())
}

fn shown(own: Reservation) -> BeatReservation {
    BeatReservation {
        task: own.task,
        member: own.member,
        tid: own.tid,
        page: own.page,
        user: own.ad_hoc,
    }
}

#[cfg(test)]
mod tests;
