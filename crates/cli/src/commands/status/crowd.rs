//! Bounds on congestion windows, as text.

use std::fmt::Write;

use takt_host::{BoundsStatus, CrowdStatus};
use takt_policy::{CrowdRole, format_duration, format_rate};

pub fn write(text: &mut String, crowd: &CrowdStatus) {
    let role = match crowd.role {
        CrowdRole::Multicast => "reports by multicast".to_owned(),
        CrowdRole::Aggregated { by } => format!("reports to {by}"),
        CrowdRole::Aggregator => "aggregator".to_owned(),
    };
    let interval = format_duration(crowd.interval_ns);
    let _ = writeln!(
        text,
        "crowd {}  on {}  {role} every {interval}  policy {}",
        crowd.group, crowd.device, crowd.policy
    );
    if let Some(problem) = &crowd.problem {
        let _ = writeln!(text, "  ! {problem}");
    }
    if let Some(bounds) = &crowd.bounds {
        write_bounds(text, bounds);
    }
}

fn write_bounds(text: &mut String, bounds: &BoundsStatus) {
    let rate = |bytes_ps: u64| format_rate(bytes_ps.saturating_mul(8));
    let source = match &bounds.heard {
        Some(group) => format!(
            "{} active terminals, {} for each, {} achieved together",
            group.terminals,
            rate(group.share_bytes_ps),
            rate(group.capacity_bytes_ps)
        ),
        None => "each flow's own round trips: no neighbours, or no taktd".to_owned(),
    };
    let usage = &bounds.usage;
    let _ = writeln!(
        text,
        "  {} flows have bounds by {source}\n  so far {} bytes delivered, {} of {} segments lost",
        bounds.flows, usage.delivered_bytes, usage.lost_segments, usage.sent_segments,
    );
    if bounds.downloads > 0 {
        let _ = writeln!(text, "  {} downloads are bounded", bounds.downloads);
    }
    if bounds.forwarded > 0 {
        let _ = writeln!(
            text,
            "  {} downloads of hosts behind this one are bounded",
            bounds.forwarded
        );
    }
}
