//! Requests to taktd: docs/beats.md.

use std::{fmt::Write, time::Duration};

/// The terms of a reservation that the policy does not declare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The thread's period; with `period_per`, so many of them.
    pub period: Duration,
    /// The period is `period / period_per`, exactly: [`Terms::frames`].
    pub period_per: u32,
    /// The budget in each period; of a group, of all members together.
    pub budget: Duration,
    /// The offset in its period; `None` for any that fits.
    pub offset: Option<Duration>,
    /// The lead: how much earlier a member is released. `done` waits out the rest.
    pub lead: Duration,
    /// The lead is learned from how late the thread's starts are, and `lead` does not count.
    pub lead_auto: bool,
    /// What happens to a thread that exceeds its budget.
    pub overrun: Overrun,
    /// The hand-off group with which it shares the budget.
    pub group: Option<Group>,
}

/// A member of a group: each hands over to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The group's name, which its members have in common.
    pub name: String,
    /// From 1, in the order of hand-off.
    pub member: u32,
    /// How many members there are.
    pub of: u32,
    /// Who says which member goes next; all members must say the same.
    pub handoff: Handoff,
}

/// Who says which member of a group goes next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Handoff {
    /// The order of the members, once in each period.
    #[default]
    Order,
    /// The member that hands over, by [`Beat::pass`](crate::Beat::pass).
    Free,
}

/// What happens to a thread that has used up its budget and goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Overrun {
    /// It is an ordinary thread until its next period.
    #[default]
    Demote,
    /// As `Demote`, and it gets SIGXCPU.
    Signal,
    /// All of its group are ordinary threads from then on.
    StopGroup,
    /// It waits for its next slot, and runs in no other time.
    Wait,
}

impl Terms {
    /// Terms of a single thread that runs once for so many of `rate_hz` frames a second, without
    /// drift: `Terms::frames(64, 48_000, budget)`.
    pub fn frames(count: u32, rate_hz: u32, budget: Duration) -> Self {
        Self {
            period_per: rate_hz,
            ..Self::new(Duration::from_secs(count.into()), budget)
        }
    }

    /// Terms of a single thread, at any offset that fits.
    pub fn new(period: Duration, budget: Duration) -> Self {
        Self {
            period,
            period_per: 1,
            budget,
            offset: None,
            lead: Duration::ZERO,
            lead_auto: false,
            overrun: Overrun::default(),
            group: None,
        }
    }
}

pub(crate) fn join(tid: u32, terms: Option<&Terms>) -> String {
    let terms = terms.map(spell).unwrap_or_default();
    format!("{{\"join_beat\":{{\"tid\":{tid}{terms}}}}}\n")
}

pub(crate) fn join_task(tid: u32, task: &str, member: Option<&str>) -> String {
    let member = member.map_or_else(String::new, |name| format!(",\"member\":{}", quoted(name)));
    let task = quoted(task);
    format!("{{\"join_beat\":{{\"tid\":{tid},\"task\":{task}{member}}}}}\n")
}

pub(crate) fn leave(tid: u32) -> String {
    format!("{{\"leave_beat\":{{\"tid\":{tid}}}}}\n")
}

fn spell(terms: &Terms) -> String {
    let mut text = String::new();
    let mut put = |key: &str, value: &str| {
        // Writing into a string does not fail.
        let _ = write!(text, ",\"{key}\":{value}");
    };
    match terms.period_per {
        0 | 1 => put("period_ns", &nanoseconds(terms.period)),
        per => put(
            "period",
            &format!("\"{}/{per}ns\"", nanoseconds(terms.period)),
        ),
    }
    put("budget_ns", &nanoseconds(terms.budget));
    if let Some(offset) = terms.offset {
        put("offset_ns", &nanoseconds(offset));
    }
    if terms.lead_auto {
        put("lead", "\"auto\"");
    } else if !terms.lead.is_zero() {
        put("lead_ns", &nanoseconds(terms.lead));
    }
    match terms.overrun {
        Overrun::Demote => {}
        Overrun::Signal => put("overrun", "\"signal\""),
        Overrun::StopGroup => put("overrun", "\"stop-group\""),
        Overrun::Wait => put("overrun", "\"wait\""),
    }
    if let Some(group) = &terms.group {
        let Group { member, of, .. } = group;
        let name = quoted(&group.name);
        let handoff = match group.handoff {
            Handoff::Order => "",
            Handoff::Free => ",\"handoff\":\"free\"",
        };
        put(
            "group",
            &format!("{{\"name\":{name},\"member\":{member},\"of\":{of}{handoff}}}"),
        );
    }
    text
}

