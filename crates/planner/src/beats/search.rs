//! Over tasks, CPUs and phases: first fit, and back from where it leads nowhere.

use std::ops::ControlFlow::{self, Break, Continue};

use super::cpu::{self, Cpu, Mark};
use super::effort::Effort;
use super::phases::Phases;
use super::split::{self, Ground, Span};
use super::want::Want;

/// Steps that one search may take beyond first fit: about a millisecond's.
pub(super) const EFFORT: u64 = 100_000;

/// Of the effort: looking at one way to cut a budget, and placing one.
const STEPS_PER_CUT: usize = 10;
const STEPS_PER_PLACEMENT: usize = 10;

/// For every demand its pieces; none for those that stand.
pub(super) type Placed = Vec<Vec<Span>>;

/// Where first fit came to its end.
pub(super) struct Stuck {
    /// The demand without room.
    pub demand: usize,
    /// What was held by then.
    pub cpus: Vec<Cpu>,
    /// Those that were placed before it.
    pub before: Vec<usize>,
}

/// What goes first.
#[derive(Clone, Copy)]
enum First {
    /// What uses most of a CPU.
    Largest,
    /// What comes most often; where periods divide each other this leaves the larger gaps whole.
    Shortest,
    /// What has an offset, then what may go to fewest CPUs; of these the largest.
    Bound,
}

/// Demands that are cut because they are in the way one after the other; with more, all may be.
const CUT_MAX: usize = 16;

/// Place the demands in `subset` beside what the CPUs hold. Small cases are solved if they can be;
/// larger ones if first fit or one of the searches after it gets there in so many steps each.
pub(super) fn solve(
    wants: &[Want],
    subset: &[usize],
    cpus: &[Cpu],
    steps: u64,
) -> Result<Placed, Stuck> {
    // Then only where first fit gets stuck is of interest.
    let steps = if is_too_much(wants, subset, cpus) {
        0
    } else {
        steps
    };
    let search = |first: First, may_split: &[bool]| {
        let mut search = Search {
            wants,
            order: sorted(wants, subset, first),
            cpus: cpus.to_vec(),
            placed: vec![Vec::new(); wants.len()],
            may_split,
            effort: Effort::new(steps),
            stuck: None,
        };
        match search.descend(0) {
            Break(Verdict::Done) => Ok(search.placed),
            Break(Verdict::GaveUp) | Continue(()) => {
                Err(search.stuck.expect("what finds nothing was stuck before"))
            }
        }
    };
    let mut may_split = vec![false; wants.len()];
    let mut found = search(First::Largest, &may_split)
        .or_else(|_| search(First::Shortest, &may_split))
        .or_else(|_| search(First::Bound, &may_split));
    for _ in 0..CUT_MAX {
        match &found {
            Err(stuck) if !may_split[stuck.demand] => may_split[stuck.demand] = true,
            _ => break,
        }
        found = search(First::Bound, &may_split);
    }
    found.or_else(|_| search(First::Bound, &vec![true; wants.len()]))
}

/// Whether the CPUs together have less than is asked for, wherever it might go.
fn is_too_much(wants: &[Want], subset: &[usize], cpus: &[Cpu]) -> bool {
    let asked: u64 = subset
        .iter()
        .map(|&demand| cpu::share_ppm(wants[demand].width(), wants[demand].period))
        .sum();
    asked > cpus.iter().map(Cpu::left_ppm).sum()
}

fn sorted(wants: &[Want], subset: &[usize], first: First) -> Vec<usize> {
    let mut order = subset.to_vec();
    // Shares of a CPU are compared crosswise, without rounding.
    let by_share = |a: &Want, b: &Want| (b.width() * a.period).cmp(&(a.width() * b.period));
    let bounds = |want: &Want| (want.offset.is_none(), want.cpus.len());
    order.sort_by(|&a, &b| {
        let (one, other) = (&wants[a], &wants[b]);
        let by_period = one.period.cmp(&other.period);
        match first {
            First::Largest => by_share(one, other).then(by_period),
            First::Shortest => by_period.then(by_share(one, other)),
            First::Bound => bounds(one)
                .cmp(&bounds(other))
                .then(by_share(one, other))
                .then(by_period),
        }
        .then(a.cmp(&b))
    });
    order
}

