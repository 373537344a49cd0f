//! Search over tasks, CPUs and phases: first fit, and backtracking.

use std::ops::ControlFlow::{self, Break, Continue};

use super::cpu::{self, Cpu, Mark};
use super::effort::Effort;
use super::phases::Phases;
use super::split::{self, Ground, Span};
use super::want::Want;

/// Steps that one search may take beyond first fit: about half a millisecond's.
pub(super) const EFFORT: u64 = 50_000;
/// Demands that fit at first, whole or in pieces, or not at all, need none.
pub(super) const FIRST_FIT: u64 = 0;

/// Steps for looking at one way to cut a budget, and for placing one.
const STEPS_PER_CUT: usize = 10;
const STEPS_PER_PLACEMENT: usize = 10;

/// The pieces of every demand; none for those that have slots already.
pub(super) type Placed = Vec<Vec<Span>>;

/// Where first fit failed.
pub(super) struct Stuck {
    /// The demand without room.
    pub demand: usize,
    /// The state of the CPUs then.
    pub cpus: Vec<Cpu>,
    /// Those that were placed before it.
    pub before: Vec<usize>,
}

/// The order in which demands are placed.
#[derive(Clone, Copy)]
enum First {
    /// By use of a CPU, largest first.
    Largest,
    /// By period, shortest first; where periods divide each other this keeps the larger gaps whole.
    Shortest,
    /// Demands with an offset first, then those with the fewest CPUs; of these by period, shortest
    /// first, since long periods are easier to cut.
    Bound,
}

/// Demands that are cut because they conflict one after the other; with more, all may be cut.
const CUT_MAX: usize = 8;

/// Place the demands in `subset` beside the slots that the CPUs have. Small cases are solved if a
/// solution exists; larger ones if first fit or one of the later searches succeeds within its
/// steps.
pub(super) fn solve(
    wants: &[Want],
    subset: &[usize],
    cpus: &[Cpu],
    steps: u64,
) -> Result<Placed, Stuck> {
    // Then only the point where first fit fails is of interest.
    let steps = if is_too_much(wants, subset, cpus) {
        0
    } else {
        steps
    };
    let search = |first: First, may_split: &[bool], steps: u64| {
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
    let mut found = search(First::Largest, &may_split, steps)
        .or_else(|_| search(First::Shortest, &may_split, steps))
        .or_else(|_| search(First::Bound, &may_split, steps));
    for _ in 0..CUT_MAX {
        match &found {
            Err(stuck) if !may_split[stuck.demand] => may_split[stuck.demand] = true,
            _ => break,
        }
        found = search(First::Bound, &may_split, FIRST_FIT);
    }
    match steps {
        FIRST_FIT => found,
        _ => found.or_else(|_| search(First::Bound, &vec![true; wants.len()], steps)),
    }
}

/// Whether the CPUs together have less time than the demands, whatever the placement.
fn is_too_much(wants: &[Want], subset: &[usize], cpus: &[Cpu]) -> bool {
    let asked: u64 = subset
        .iter()
        .map(|&demand| cpu::share_ppm(wants[demand].width(), wants[demand].period))
        .sum();
    asked > cpus.iter().map(Cpu::left_ppm).sum()
}

fn sorted(wants: &[Want], subset: &[usize], first: First) -> Vec<usize> {
    let mut order = subset.to_vec();
    // Shares of a CPU are compared by cross-multiplication, without rounding.
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
                .then(by_period)
                .then(by_share(one, other)),
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
    /// Go on with the demand at `depth`; return if it has no placement.
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

    /// Try every phase of the CPU in turn. Returns whether there was any.
    fn whole(&mut self, depth: usize, demand: usize, cpu: usize) -> Step<bool> {
        let want = &self.wants[demand];
        let Ok(room) = self.cpus[cpu].room(want.period) else {
            return Continue(false);
        };
        if room.slots < want.width() || room.pieces < 1 {
            return Continue(false);
        }
        let phases = Phases::new(&self.cpus[cpu], want.period, &mut self.effort);
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

    /// Try pieces on one CPU, or over several. Returns whether there was a way.
    fn in_pieces(&mut self, depth: usize, demand: usize) -> Step<bool> {
        let want = &self.wants[demand];
        let mut grounds = Vec::new();
        for &cpu in &want.cpus {
            let room = self.cpus[cpu].room(want.period).ok();
            if let Some(room) = room.filter(|room| room.slots > 0 && room.pieces > 0) {
                let phases = Phases::new(&self.cpus[cpu], want.period, &mut self.effort);
                let runs = phases.runs(&mut self.effort);
                grounds.push(Ground::new(cpu, room, runs, want));
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
        if self.effort.is_spent() {
            Break(Verdict::GaveUp)
        } else {
            Continue(())
        }
    }
}