/// A value that does not fit into 64 bits is refused, like all that is longer than a period.
fn nanoseconds(duration: Duration) -> String {
    u64::try_from(duration.as_nanos())
        .unwrap_or(u64::MAX)
        .to_string()
}

fn quoted(name: &str) -> String {
    let mut text = String::from('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// The text of a key, of one line of JSON.
pub(crate) fn text_of(line: &str, key: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = after(line, key)?.strip_prefix('"')?.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => return Some(text),
            '\\' => text.extend(rest.next()),
            c => text.push(c),
        }
    }
    None
}

pub(crate) fn number_of(line: &str, key: &str) -> Option<u32> {
    let rest = after(line, key)?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let mark = format!("\"{key}\":");
    Some(&line[line.find(&mark)? + mark.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_as_documented() {
        assert_eq!(join(7, None), "{\"join_beat\":{\"tid\":7}}\n");
        assert_eq!(leave(7), "{\"leave_beat\":{\"tid\":7}}\n");
        assert_eq!(
            join_task(7, "av", Some("m\"x\n")),
            "{\"join_beat\":{\"tid\":7,\"task\":\"av\",\"member\":\"m\\\"x\\u000a\"}}\n"
        );
        let plain = Terms::new(Duration::from_millis(40), Duration::from_millis(8));
        assert_eq!(
            join(7, Some(&plain)),
            "{\"join_beat\":{\"tid\":7,\"period_ns\":40000000,\"budget_ns\":8000000}}\n"
        );
        let learned = Terms {
            lead_auto: true,
            ..plain.clone()
        };
        assert!(join(7, Some(&learned)).ends_with(",\"lead\":\"auto\"}}\n"));
        let full = Terms {
            offset: Some(Duration::ZERO),
            lead: Duration::from_micros(20),
            overrun: Overrun::StopGroup,
            group: Some(Group {
                name: "av".to_owned(),
                member: 2,
                of: 3,
                handoff: Handoff::Free,
            }),
            ..plain
        };
        assert!(join(7, Some(&full)).ends_with(
            ",\"offset_ns\":0,\"lead_ns\":20000,\"overrun\":\"stop-group\",\
             \"group\":{\"name\":\"av\",\"member\":2,\"of\":3,\"handoff\":\"free\"}}}\n"
        ));
    }

    #[test]
    fn answers_are_read_and_nonsense_is_not() {
        let line = r#"{"error":{"code":"bad_beat","message":"task `\"a\"` is \\ no","fix":""}}"#;
        assert_eq!(text_of(line, "message").unwrap(), r#"task `"a"` is \ no"#);
        assert_eq!(text_of(line, "fix").unwrap(), "");
        assert_eq!(text_of(line, "page"), None);
        let line = r#"{"ok":{"place":{"tid":1234,"page":7}}}"#;
        assert_eq!(number_of(line, "tid"), Some(1234));
        assert_eq!(number_of(line, "page"), Some(7));
        for line in [
            "",
            "\"page\":",
            "\"page\":-1",
            "\"page\":99999999999",
            "\"page\":\"",
        ] {
            assert_eq!(number_of(line, "page"), None);
            assert_eq!(text_of(line, "page"), None);
        }
    }
}
