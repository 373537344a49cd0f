//! A demand without room: its obstacles, and the nearest change that would fit. Only changes that
//! have been tried are offered.

use super::cpu::{Cpu, Held};
use super::phases::gcd;
use super::refusal::{Obstacle, Refusal, Remedy};
use super::search::{self, Stuck};
use super::split::Span;
use super::want::{Want, allowed};
use super::{Demand, FRAME_MAX_NS, Host};

/// Multiples of a period that are tried, besides the next multiples of other tasks' periods.
const MULTIPLES: std::ops::RangeInclusive<u64> = 2..=8;
const PERIODS_MAX: usize = 8;

pub(super) fn explain(
    host: &Host,
    demands: &[Demand],
    wants: &[Want],
    cpus: &[Cpu],
    order: &[usize],
    stuck: &Stuck,
) -> Refusal {
    let (demand, want) = (&demands[stuck.demand], &wants[stuck.demand]);
    let obstacles = want
        .cpus
        .iter()
        .map(|&cpu| obstacle(host, demands, want, cpu, &stuck.cpus[cpu]))
        .collect();
    let mut trial = Trial {
        host,
        wants: wants.to_vec(),
        cpus,
        subset: order.to_vec(),
        demand: stuck.demand,
    };
    let alone = trial.others_fit();
    if !alone {
        // Changes that would at least let the search get further.
        trial.subset = stuck.before.clone();
        trial.subset.push(stuck.demand);
    }
    let fits = trial.remedies();
    Refusal::NoRoom {
        name: demand.name.clone(),
        slots: want.width(),
        grid_ns: host.grid_ns,
        period_ns: demand.period_ns,
        offset_ns: demand.offset_ns,
        obstacles,
        alone,
        fits,
    }
}

fn obstacle(host: &Host, demands: &[Demand], want: &Want, index: usize, cpu: &Cpu) -> Obstacle {
    let number = host.cpus[index];
    let room = match cpu.room(want.period) {
        Ok(room) => room,
        Err(long) => {
            return Obstacle::Frame {
                cpu: number,
                frame_ns: host.grid_ns.times(long.frame),
            };
        }
    };
    let blocked = |held: &&Held| {
        let cycle = gcd(held.period, want.period);
        (held.end - held.begin).min(cycle) * 1_000_000 / cycle
    };
    // Of equal ones the first.
    let most = cpu.held().iter().rev().max_by_key(blocked);
    let at_offset = want.begin().and_then(|begin| {
        let is_there = |held: &&Held| meets(held, begin, want);
        cpu.held().iter().find(is_there)
    });
    match at_offset.or(most) {
        _ if room.slots < want.width() => Obstacle::Free {
            cpu: number,
            left_ns: host.grid_ns.times(room.slots),
            free_ppm: host.free_ppm,
        },
        Some(held) if room.pieces > 0 => Obstacle::Held {
            cpu: number,
            by: demands[held.demand].name.clone(),
            begin_ns: host.grid_ns.times(held.begin),
            end_ns: host.grid_ns.times(held.end),
            period_ns: host.grid_ns.times(held.period),
            others: cpu
                .held()
                .iter()
                .filter(|other| other.demand != held.demand)
                .map(|other| other.demand)
                .collect::<std::collections::BTreeSet<_>>()
                .len(),
        },
        _ => Obstacle::Entries { cpu: number },
    }
}

/// Whether the slots that the demand asks for are taken.
fn meets(held: &Held, begin: u64, want: &Want) -> bool {
    let cycle = gcd(held.period, want.period);
    let into = (begin % cycle + cycle - held.begin % cycle) % cycle;
    into < held.end - held.begin || into + want.width() > cycle
}

/// All demands but one unchanged.
struct Trial<'a> {
    host: &'a Host,
    wants: Vec<Want>,
    cpus: &'a [Cpu],
    subset: Vec<usize>,
    demand: usize,
}

impl Trial<'_> {
    fn others_fit(&self) -> bool {
        let is_other = |&demand: &usize| demand != self.demand;
        let others: Vec<usize> = self.subset.iter().copied().filter(is_other).collect();
        search::solve(&self.wants, &others, self.cpus, search::FIRST_FIT).is_ok()
    }

    /// The nearest first: phase and CPU, then budget, then period.
    fn remedies(&mut self) -> Box<[Remedy]> {
        [self.offset(), self.cpus(), self.budget(), self.period()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Where the changed demand is placed, if everything fits then.
    fn place(&mut self, change: impl FnOnce(&mut Want)) -> Option<Vec<Span>> {
        let as_it_is = self.wants[self.demand].clone();
        change(&mut self.wants[self.demand]);
        let solved = search::solve(&self.wants, &self.subset, self.cpus, search::FIRST_FIT);
        self.wants[self.demand] = as_it_is;
        solved
            .ok()
            .map(|mut placed| placed.swap_remove(self.demand))
    }

    fn want(&self) -> &Want {
        &self.wants[self.demand]
    }

    fn offset(&mut self) -> Option<Remedy> {
        self.want().offset?;
        let pieces = self.place(|want| want.offset = None)?;
        let offset = pieces.first()?.slots.start + self.want().lead;
        self.place(|want| want.offset = Some(offset))?;
        Some(Remedy::Offset {
            offset_ns: self.host.grid_ns.times(offset),
        })
    }

    fn cpus(&mut self) -> Option<Remedy> {
        let all = allowed(self.host, None);
        if self.want().cpus.len() == all.len() {
            return None;
        }
        let pieces = self.place(|want| want.cpus = all)?;
        let mut on: Vec<usize> = pieces.iter().map(|piece| piece.cpu).collect();
        on.sort_unstable();
        on.dedup();
        let cpus = on.iter().map(|&cpu| self.host.cpus[cpu]).collect();
        self.place(|want| want.cpus = on)?;
        Some(Remedy::Cpus { cpus })
    }

    /// The largest budget that fits, as found by bisection.
    fn budget(&mut self) -> Option<Remedy> {
        let (mut fits, mut too_much) = (0, self.want().budget);
        while too_much - fits > 1 {
            let budget = fits + (too_much - fits) / 2;
            match self.place(|want| want.budget = budget) {
                Some(_) => fits = budget,
                None => too_much = budget,
            }
        }
        (fits > 0).then(|| Remedy::Budget {
            budget_ns: self.host.grid_ns.times(fits).whole_ns(),
        })
    }

    /// The shortest period that fits, of multiples of its own and of other tasks' periods.
    fn period(&mut self) -> Option<Remedy> {
        let own = self.want().period;
        let longest = self.host.grid_ns.whole_in(FRAME_MAX_NS);
        let others = self.wants.iter();
        let others = others.map(|want| own.div_ceil(want.period) * want.period);
        let mut periods: Vec<u64> = MULTIPLES.map(|factor| factor * own).chain(others).collect();
        periods.retain(|&period| own < period && period <= longest);
        periods.sort_unstable();
        periods.dedup();
        let period = periods
            .into_iter()
            .take(PERIODS_MAX)
            .find(|&period| self.place(|want| want.period = period).is_some())?;
        Some(Remedy::Period {
            period_ns: self.host.grid_ns.times(period),
        })
    }
}
