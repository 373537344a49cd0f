use std::fmt::Write;

use takt_kernel::{LinkStatus, Share, Status};
use takt_policy::{Pacing, format_rate};

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
    let pacing = match link.pacing {
        Pacing::Timer => "",
        Pacing::Gap => "  gap frames",
    };
    let mut text = format!(
        "{}  {}{pacing}  {} queued  policy {} (no. {})\n",
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
        "  {:<24} {:>10} {:>10} {:>10} {:>4} {:>8} {:>12} {:>14} {:>9} {:>9} {:>11}",
        "class",
        "rate",
        "ceil",
        "floor",
        "prio",
        "queued",
        "sent",
        "bytes",
        "dropped",
        "flushed",
        "worst late"
    );
    for tenant in &link.tenants {
        let _ = writeln!(
            text,
            "  {:<24} {} {:>8} {:>12} {:>14}",
            format!("{} (tenant)", tenant.name),
            share_text(&tenant.share),
            "",
            tenant.sent_packets,
            tenant.sent_bytes,
        );
        write_classes(&mut text, link, Some(&tenant.name));
    }
    write_classes(&mut text, link, None);
    text
}

/// The classes of a tenant, or those that have none.
fn write_classes(text: &mut String, link: &LinkStatus, tenant: Option<&str>) {
    let indent = if tenant.is_some() { "  " } else { "" };
    let classes = link.classes.iter();
    for class in classes.filter(|class| class.tenant.as_deref() == tenant) {
        let counters = &class.counters;
        let per_flow = if class.per_flow { " (per flow)" } else { "" };
        let _ = writeln!(
            text,
            "  {:<24} {} {:>8} {:>12} {:>14} {:>9} {:>9} {:>8.1} us",
            format!("{indent}{}{per_flow}", class.name),
            share_text(&class.share),
            class.queued_packets,
            counters.sent_packets,
            counters.sent_bytes,
            counters.dropped_packets,
            counters.flushed_packets,
            counters.late_max_ns as f64 / 1e3,
        );
    }
}

fn share_text(share: &Share) -> String {
    let rate = |bps| match bps {
        0 => "-".to_owned(),
        bps => format_rate(bps),
    };
    format!(
        "{:>10} {:>10} {:>10} {:>4}",
        rate(share.rate_bps),
        rate(share.ceil_bps),
        rate(share.floor_bps),
        share.priority
    )
}
