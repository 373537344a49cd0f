mod beats;
mod crowd;
mod radio;

use std::{
    fmt::Write,
    net::{IpAddr, SocketAddr},
};

use takt_host::{Counters, DeviceBuffer, DeviceState, LinkStatus, PendingStatus, Share, Status};
use takt_policy::{Backend, format_rate};

pub use self::{beats::cpus, radio::note};
use crate::{
    args::Output,
    columns::{self, Row},
    exit::Exit,
    print,
};

/// What to show beyond the links and their classes.
#[derive(Debug, Clone, Copy)]
pub struct Details {
    pub flows: bool,
    pub tasks: bool,
}

pub fn run(output: Output, details: Details) -> Exit {
    let status = match takt_host::status(details.flows) {
        Ok(mut status) => {
            radio::ask_taktd(&mut status);
            status
        }
        Err(error) => return print::refused(output, &error),
    };
    print::result(output, &status, |status| text(status, details));
    if problems(&status).is_empty() {
        Exit::Done
    } else {
        Exit::Changed
    }
}

/// What is wrong, by the part of the host.
pub fn problems(status: &Status) -> Vec<String> {
    let links = status.links.iter();
    let links = links.map(|link| (link.device.as_str(), &link.problem));
    let beats = status.beats.iter().map(|beats| ("beats", &beats.problem));
    let crowd = status.crowd.iter().map(|crowd| ("crowd", &crowd.problem));
    let pending = status.pending.iter();
    let pending = pending.map(|pending| ("pending", &pending.problem));
    let all = links.chain(beats).chain(crowd).chain(pending);
    all.filter_map(|(part, problem)| Some(format!("{part}: {}", problem.as_ref()?)))
        .collect()
}

fn text(status: &Status, details: Details) -> String {
    let mut text = status
        .pending
        .as_ref()
        .map_or_else(String::new, pending_text);
    text.extend(status.links.iter().map(link_text));
    if let Some(holder) = &status.changing {
        text.insert_str(
            0,
            &format!("changing: {holder} is changing this host; what follows may be half done\n"),
        );
    } else if status.links.is_empty() && status.beats.is_none() && status.crowd.is_none() {
        text.push_str("no links are managed\n");
    }
    beats::write_summary(&mut text, status);
    if let Some(crowd) = &status.crowd {
        crowd::write(&mut text, crowd);
    }
    if details.tasks {
        beats::write_tasks(&mut text, status);
    }
    text
}

fn pending_text(pending: &PendingStatus) -> String {
    let then = match &pending.before {
        Some(before) => format!("policy {before}"),
        None => "no policy".to_owned(),
    };
    format!("pending  {pending}\n  before it: {then}\n")
}

fn sends_nothing(state: DeviceState) -> Option<&'static str> {
    match state {
        DeviceState::Ready => None,
        DeviceState::Down => Some("is down"),
        DeviceState::NoCarrier => Some("has no carrier"),
    }
}

