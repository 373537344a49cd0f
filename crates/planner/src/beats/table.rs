//! Placements as tables: every slot of every CPU's frame.

use takt_policy::ExactTime;

use super::phases::lcm;
use super::search::Placed;
use super::want::Want;
use super::{CpuTable, Demand, Host, Piece, Placement, Slot, Timetable};

pub(super) fn lay_out(
    host: &Host,
    demands: &[Demand],
    wants: &[Want],
    placed: &Placed,
) -> Timetable {
    let placements: Vec<Placement> = demands
        .iter()
        .zip(wants)
        .zip(placed)
        .map(|((demand, want), spans)| match &demand.standing {
            Some(standing) => standing.clone(),
            None => Placement {
                pieces: spans
                    .iter()
                    .enumerate()
                    .map(|(index, span)| Piece {
                        cpu: host.cpus[span.cpu],
                        begin_ns: host.grid_ns.edge_ns(span.slots.start),
                        beat_ns: match index {
                            0 => host.grid_ns.edge_ns(span.slots.start + want.lead),
                            _ => host.grid_ns.edge_ns(span.slots.start),
                        },
                        end_ns: host.grid_ns.edge_ns(span.slots.end),
                    })
                    .collect(),
            },
        })
        .collect();
    let tables = host
        .cpus
        .iter()
        .filter_map(|&cpu| table(host.grid_ns, cpu, wants, &placements))
        .collect();
    Timetable { placements, tables }
}

/// `None` if the CPU has no slots.
fn table(grid: ExactTime, cpu: u32, wants: &[Want], placements: &[Placement]) -> Option<CpuTable> {
    let pieces: Vec<(usize, &Piece)> = placements
        .iter()
        .enumerate()
        .flat_map(|(demand, placement)| placement.pieces.iter().map(move |piece| (demand, piece)))
        .filter(|(_, piece)| piece.cpu == cpu)
        .collect();
    let periods = pieces.iter().map(|&(demand, _)| wants[demand].period);
    let frame = periods.reduce(lcm)?;
    // A frame that is no whole number of nanoseconds may be shorter by a part of one than its
    // last slot: the next frame begins on the whole nanosecond.
    let frame_ns = grid.times(frame);
    let last_ns = frame_ns.whole_ns();
    let mut slots: Vec<Slot> = pieces
        .into_iter()
        .flat_map(|(demand, piece)| {
            let period = wants[demand].period;
            (0..frame / period).map(move |job| {
                // Phases are edges of the grid. The frame is at most FRAME_MAX_NS, which fits.
                let at = |phase_ns: u64| {
                    let slot = job * period + grid.whole_in(phase_ns);
                    grid.edge_ns(slot).min(last_ns) as u32
                };
                Slot {
                    demand,
                    begin_ns: at(piece.begin_ns),
                    beat_ns: at(piece.beat_ns),
                    end_ns: at(piece.end_ns),
                }
            })
        })
        .collect();
    slots.sort_unstable_by_key(|slot| slot.begin_ns);
    Some(CpuTable {
        cpu,
        frame_ns,
        slots,
    })
}
