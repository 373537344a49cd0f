//! The state of a link's gap mode.

use serde::Serialize;
use takt_algo::sys::{TAKT_PACING_TIMER, TAKT_PACING_TIMER_GAP};

use crate::link::{managed::Managed, memory::GapState};

/// Gap frames since takt was attached.
#[derive(Debug, Serialize)]
pub struct GapStatus {
    /// All that were sent.
    pub gap_frames: u64,
    /// The time they occupy the wire.
    pub gap_bytes: u64,
    /// Gaps made up of two frames because the exact length was not in stock.
    pub gap_missed: u64,
    /// Times that the link had to fall back to the timer.
    pub fallbacks: u64,
    /// … of these, since the processor could not fill the wire in time.
    pub processor_behind: u64,
    /// Templates that found no slot.
    pub refused: u64,
    /// Templates in stock now, of all lengths.
    pub stocked: u32,
    /// Whether the feeder runs, which makes new templates.
    pub feeder_running: bool,
}

/// `None` if the policy does not ask for gaps.
pub(super) fn status(managed: &Managed, feeder_running: bool) -> Option<GapStatus> {
    let counted = &managed.gap;
    (managed.plan.pacing != TAKT_PACING_TIMER).then_some(GapStatus {
        gap_frames: counted.frames,
        gap_bytes: counted.bytes,
        gap_missed: counted.missed,
        fallbacks: counted.fallbacks,
        processor_behind: counted.behind,
        refused: counted.refused,
        stocked: counted.stocked,
        feeder_running,
    })
}

/// What paces the link now.
pub(super) fn pacing(gap: Option<&GapStatus>, managed: &Managed) -> &'static str {
    match (gap, managed.gap.state) {
        (None, _) => "timer",
        (Some(_), GapState::Ready) if managed.plan.pacing == TAKT_PACING_TIMER_GAP => "timer+gap",
        (Some(_), GapState::Ready) => "gap",
        (Some(_), GapState::FeederBehind) => "timer (gap feeder behind)",
        (Some(_), GapState::ProcessorBehind) => "timer (processor behind)",
    }
}

pub(super) fn problem(gap: Option<&GapStatus>) -> Option<String> {
    gap.filter(|gap| !gap.feeder_running).map(|_| {
        "the gap feeder is not running, so the link paces by the timer; `takt apply` starts it \
         again"
            .to_owned()
    })
}
