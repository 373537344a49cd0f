//! Demands in slots, after validation.

use takt_policy::ExactTime;

use super::cpu::Cpu;
use super::effort::Effort;
use super::phases::Phases;
use super::refusal::{Fault, Refusal};
use super::{DEMANDS_MAX, Demand, FRAME_MAX_NS, Host, Placement};

/// A demand in slots of the grid.
#[derive(Debug, Clone)]
pub(super) struct Want {
    pub period: u64,
    pub budget: u64,
    pub lead: u64,
    pub offset: Option<u64>,
    /// Indices into the host's list, in its order.
    pub cpus: Vec<usize>,
    pub is_group: bool,
}

impl Want {
    /// The slots that it takes of a period.
    pub fn width(&self) -> u64 {
        self.lead + self.budget
    }

    /// The phase of its first slot, if it has an offset.
    pub fn begin(&self) -> Option<u64> {
        Some(self.offset? - self.lead)
    }
}

pub(super) fn all(host: &Host, demands: &[Demand]) -> Result<Vec<Want>, Refusal> {
    if demands.len() > DEMANDS_MAX {
        return Err(Refusal::TooMany {
            demands: demands.len(),
        });
    }
    if host.grid_ns.numerator() == 0 || host.grid_ns > FRAME_MAX_NS.into() {
        return Err(Refusal::Grid {
            grid_ns: host.grid_ns,
        });
    }
    demands.iter().map(|demand| read(host, demand)).collect()
}

fn read(host: &Host, demand: &Demand) -> Result<Want, Refusal> {
    let refused = |fault| Refusal::Senseless {
        name: demand.name.clone(),
        fault,
    };
    let (grid_ns, period_ns) = (host.grid_ns, demand.period_ns);
    let period = period_ns.in_slots(grid_ns).filter(|period| *period > 0);
    let Some(period) = period.filter(|_| period_ns <= FRAME_MAX_NS.into()) else {
        return Err(refused(Fault::Period { period_ns, grid_ns }));
    };
    let slots_of = |offset: ExactTime| offset.in_slots(grid_ns).unwrap_or(u64::MAX);
    let want = Want {
        period,
        budget: grid_ns.covering(demand.budget_ns),
        lead: grid_ns.covering(demand.lead_ns),
        offset: demand.offset_ns.map(slots_of),
        cpus: allowed(host, demand.cpus.as_deref()),
        is_group: demand.is_group,
    };
    // A mistyped number may make either of them huge.
    if want.budget == 0 || want.budget > want.period || want.lead > want.period - want.budget {
        return Err(refused(Fault::Budget {
            budget_ns: demand.budget_ns,
            lead_ns: demand.lead_ns,
            period_ns,
            grid_ns,
        }));
    }
    if let (Some(offset_ns), Some(offset)) = (demand.offset_ns, want.offset) {
        // An offset that is on no edge is beyond all.
        if offset < want.lead || offset > want.period - want.budget {
            return Err(refused(Fault::Offset {
                offset_ns,
                first_ns: grid_ns.times(want.lead),
                last_ns: grid_ns.times(want.period - want.budget),
                grid_ns,
            }));
        }
    }
    if want.cpus.is_empty() {
        return Err(refused(Fault::Cpus {
            cpus: demand.cpus.clone().unwrap_or_default(),
            carrying: host.cpus.clone(),
        }));
    }
    Ok(want)
}

pub(super) fn allowed(host: &Host, cpus: Option<&[u32]>) -> Vec<usize> {
    let is_allowed = |cpu: &u32| cpus.is_none_or(|cpus| cpus.contains(cpu));
    (0..host.cpus.len())
        .filter(|&index| is_allowed(&host.cpus[index]))
        .collect()
}

/// The CPUs with the slots that are assigned already.
pub(super) fn standing(
    host: &Host,
    demands: &[Demand],
    wants: &[Want],
) -> Result<Vec<Cpu>, Refusal> {
    let mut cpus = vec![Cpu::new(host); host.cpus.len()];
    for (index, (demand, want)) in demands.iter().zip(wants).enumerate() {
        let Some(placement) = &demand.standing else {
            continue;
        };
        if stand(host, index, want.period, placement, &mut cpus).is_none() {
            let name = demand.name.clone();
            return Err(Refusal::Senseless {
                name,
                fault: Fault::Standing,
            });
        }
    }
    Ok(cpus)
}

/// The slot that begins there, if one does.
pub(super) fn slot_at(grid: ExactTime, edge_ns: u64) -> Option<u64> {
    let slot = grid.whole_in(edge_ns);
    (grid.edge_ns(slot) == edge_ns).then_some(slot)
}

/// `None` if its slots cannot be kept: they are of another grid, or a CPU is gone.
fn stand(
    host: &Host,
    demand: usize,
    period: u64,
    placement: &Placement,
    cpus: &mut [Cpu],
) -> Option<()> {
    let slot = |ns: u64| slot_at(host.grid_ns, ns);
    let mut end_before = 0;
    for piece in &placement.pieces {
        let index = host.cpus.iter().position(|&cpu| cpu == piece.cpu)?;
        let (begin, beat, end) = (
            slot(piece.begin_ns)?,
            slot(piece.beat_ns)?,
            slot(piece.end_ns)?,
        );
        let in_order = end_before <= begin && begin <= beat && beat < end && end <= period;
        let room = cpus[index].room(period).ok()?;
        let effort = &mut Effort::new(0);
        let (phases, width) = (
            Phases::new(&cpus[index], period, effort),
            end - begin.min(end),
        );
        if !in_order || room.slots < width || room.pieces < 1 {
            return None;
        }
        phases
            .whole(begin, width, effort)
            .filter(|&at| at == begin)?;
        cpus[index].hold(demand, period, begin..end);
        end_before = end;
    }
    Some(())
}
