//! Placements as tables: every slot of every CPU's frame.

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
                        begin_ns: span.slots.start * host.grid_ns,
                        beat_ns: match index {
                            0 => (span.slots.start + want.lead) * host.grid_ns,
                            _ => span.slots.start * host.grid_ns,
                        },
                        end_ns: span.slots.end * host.grid_ns,
                    })
                    .collect(),
            },
        })
        .collect();
    let tables = host
        .cpus
        .iter()
        .filter_map(|&cpu| table(cpu, demands, &placements))
        .collect();
    Timetable { placements, tables }
}

/// `None` if the CPU has no slots.
fn table(cpu: u32, demands: &[Demand], placements: &[Placement]) -> Option<CpuTable> {
    let pieces: Vec<(usize, &Piece)> = placements
        .iter()
        .enumerate()
        .flat_map(|(demand, placement)| placement.pieces.iter().map(move |piece| (demand, piece)))
        .filter(|(_, piece)| piece.cpu == cpu)
        .collect();
    let periods = pieces.iter().map(|&(demand, _)| demands[demand].period_ns);
    let frame_ns = periods.reduce(lcm)?;
    let mut slots: Vec<Slot> = pieces
        .into_iter()
        .flat_map(|(demand, piece)| {
            let period_ns = demands[demand].period_ns;
            (0..frame_ns / period_ns).map(move |job| {
                // The frame is at most FRAME_MAX_NS, which fits.
                let at = |phase_ns: u64| (job * period_ns + phase_ns) as u32;
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
        frame_ns: frame_ns as u32,
        slots,
    })
}