fn link_text(link: &LinkStatus) -> String {
    let mut text = format!(
        "{}  {}  {} queued  policy {} (no. {})\n",
        link.device,
        if link.by_device {
            "as the device takes".to_owned()
        } else {
            format_rate(link.rate_now_bps)
        },
        link.queued_packets,
        link.policy.as_deref().unwrap_or("lost"),
        link.generation,
    );
    if let Some(problem) = &link.problem {
        let _ = writeln!(text, "  ! {problem}");
    }
    if let Some(why) = link.device_state.and_then(sends_nothing) {
        let _ = writeln!(
            text,
            "  the device {why}: packets are dropped before they reach takt"
        );
    }
    if link.without_ip {
        let _ = writeln!(text, "  {}", print::WITHOUT_IP);
    }
    if !link.opaque.is_empty() {
        let _ = write!(text, "  {}", print::opaque(&link.opaque));
    }
    if let Some(line) = &link.line {
        let _ = writeln!(
            text,
            "  line: {} to {}, base {}; {}; its queue adds {:.0} ms",
            format_rate(line.rate_min_bps),
            format_rate(line.rate_max_bps),
            format_rate(link.rate_bps),
            line.reason.text(),
            line.added_delay_ns as f64 / 1e6,
        );
    }
    if link.backend != Backend::Takt {
        let _ = writeln!(text, "  backend: {}", link.backend.name());
    }
    for unkept in &link.unkept {
        let _ = writeln!(text, "  not kept: {unkept}");
    }
    write_segments(&mut text, link);
    if let Some(gap) = &link.gap {
        let _ = writeln!(
            text,
            "  pacing {}: {} gap frames, {} bytes, {} missed, {} fallbacks, {} in stock",
            link.pacing, gap.gap_frames, gap.gap_bytes, gap.gap_missed, gap.fallbacks, gap.stocked,
        );
    }
    if let Some(background) = &link.background {
        let _ = writeln!(
            text,
            "  background waits for: {}; {} packets blocked; so far {:.3} s for more important tasks, {:.3} s for \
             a busy link",
            background.waits_for,
            background.held_packets,
            background.held_by_tasks_ns as f64 / 1e9,
            background.held_by_link_ns as f64 / 1e9,
        );
    }
    if let Some(buffer) = link.device_buffer {
        let _ = match buffer {
            DeviceBuffer::Bql { limit_bytes } => writeln!(
                text,
                "  device buffer: at most {} bytes, limited by the kernel (BQL)",
                limit_bytes + 1
            ),
            DeviceBuffer::Ring => writeln!(
                text,
                "  device buffer: the driver has counted no bytes, so its ring may fill before the \
                 link; if it never counts them, write a rate"
            ),
            DeviceBuffer::LinkClock => writeln!(
                text,
                "  device buffer: kept short by the link's clock, if the wire is no slower than the \
                 link's rate"
            ),
        };
    }
    if let Some(paused_ms) = link.thinning_paused_ms.filter(|paused_ms| *paused_ms > 0) {
        let _ = writeln!(
            text,
            "  acknowledgements are not thinned for {} s: rates fall as stations contend",
            paused_ms.div_ceil(1000)
        );
    }
    if let Some(receive) = link.receive.as_ref().filter(|receive| receive.works) {
        let _ = writeln!(
            text,
            "  incoming background traffic goes through {}: {} queued, waits for: {}",
            receive.device,
            receive.queued_packets,
            receive
                .background
                .as_ref()
                .map_or("nothing", |background| background.waits_for),
        );
    }
    write_classes(&mut text, link);
    match &link.radio {
        Some(radio) => radio::write(&mut text, radio),
        None => write_flows(&mut text, link),
    }
    write_departures(&mut text, link);
    text
}

/// How long packets may be, and whether some were longer.
fn write_segments(text: &mut String, link: &LinkStatus) {
    /// A device's limit that is none (`GSO_MAX_SEGS`).
    const ANY: u32 = 65_535;
    let longer: u64 = { link.classes.iter() }
        .map(|class| class.counters.long_packets)
        .sum();
    let longer = match longer {
        0 => String::new(),
        1 => "; 1 packet was longer than burst allows".to_owned(),
        count => format!("; {count} packets were longer than burst allows"),
    };
    let most = match link.segment_frames {
        Some(1) => "one frame a packet".to_owned(),
        Some(frames) if frames < ANY => format!("at most {frames} frames a packet"),
        _ if longer.is_empty() => return,
        _ => "any number of frames a packet".to_owned(),
    };
    let _ = writeln!(text, "  segments: {most}{longer}");
}

/// Classes below their tenants, then those without one.
fn write_classes(text: &mut String, link: &LinkStatus) {
    let headings = [
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
        "worst late",
    ];
    let mut rows = vec![headings.map(str::to_owned).into()];
    for tenant in &link.tenants {
        let mut row = vec![format!("{} (tenant)", tenant.name)];
        row.extend(share_texts(&tenant.share));
        row.push(String::new());
        row.extend([tenant.sent_packets, tenant.sent_bytes].map(|count| count.to_string()));
        rows.push(row);
        rows.extend(class_rows(link, Some(&tenant.name)));
    }
    rows.extend(class_rows(link, None));
    write_table(text, &rows, |at| at == 0);
}

/// Below the line that they belong to.
pub fn write_table(text: &mut String, rows: &[Row], is_text: impl Fn(usize) -> bool) {
    for row in table(rows, is_text) {
        let _ = writeln!(text, "{row}");
    }
}

