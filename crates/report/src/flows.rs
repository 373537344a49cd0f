//! A recording of flows as a page.

use maud::{Markup, html};
use takt_flows::{Recording, Track, What};

use crate::html::page;
use crate::plot::windows;
use crate::units::{number, time};

/// The number of flows that are drawn; the table has all.
const DRAWN_MAX: usize = 40;

/// A page of a recording with this name; flows with the most bytes come first. The same
/// recording gives the same bytes.
pub fn flows_page(name: &str, recording: &Recording) -> String {
    let sorted = recording.clone().heaviest(usize::MAX);
    let header = &recording.header;
    let content = html! {
        h1 { b { "Takt" } " flows" }
        p class="lead" { (windows::caption()) }
        dl {
            dt { "recording" } dd { (name) }
            dt { "kernel" } dd { (header.kernel) }
            dt { "looked at" } dd { "every " (time(header.interval_ns as f64)) }
            dt { "flows" } dd { (recording.tracks.len()) }
            @if recording.lost_events > 0 {
                dt { "lost" } dd { (recording.lost_events) " events found no room in the kernel" }
            }
        }
        @for track in sorted.tracks.iter().take(DRAWN_MAX) {
            @if let Some(drawing) = windows::of_flow(track, recording) {
                figure { h3 { (windows::name(track)) } (drawing) }
            }
        }
        figure { h3 { "All flows" } (table(&sorted.tracks)) }
    };
    page(&format!("Takt flows: {name}"), &content)
}

fn table(tracks: &[Track]) -> Markup {
    html! {
        table {
            thead { tr {
                th class="left" { "flow" }
                th { "sent" } th { "received" }
                th { "largest window" } th { "round trip p50" } th { "shortest" }
                th { "retransmitted" } th { "timeouts" } th { "marked (ECN)" }
            } }
            tbody { @for track in tracks { (row(track)) } }
        }
    }
}

/// Counts are of the recording's time alone.
fn row(track: &Track) -> Markup {
    let (first, last) = (track.samples.first(), track.samples.last());
    let grown = |count: fn(&takt_flows::Sample) -> u64| match (first, last) {
        (Some(first), Some(last)) => number(count(last).saturating_sub(count(first)) as f64, 0),
        _ => "–".to_owned(),
    };
    let counted = |count: fn(&What) -> u32| {
        let counts = track
            .events
            .iter()
            .map(|event| u64::from(count(&event.what)));
        number(counts.sum::<u64>() as f64, 0)
    };
    let mut rtts_us: Vec<u32> = track.samples.iter().filter_map(|s| s.rtt_us).collect();
    rtts_us.sort_unstable();
    let shown = |us: Option<u32>| us.map_or("–".to_owned(), |us| time(f64::from(us) * 1e3));
    let shortest = track.samples.iter().filter_map(|s| s.rtt_min_us).min();
    let widest = track.samples.iter().map(|s| s.cwnd_segments).max();
    html! {
        tr {
            td class="left" { (windows::name(track)) }
            td { (grown(|s| s.acked_bytes)) } td { (grown(|s| s.received_bytes)) }
            td { (widest.map_or("–".to_owned(), |cwnd| number(cwnd.into(), 0))) }
            td { (shown(rtts_us.get(rtts_us.len() / 2).copied())) } td { (shown(shortest)) }
            td { (counted(|what| match what { What::Retransmit { segments } => *segments, _ => 0 })) }
            td { (counted(|what| u32::from(*what == What::Timeout))) }
            td { (counted(|what| match what {
                What::EcnEcho { segments: count } | What::EcnMark { packets: count } => *count,
                _ => 0,
            })) }
        }
    }
}
