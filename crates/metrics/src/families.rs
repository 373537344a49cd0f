//! What is told, and what it is called. One row for each device, class, tenant, task and group of the
//! policy: their number is bounded by the policy, never by traffic.

use takt_host::{ClassStatus, LinkStatus, Status, TaskStatus};

/// All rows of a name.
#[derive(Debug)]
pub struct Family {
    /// Without the unit, which follows.
    pub name: &'static str,
    /// As OpenMetrics has it; empty: it has none.
    pub unit: &'static str,
    pub kind: Kind,
    pub help: &'static str,
    pub samples: Vec<(Labels, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, until the link is made anew.
    Counter,
    /// It is as it is now.
    Gauge,
}

pub type Labels = Vec<(&'static str, String)>;

/// One family of a kind of thing.
struct Definition<T> {
    name: &'static str,
    unit: &'static str,
    kind: Kind,
    help: &'static str,
    /// `None`: this one has none.
    value: fn(&T) -> Option<f64>,
}

/// `name unit Kind "help" value;`, where the value is a number of the thing's.
macro_rules! definitions {
    ($of:ty: $($name:literal $unit:literal $kind:ident $help:literal $value:expr;)*) => {
        &[$(Definition::<$of> {
            name: $name,
            unit: $unit,
            kind: Kind::$kind,
            help: $help,
            value: $value,
        }),*]
    };
}

const LINKS: &[Definition<LinkStatus>] = definitions! { LinkStatus:
    "takt_link_attached" "" Gauge "1 if the device carries takt now"
        |link| Some(link.attached.into());
    "takt_link_has_problem" "" Gauge "1 if something is wrong with the link, as `takt status` says"
        |link| Some(link.problem.is_some().into());
    "takt_link_unkept" "promises" Gauge "What the policy asks for and the backend does not keep"
        |link| Some(link.unkept.len() as f64);
    "takt_link_generation" "" Gauge "Policies applied to the link"
        |link| Some(link.generation as f64);
    "takt_link_rate" "bytes_per_second" Gauge "The link's rate on the wire, by the policy"
        |link| (!link.by_device).then(|| bytes(link.rate_bps));
    "takt_link_rate_now" "bytes_per_second" Gauge "The link's rate on the wire now; another one only of a line that changes"
        |link| (!link.by_device).then(|| bytes(link.rate_now_bps));
    "takt_link_line_delay" "seconds" Gauge "What the queue of a line that changes adds to delay, as measured"
        |link| Some(link.line.as_ref()?.added_delay_ns as f64 / 1e9);
    "takt_link_queued" "packets" Gauge "Packets that wait, of all classes"
        |link| Some(link.queued_packets.into());
    "takt_link" "flows" Gauge "Flows that have clocks of their own"
        |link| Some(link.flow_totals.live.into());
};

const CLASSES: &[Definition<ClassStatus>] = definitions! { ClassStatus:
    "takt_class_rate" "bytes_per_second" Gauge "The guaranteed rate on the wire; 0 if there is none"
        |class| Some(bytes(class.share.rate_bps));
    "takt_class_ceil" "bytes_per_second" Gauge "The most that the class gets on the wire"
        |class| Some(bytes(class.share.ceil_bps));
    "takt_class" "flows" Gauge "Flows that have clocks of their own"
        |class| Some(class.flows.into());
    "takt_class_queued" "packets" Gauge "Packets that wait"
        |class| Some(class.queued_packets.into());
    "takt_class_queued" "bytes" Gauge "Their bytes on the wire"
        |class| Some(class.queued_bytes as f64);
    "takt_class_sent" "packets" Counter "Packets given to the device"
        |class| Some(class.counters.sent_packets as f64);
    "takt_class_sent" "bytes" Counter "Their bytes on the wire"
        |class| Some(class.counters.sent_bytes as f64);
    "takt_class_dropped" "packets" Counter "Packets dropped at a limit or by queue management"
        |class| Some(class.counters.dropped_packets as f64);
    "takt_class_dropped" "bytes" Counter "Their bytes on the wire"
        |class| Some(class.counters.dropped_bytes as f64);
    "takt_class_aqm_dropped" "packets" Counter "Those of them that were dropped because their queue stood"
        |class| Some(class.counters.aqm_dropped_packets as f64);
    "takt_class_aqm_marked" "packets" Counter "Packets marked instead (ECN)"
        |class| Some(class.counters.aqm_marked_packets as f64);
    "takt_class_thinned" "packets" Counter "Acknowledgements that a newer one replaced in the queue"
        |class| Some(class.counters.thinned_packets as f64);
    "takt_class_flushed" "packets" Counter "Packets discarded because the device went down"
        |class| Some(class.counters.flushed_packets as f64);
    "takt_class_late_max" "seconds" Gauge "The largest delay of a frame after its due time"
        |class| Some(seconds(class.counters.late_max_ns));
};

const TASKS: &[Definition<TaskStatus>] = definitions! { TaskStatus:
    "takt_task_period" "seconds" Gauge "The period"
        |task| Some(seconds(task.period_ns));
    "takt_task_budget" "seconds" Gauge "The budget of all members together, in each period"
        |task| Some(seconds(task.budget_ns));
    "takt_task_stopped" "" Gauge "1 if its members are ordinary threads since an overrun"
        |task| Some(task.stopped.into());
    "takt_task_barred" "members" Gauge "Those whose thread cannot run in its slots, as `takt status --tasks` says"
        |task| Some(task.members.iter().filter(|member| member.barred.is_some()).count() as f64);
    "takt_task_released" "jobs" Counter "Jobs whose slot came while a thread had the reservation"
        |task| Some(task.counters.releases as f64);
    "takt_task_missed" "jobs" Counter "Those of them that were lost: no thread came before the next job"
        |task| Some(task.counters.missed as f64);
    "takt_task_outside" "jobs" Counter "Released jobs whose thread woke when no slot was open, by a clock of its own"
        |task| Some(task.counters.outside as f64);
    "takt_task_completed" "jobs" Counter "Jobs that all members yielded in, or that one ended"
        |task| Some(task.counters.completed as f64);
    "takt_task_overrun" "jobs" Counter "Jobs that were not done at the end of the budget or the slot"
        |task| Some(task.counters.overruns as f64);
    "takt_task_used" "seconds" Counter "Processor time of all members"
        |task| Some(seconds(task.counters.used_ns));
    "takt_task_stolen" "seconds" Counter "Time of interrupts and of threads above the beats, in its slots"
        |task| Some(seconds(task.counters.stolen_interrupts_ns + task.counters.stolen_higher_ns));
    "takt_task_late_p99" "seconds" Gauge "Starts that all but one in a hundred were no later than"
        |task| task.lateness.as_ref().map(|late| seconds(late.p99_ns));
    "takt_task_late_max" "seconds" Gauge "The latest start"
        |task| task.lateness.as_ref().map(|late| seconds(late.max_ns));
};

const HOST: &[Definition<Status>] = definitions! { Status:
    "takt_beats_running" "" Gauge "1 if the kernel runs the scheduler of beats"
        |host| host.beats.as_ref().map(|beats| beats.running.into());
    "takt_beats_has_problem" "" Gauge "1 if something is wrong with the beats, as `takt status` says"
        |host| host.beats.as_ref().map(|beats| beats.problem.is_some().into());
    "takt_crowd_has_problem" "" Gauge "1 if something is wrong with the crowd, as `takt status` says"
        |host| host.crowd.as_ref().map(|crowd| crowd.problem.is_some().into());
    "takt_crowd_heard" "terminals" Gauge "Terminals of the group that use all they can get; 0: nothing was heard"
        |host| {
            let bounds = host.crowd.as_ref()?.bounds.as_ref()?;
            Some(bounds.heard.as_ref().map_or(0.0, |heard| heard.terminals as f64))
        };
    "takt_crowd" "flows" Gauge "Flows whose windows are bounded"
        |host| Some(host.crowd.as_ref()?.bounds.as_ref()?.flows.into());
    "takt_policy_pending" "" Gauge "1 while a policy waits to be confirmed"
        |host| Some(host.pending.is_some().into());
};

/// All families of a host.
pub fn of(status: &Status) -> Vec<Family> {
    let links = || status.links.iter();
    let mut all = families(HOST, [(Vec::new(), status)]);
    all.extend(families(LINKS, links().map(|link| (of_link(link), link))));
    let classes = links().flat_map(|link| {
        let classes = link.classes.iter();
        classes.map(|class| (of_class(link, class), class))
    });
    all.extend(families(CLASSES, classes));
    let tasks = status.tasks.iter();
    let tasks = tasks.map(|task| (vec![("task", task.name.clone())], task));
    all.extend(families(TASKS, tasks));
    all
}

fn of_link(link: &LinkStatus) -> Labels {
    vec![
        ("device", link.device.clone()),
        ("backend", link.backend.name().to_owned()),
    ]
}

fn of_class(link: &LinkStatus, class: &ClassStatus) -> Labels {
    vec![
        ("device", link.device.clone()),
        ("class", class.name.clone()),
        ("tenant", class.tenant.clone().unwrap_or_default()),
    ]
}

fn families<'a, T: 'a>(
    definitions: &[Definition<T>],
    things: impl IntoIterator<Item = (Labels, &'a T)>,
) -> Vec<Family> {
    let things: Vec<_> = things.into_iter().collect();
    let family = |defined: &Definition<T>| Family {
        name: defined.name,
        unit: defined.unit,
        kind: defined.kind,
        help: defined.help,
        samples: things
            .iter()
            .filter_map(|(labels, thing)| Some((labels.clone(), (defined.value)(thing)?)))
            .collect(),
    };
    definitions.iter().map(family).collect()
}

fn bytes(bits: u64) -> f64 {
    bits as f64 / 8.0
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const RULES: &str = include_str!("../../../contrib/prometheus/takt.rules.yml");
    const DASHBOARD: &str = include_str!("../../../contrib/grafana/takt.json");
    const DOCS: &str = include_str!("../../../docs/metrics.md");

    fn full_name(family: &Family) -> String {
        let total = match family.kind {
            Kind::Counter => "_total",
            Kind::Gauge => "",
        };
        match family.unit {
            "" => format!("{}{total}", family.name),
            unit => format!("{}_{unit}{total}", family.name),
        }
    }

    #[test]
    fn each_name_is_there_once_and_in_the_docs() {
        let all = of(&Status::default());
        let names: BTreeSet<_> = all.iter().map(full_name).collect();
        assert_eq!(names.len(), all.len());
        for family in &all {
            let name = full_name(family);
            let is_word =
                |byte: u8| byte == b'_' || byte.is_ascii_lowercase() || byte.is_ascii_digit();
            assert!(name.bytes().all(is_word), "{name}");
            let row = format!("| `{name}` | {} |", family.help);
            assert!(DOCS.contains(&row), "docs/metrics.md lacks {row}");
        }
    }

    #[test]
    fn rules_and_the_dashboard_use_names_that_there_are() {
        let all = of(&Status::default());
        let names: BTreeSet<_> = all.iter().map(full_name).collect();
        for text in [RULES, DASHBOARD] {
            let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let words = text.split(|letter| !is_word(letter));
            let mut used = words.filter(|word| word.starts_with("takt_")).peekable();
            assert!(used.peek().is_some());
            used.for_each(|name| assert!(names.contains(name), "{name}"));
        }
    }
}
