//! A report in the order of presentation: cases as they ran, and in each case Takt first.

use crate::rows::{Report, Row};

/// The subject of the reports.
pub const SUBJECT: &str = "takt";
/// Takt with default settings, where others were tried, too.
const SUBJECTS: [&str; 2] = [SUBJECT, "takt-pw"];

pub fn is_subject(scheduler: &str) -> bool {
    SUBJECTS.contains(&scheduler)
}

/// A scheduler's index here determines its order, colour and marker.
const SCHEDULERS: [&str; 57] = [
    SUBJECT,
    "fq",
    "htb",
    "htb+u32",
    "tbf",
    "prio+tbf",
    "cake",
    "pfifo",
    "none",
    "prio-tasks",
    "prio-1600",
    "prio-6400",
    "tcp-lp",
    "fifo",
    "alone",
    "takt-open",
    "takt-lead",
    "deadline",
    "deadline-yield",
    "default",
    "fifo-lead",
    "fq_codel",
    "takt-pw",
    "takt-pw-200ms",
    "takt-pw-20ms",
    "takt-gb12",
    "takt-gb6",
    "takt-gb1",
    "takt-fifo",
    "airtime",
    "takt-alone",
    "cubic",
    "cubic-100",
    "bbr",
    "vegas",
    "takt-tree",
    "takt-departure",
    "takt-flow",
    "tbf+fq",
    "tbf+fq_codel",
    "takt-gap",
    "pspacer",
    "takt-mtu",
    "takt-gso",
    "fq-maxrate",
    "htb+fq_codel",
    "cake-split-gso",
    "cake-no-split-gso",
    "takt+radio",
    "ss",
    "mq+fq",
    "cake_mq",
    "dctcp",
    "takt-asked",
    "takt-flow-asked",
    "takt-gap-asked",
    "takt-timer+gap",
];

/// The scheduler's index in the fixed order; unknown schedulers come last.
pub fn scheduler_rank(scheduler: &str) -> usize {
    SCHEDULERS
        .iter()
        .position(|known| *known == scheduler)
        .unwrap_or(SCHEDULERS.len())
}

/// The rows of one case, in the order of their schedulers.
pub struct Case<'a> {
    pub name: &'a str,
    pub rows: Vec<&'a Row>,
}

impl Case<'_> {
    /// One class of several, named `whole/part`: for tables, too many to plot.
    pub fn is_detail(&self) -> bool {
        self.name.contains('/')
    }
}

/// Cases in the order of their first rows.
pub fn cases(report: &Report) -> Vec<Case<'_>> {
    let mut cases: Vec<Case> = Vec::new();
    for row in &report.rows {
        match cases.iter_mut().find(|case| case.name == row.case) {
            Some(case) => case.rows.push(row),
            None => cases.push(Case {
                name: &row.case,
                rows: vec![row],
            }),
        }
    }
    for case in &mut cases {
        case.rows
            .sort_by_key(|row| (!is_subject(&row.scheduler), scheduler_rank(&row.scheduler)));
    }
    cases
}

/// The metric that a table is about. A case that has none of them belongs to the table of the
/// case before it.
const THEMES: [&str; 33] = [
    "call_down_p99_ns",
    "page_p50_ns",
    "one_share_percent",
    "flood_bps",
    "ping_down_p99_ns",
    "late_p99_ns",
    "rate_difference_percent",
    "ping_p99_ns",
    "finish_ns",
    "wakeup_p99_ns",
    "path_mean_ns",
    "fall_most_ns",
    "snr_db",
    "total_bps",
    "cuts_count",
    "switch_mean_ns",
    "overlaps_count",
    "throughput_percent",
    "latency_p99_ns",
    "interrupts_count",
    "jitter_p99_ns",
    "over_alone_percent",
    "link_share_percent",
    "task_loss_percent",
    "wait_p99_ns",
    "port_percent",
    "flow_error_max_percent",
    "share_error_max_percent",
    "rate_error_percent",
    "spacing_error_p99_ns",
    "busy_ns_per_packet",
    "busy_ns_per_kb",
    "cost_ns_per_packet",
];

/// Successive cases with the same main metric, a table for each.
pub fn tables<'a>(report: &'a Report) -> Vec<Vec<Case<'a>>> {
    let mut tables: Vec<(Option<&str>, Vec<Case>)> = Vec::new();
    for case in cases(report) {
        let theme = THEMES.into_iter().find(|metric| {
            let mut rows = case.rows.iter();
            rows.any(|row| row.metrics.contains_key(*metric))
        });
        match tables.last_mut() {
            Some((of, cases)) if theme.is_none() || theme == *of => cases.push(case),
            _ => tables.push((theme, vec![case])),
        }
    }
    tables.into_iter().map(|(_, cases)| cases).collect()
}

/// The rows of a figure: those that have the metric, without cases that are parts of others,
/// and without empty cases.
pub fn plotted_cases<'a>(report: &'a Report, metric: &str) -> Vec<Case<'a>> {
    let mut cases = cases(report);
    cases.retain(|case| !case.is_detail());
    for case in &mut cases {
        case.rows.retain(|row| row.metrics.contains_key(metric));
    }
    cases.retain(|case| !case.rows.is_empty());
    cases
}

/// The schedulers of some cases, each once, in their order.
pub fn schedulers<'a>(cases: &[Case<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = cases
        .iter()
        .flat_map(|case| &case.rows)
        .map(|row| row.scheduler.as_str())
        .collect();
    names.sort_by_key(|name| (scheduler_rank(name), *name));
    names.dedup();
    names
}
