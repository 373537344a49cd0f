//! Commands that only look.

use serde_json::json;
use takt_fleet::{
    operator::{Error, HostView, View},
    revision::Assignment,
};

use super::{args::Common, exit::Exit, operator, print};

/// Hosts with trouble that are listed.
const TROUBLED_MAX: usize = 20;

pub async fn status(common: &Common, hosts: bool) -> Result<Exit, Error> {
    let view = operator(common, false).await?.view().await?;
    let value = serde_json::to_value(&view).unwrap_or_default();
    print(common.output, &value, || text(&view, hosts));
    Ok(Exit::Done)
}

fn text(view: &View, all: bool) -> String {
    let signer = view.signer.as_deref().unwrap_or("no key");
    let mut text = format!(
        "fleet {}, revision {}, signed by {signer}\n",
        view.fleet, view.revision
    );
    if !view.note.is_empty() {
        text += &format!("  {}\n", view.note);
    }
    if view.assignments.is_empty() {
        text += "nothing is assigned; takt fleet push does that\n";
    }
    for own in &view.assignments {
        let paused = if own.paused { ", paused" } else { "" };
        text += &format!(
            "{}: policy {} of revision {}{paused}\n  {} of {} hosts released, {} keep it, {} on \
             trial, {} took it back, {} absent\n",
            own.to,
            own.policy.as_deref().unwrap_or("none"),
            own.since,
            own.released,
            own.hosts,
            own.kept,
            own.trying,
            own.failed,
            own.absent,
        );
    }
    let unassigned = view.hosts.iter().filter(|host| host.state == "unassigned");
    match unassigned.count() {
        0 => {}
        count => text += &format!("{count} hosts have no assignment\n"),
    }
    let shown = view.hosts.iter();
    let shown: Vec<&HostView> = if all {
        shown.collect()
    } else {
        shown.filter(|host| host.trouble().is_some()).collect()
    };
    let most = if all { usize::MAX } else { TROUBLED_MAX };
    text += &table(shown.iter().take(most).copied());
    match shown.len().saturating_sub(most) {
        0 => {}
        more => text += &format!("and {more} more: takt fleet status --hosts\n"),
    }
    for doubt in view.disbelieved.iter().take(TROUBLED_MAX) {
        text += &format!("rejected: a report of {}: {}\n", doubt.host, doubt.why);
    }
    text
}

fn table<'a>(hosts: impl Iterator<Item = &'a HostView>) -> String {
    let rows: Vec<[String; 4]> = hosts
        .map(|host| {
            let report = &host.report;
            let policy = match report.in_force {
                0 => "-".to_owned(),
                since => format!("{} ({since})", report.policy),
            };
            let trouble = host.trouble().unwrap_or_default();
            [report.id.clone(), host.state.to_owned(), policy, trouble]
        })
        .collect();
    let width = |at: usize| rows.iter().map(|row| row[at].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let lines = rows.iter().map(|[id, state, policy, trouble]| {
        let line = format!(
            "  {id:w0$}  {state:w1$}  {policy:w2$}  {trouble}",
            w0 = widths[0],
            w1 = widths[1],
            w2 = widths[2]
        );
        format!("{}\n", line.trim_end())
    });
    lines.collect()
}

pub async fn history(common: &Common) -> Result<Exit, Error> {
    let history = operator(common, false).await?.history().await?;
    let all = history.iter().map(|at| {
        let all = at.revision.assignments.iter();
        let assignments = all.map(|own| {
            json!({
                "to": own.to,
                "policy": own.target.policy,
                "since": own.target.since,
                "complete": own.is_complete(),
                "paused": own.paused,
            })
        });
        json!({
            "revision": at.revision.number,
            "unix_time_s": at.at_s,
            "note": at.revision.note,
            "signer": at.signer.map(|key| key.to_string()),
            "assignments": assignments.collect::<Vec<_>>(),
        })
    });
    let value = json!(all.collect::<Vec<_>>());
    print(common.output, &value, || {
        let lines = history.iter().map(|at| {
            let note = match at.revision.note.as_str() {
                "" => String::new(),
                note => format!("  {note}"),
            };
            let all = at.revision.assignments.iter().map(describe);
            let all = all.collect::<Vec<_>>().join("; ");
            format!("{:5}  {}  {all}{note}\n", at.revision.number, utc(at.at_s))
        });
        lines.collect()
    });
    Ok(Exit::Done)
}

fn describe(own: &Assignment) -> String {
    let policy = own.target.policy.map(|digest| digest.short());
    let policy = policy.unwrap_or_else(|| "none".to_owned());
    let state = match () {
        () if own.paused => " paused",
        () if own.is_complete() => "",
        () => " in waves",
    };
    format!("{}: {policy} ({}){state}", own.to, own.target.since)
}

/// Such as 2026-11-27 18:45:17.
fn utc(unix_s: i64) -> String {
    // Days of the civil calendar, by Howard Hinnant's algorithm.
    let (days, second) = (unix_s.div_euclid(86_400), unix_s.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!(
        "{year}-{month:02}-{day:02} {:02}:{:02}:{:02}",
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

pub async fn drift(common: &Common) -> Result<Exit, Error> {
    let view = operator(common, false).await?.view().await?;
    let is_off = |host: &&HostView| {
        let has = matches!(host.state, "kept" | "before" | "unassigned");
        !has || host.report.drifted || host.double
    };
    let off: Vec<&HostView> = view.hosts.iter().filter(is_off).collect();
    let value = json!({ "revision": view.revision, "hosts": off });
    print(common.output, &value, || {
        if off.is_empty() {
            "every host has what is assigned to it\n".to_owned()
        } else {
            table(off.iter().copied())
        }
    });
    Ok(Exit::Done)
}

pub async fn forget(common: &Common, host: &str) -> Result<Exit, Error> {
    if let Err(error) = takt_fleet::labels::check_identity(host) {
        return Ok(super::fail(common.output, Exit::Invalid, &error));
    }
    let was_known = operator(common, false).await?.forget(host).await?;
    let value = json!({ "ok": true, "host": host, "was_known": was_known });
    print(common.output, &value, || {
        if was_known {
            format!("{host}: forgotten; the key of its next report will be trusted\n")
        } else {
            format!("{host}: was not known\n")
        }
    });
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_told() {
        for (unix_s, told) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_795_805_117, "2026-11-27 18:45:17"),
        ] {
            assert_eq!(super::utc(unix_s), told);
        }
    }
}