/// The same, row by row.
pub fn table(rows: &[Row], is_text: impl Fn(usize) -> bool) -> Vec<String> {
    const INDENT: &str = "  ";
    let room = columns::room().map(|room| room.saturating_sub(INDENT.len()));
    let rows = columns::aligned(rows, is_text, room).into_iter();
    rows.map(|row| format!("{INDENT}{}", row.replace('\n', &format!("\n{INDENT}"))))
        .collect()
}

/// The classes of a tenant, or those without one.
fn class_rows(link: &LinkStatus, tenant: Option<&str>) -> Vec<Row> {
    let indent = if tenant.is_some() { "  " } else { "" };
    let mut rows = Vec::new();
    let classes = link.classes.iter();
    for class in classes.filter(|class| class.tenant.as_deref() == tenant) {
        let per_flow = match (class.per_flow, class.flows) {
            (false, _) => String::new(),
            (true, 1) => " (1 flow)".to_owned(),
            (true, flows) => format!(" ({flows} flows)"),
        };
        let mut row = vec![format!("{indent}{}{per_flow}", class.name)];
        row.extend(share_texts(&class.share));
        row.push(class.queued_packets.to_string());
        row.extend(counted(&class.counters));
        row.push(format!("{:.1} us", print::us(class.counters.late_max_ns)));
        rows.push(row);
        if let Some(received) = &class.receive {
            let mut row = vec![format!("{indent}  incoming")];
            row.extend([const { String::new() }; 4]);
            row.push(received.queued_packets.to_string());
            row.extend(counted(&received.counters));
            rows.push(row);
        }
    }
    rows
}

fn counted(counters: &Counters) -> [String; 4] {
    [
        counters.sent_packets,
        counters.sent_bytes,
        counters.dropped_packets,
        counters.flushed_packets,
    ]
    .map(|count| count.to_string())
}

fn write_departures(text: &mut String, link: &LinkStatus) {
    let departures = &link.departures;
    if departures.delayed_packets + departures.beyond_horizon_packets > 0 {
        let _ = writeln!(
            text,
            "  departure times: {} packets delayed, {} waiting, {} beyond the horizon, {} not \
             delayed for lack of room",
            departures.delayed_packets,
            departures.waiting_packets,
            departures.beyond_horizon_packets,
            departures.undelayed_packets,
        );
    }
}

fn write_flows(text: &mut String, link: &LinkStatus) {
    let totals = &link.flow_totals;
    if totals.created > 0 {
        let _ = writeln!(
            text,
            "  flows: {} live, {} came, {} were forgotten, {} packets found no room",
            totals.live, totals.created, totals.forgotten, totals.no_room_packets,
        );
    }
    let Some(flows) = link.flows.as_ref().filter(|flows| !flows.is_empty()) else {
        return;
    };
    let headings = [
        "class", "proto", "from", "to", "queued", "sent", "bytes", "dropped",
    ];
    let mut rows: Vec<Row> = vec![headings.map(str::to_owned).into()];
    rows.extend(flows.iter().map(|flow| {
        vec![
            flow.class.clone(),
            proto_text(flow.proto),
            end_text(flow.src, flow.src_port),
            end_text(flow.dst, flow.dst_port),
            flow.queued_packets.to_string(),
            flow.counters.sent_packets.to_string(),
            flow.counters.sent_bytes.to_string(),
            flow.counters.dropped_packets.to_string(),
        ]
    }));
    write_table(text, &rows, |at| at < 4);
}

pub fn proto_text(proto: u8) -> String {
    match proto {
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        other => other.to_string(),
    }
}

pub fn end_text(address: Option<IpAddr>, port: u16) -> String {
    match (address, port) {
        (None, _) => "-".to_owned(),
        (Some(address), 0) => address.to_string(),
        (Some(address), port) => SocketAddr::new(address, port).to_string(),
    }
}

/// Rate, ceiling, floor and priority.
fn share_texts(share: &Share) -> [String; 4] {
    let rate = |bps| match bps {
        0 => "-".to_owned(),
        bps => format_rate(bps),
    };
    [
        rate(share.rate_bps),
        rate(share.ceil_bps),
        rate(share.floor_bps),
        share.priority.to_string(),
    ]
}