struct Search<'a> {
    wants: &'a [Want],
    order: Vec<usize>,
    cpus: Vec<Cpu>,
    placed: Placed,
    /// Which demands may be cut.
    may_split: &'a [bool],
    effort: Effort,
    stuck: Option<Stuck>,
}

/// How a search ends early.
enum Verdict {
    Done,
    GaveUp,
}

type Step<T = ()> = ControlFlow<Verdict, T>;

impl Search<'_> {
    /// Go on with the demand at `depth`; return if there is nowhere to go.
    fn descend(&mut self, depth: usize) -> Step {
        let Some(&demand) = self.order.get(depth) else {
            return Break(Verdict::Done);
        };
        let mut tried = false;
        for &cpu in &self.wants[demand].cpus {
            tried |= self.whole(depth, demand, cpu)?;
        }
        if self.may_split[demand] {
            tried |= self.in_pieces(depth, demand)?;
        }
        if !tried && self.stuck.is_none() {
            self.stuck = Some(Stuck {
                demand,
                cpus: self.cpus.clone(),
                before: self.order[..depth].to_vec(),
            });
        }
        Continue(())
    }

    /// At every phase of the CPU in turn. Returns whether there was any.
    fn whole(&mut self, depth: usize, demand: usize, cpu: usize) -> Step<bool> {
        let want = &self.wants[demand];
        let Ok(room) = self.cpus[cpu].room(want.period) else {
            return Continue(false);
        };
        if room.slots < want.width() || room.pieces < 1 {
            return Continue(false);
        }
        let phases = Phases::of(&self.cpus[cpu], want.period, &mut self.effort);
        let mut tried = false;
        let mut from = want.begin().unwrap_or(0);
        while let Some(begin) = phases.whole(from, want.width(), &mut self.effort) {
            if want.begin().is_some_and(|meant| meant != begin) {
                break;
            }
            tried = true;
            let slots = begin..begin + want.width();
            self.attempt(depth, demand, vec![Span { cpu, slots }])?;
            from = begin + 1;
        }
        Continue(tried)
    }

    /// In pieces on one CPU, or over several. Returns whether there was a way.
    fn in_pieces(&mut self, depth: usize, demand: usize) -> Step<bool> {
        let want = &self.wants[demand];
        let mut grounds = Vec::new();
        for &cpu in &want.cpus {
            if let Ok(room) = self.cpus[cpu].room(want.period) {
                let phases = Phases::of(&self.cpus[cpu], want.period, &mut self.effort);
                let runs = phases.runs(&mut self.effort);
                grounds.push(Ground::of(cpu, room, runs, want));
            }
        }
        let mut tried = false;
        for ground in &grounds {
            for pieces in ground.cuts(want) {
                self.effort.take(STEPS_PER_CUT);
                if let Some(pieces) = pieces {
                    tried = true;
                    self.attempt(depth, demand, pieces)?;
                }
                if self.effort.is_spent() {
                    break;
                }
            }
        }
        let spread = (!want.is_group)
            .then(|| split::spread(&grounds, want))
            .flatten();
        if let Some(pieces) = spread {
            tried = true;
            self.attempt(depth, demand, pieces)?;
        }
        Continue(tried)
    }

    fn attempt(&mut self, depth: usize, demand: usize, pieces: Vec<Span>) -> Step {
        let marks: Vec<(usize, Mark)> = pieces
            .iter()
            .map(|piece| (piece.cpu, self.cpus[piece.cpu].mark()))
            .collect();
        let period = self.wants[demand].period;
        for piece in &pieces {
            self.cpus[piece.cpu].hold(demand, period, piece.slots.clone());
        }
        self.placed[demand] = pieces;
        self.descend(depth + 1)?;
        for (cpu, mark) in &marks {
            self.cpus[*cpu].go_back(mark);
        }
        self.effort.take(STEPS_PER_PLACEMENT);
        match self.effort.is_spent() {
            true => Break(Verdict::GaveUp),
            false => Continue(()),
        }
    }
}
