use std::fmt::Write;

use takt_kernel::{LinkStatus, Status};
use takt_policy::format_rate;

use crate::{args::Output, exit::Exit, print};

pub fn run(output: Output) -> Exit {
    let status = match takt_kernel::status() {
        Ok(status) => status,
        Err(error) => return print::failure(output, (&error).into(), &error),
    };
    print::result(output, &status, text);
    let all_stand = status.links.iter().all(|link| link.problem.is_none());
    if all_stand { Exit::Done } else { Exit::Changed }
}

fn text(status: &Status) -> String {
    if status.links.is_empty() {
        return "no links are managed".to_owned();
    }
    status.links.iter().map(link_text).collect()
}

fn link_text(link: &LinkStatus) -> String {
    let mut text = format!(
        "{}  {}  {} queued  policy {} (no. {})\n",
        link.device,
        format_rate(link.rate_bps),
        link.queued_packets,
        link.policy.as_deref().unwrap_or("lost"),
        link.generation,
    );
    if let Some(problem) = &link.problem {
        let _ = writeln!(text, "  ! {problem}");
    }
    let _ = writeln!(
        text,
        "  {:<20} {:>10} {:>4} {:>8} {:>12} {:>14} {:>9} {:>9} {:>11}",
        "class", "rate", "prio", "queued", "sent", "bytes", "dropped", "flushed", "worst late"
    );
    for class in &link.classes {
        let counters = &class.counters;
        let _ = writeln!(
            text,
            "  {:<20} {:>10} {:>4} {:>8} {:>12} {:>14} {:>9} {:>9} {:>8.1} us",
            class.name,
            format_rate(class.rate_bps),
            class.priority,
            class.queued_packets,
            counters.sent_packets,
            counters.sent_bytes,
            counters.dropped_packets,
            counters.flushed_packets,
            counters.late_max_ns as f64 / 1e3,
        );
    }
    text
}
