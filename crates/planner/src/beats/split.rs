//! A budget in pieces.

use std::ops::Range;

use super::cpu::Room;
use super::want::Want;

/// Slots of a task on one CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    /// Its index in the host's list.
    pub cpu: usize,
    pub slots: Range<u64>,
}

/// With so many free slots or fewer in a period, every way to cut a budget is tried.
const EXHAUSTIVE_SLOTS: usize = u64::BITS as usize;

/// A CPU's free slots, for a task whose budget is cut.
pub(super) struct Ground {
    pub cpu: usize,
    pub room: Room,
    /// Free slots in order of time, none before the first that the task may have.
    pub runs: Vec<Range<u64>>,
}

impl Ground {
    pub fn new(cpu: usize, room: Room, runs: Vec<Range<u64>>, want: &Want) -> Ground {
        let first = want.begin().unwrap_or(0);
        let from_first = |run: Range<u64>| run.start.max(first)..run.end;
        let runs = runs.into_iter().map(from_first);
        let runs = runs.filter(|run| !run.is_empty()).collect();
        Ground { cpu, room, runs }
    }

    fn span(&self, slots: Range<u64>) -> Span {
        let cpu = self.cpu;
        Span { cpu, slots }
    }

    /// Ways to cut it on this CPU: first the one into the largest pieces, then, if there are few
    /// slots, all others. `None` stands for one that was tried without result.
    pub fn cuts<'a>(&'a self, want: &'a Want) -> impl Iterator<Item = Option<Vec<Span>>> + 'a {
        let has_room = want.width() <= self.room.slots;
        let cuts = has_room.then(|| {
            let exhaustive = subsets(&self.runs, want);
            std::iter::once(largest_first(&self.runs, want)).chain(exhaustive)
        });
        cuts.into_iter().flatten().map(|cut| {
            let cut = cut.filter(|cut| cut.len() as u64 <= self.room.pieces)?;
            Some(cut.into_iter().map(|slots| self.span(slots)).collect())
        })
    }
}

/// The beat where it can be earliest, and after it the longest runs.
fn largest_first(runs: &[Range<u64>], want: &Want) -> Option<Vec<Range<u64>>> {
    let first = runs.iter().position(|run| may_begin(run, want))?;
    let mut later: Vec<&Range<u64>> = runs[first + 1..].iter().collect();
    later.sort_by_key(|run| std::cmp::Reverse(run.end - run.start));
    let mut left = want.width();
    let mut pieces = Vec::new();
    for run in std::iter::once(&runs[first]).chain(later) {
        let width = left.min(run.end - run.start);
        pieces.push(run.start..run.start + width);
        left -= width;
        if left == 0 {
            pieces.sort_unstable_by_key(|piece| piece.start);
            return Some(pieces);
        }
    }
    None
}

/// Whether the first piece can be here: its lead, one slot after it, and at the offset.
fn may_begin(run: &Range<u64>, want: &Want) -> bool {
    run.end - run.start > want.lead && want.begin().is_none_or(|begin| begin == run.start)
}

/// Every choice of so many slots; `None` for those in which the lead is not before the beat, or the
/// beat is not at the offset.
fn subsets(runs: &[Range<u64>], want: &Want) -> impl Iterator<Item = Option<Vec<Range<u64>>>> {
    let free: Vec<u64> = runs
        .iter()
        .cloned()
        .flatten()
        .take(EXHAUSTIVE_SLOTS + 1)
        .collect();
    let (count, width) = (free.len(), want.width());
    let is_small = count <= EXHAUSTIVE_SLOTS && width <= count as u64;
    let first = is_small.then(|| u64::MAX >> (EXHAUSTIVE_SLOTS as u64 - width));
    let masks = std::iter::successors(first, |mask| next_of_equal_size(*mask));
    let is_within = move |mask: &u64| mask.checked_shr(count as u32).unwrap_or(0) == 0;
    masks.take_while(is_within).map(move |mask| {
        let chosen = (0..count).filter(|bit| mask >> bit & 1 == 1);
        let pieces = join(chosen.map(|bit| free[bit]));
        may_begin(pieces.first()?, want).then_some(pieces)
    })
}

/// The next larger number with as many bits set: the lowest run of ones moves its highest bit up.
fn next_of_equal_size(mask: u64) -> Option<u64> {
    let lowest = mask & mask.wrapping_neg();
    let carried = mask.checked_add(lowest)?;
    Some(carried | (((mask ^ carried) >> 2) / lowest))
}

fn join(slots: impl Iterator<Item = u64>) -> Vec<Range<u64>> {
    let mut pieces: Vec<Range<u64>> = Vec::new();
    for slot in slots {
        match pieces.last_mut() {
            Some(piece) if piece.end == slot => piece.end += 1,
            _ => pieces.push(slot..slot + 1),
        }
    }
    pieces
}

/// Pieces on several CPUs, one after the other. A free slot lies between pieces on different CPUs,
/// from the last of a period to the first of the next as well.
pub(super) fn spread(grounds: &[Ground], want: &Want) -> Option<Vec<Span>> {
    let is_apart = |pieces: &Vec<Span>| match pieces.as_slice() {
        [first, .., last] if first.cpu != last.cpu => {
            first.slots.start > 0 || last.slots.end < want.period
        }
        _ => true,
    };
    let spread_from = |phase: u64| spread_from(phase, grounds, want).filter(is_apart);
    spread_from(0).or_else(|| spread_from(1))
}

/// Of the pieces that begin next, the longest.
fn spread_from(phase: u64, grounds: &[Ground], want: &Want) -> Option<Vec<Span>> {
    let mut rooms: Vec<Room> = grounds.iter().map(|ground| ground.room).collect();
    let mut pieces: Vec<Span> = Vec::new();
    let mut left = want.width();
    while left > 0 {
        let next = grounds
            .iter()
            .enumerate()
            .filter_map(|(index, ground)| {
                let slots = next_piece(ground, rooms[index], phase, pieces.last(), left, want)?;
                Some((index, slots))
            })
            .collect::<Vec<_>>();
        let earliest_end = next.iter().map(|(_, slots)| slots.end).min()?;
        let (index, slots) = next
            .into_iter()
            .filter(|(_, slots)| slots.start < earliest_end)
            .max_by_key(|(index, slots)| (slots.end - slots.start, std::cmp::Reverse(*index)))?;
        let width = slots.end - slots.start;
        left -= width;
        rooms[index].slots -= width;
        rooms[index].pieces -= 1;
        pieces.push(grounds[index].span(slots));
    }
    Some(pieces)
}

/// A CPU's next free slots after the piece before, or from the first phase on.
fn next_piece(
    ground: &Ground,
    room: Room,
    first: u64,
    before: Option<&Span>,
    left: u64,
    want: &Want,
) -> Option<Range<u64>> {
    let from = before.map_or(first, |piece| {
        piece.slots.end + u64::from(piece.cpu != ground.cpu)
    });
    let most = left.min(room.slots);
    ground
        .runs
        .iter()
        .filter(|run| run.end > from && most > 0 && room.pieces > 0)
        .map(|run| run.start.max(from)..run.end)
        .map(|run| run.start..run.end.min(run.start + most))
        .find(|run| before.is_some() || may_begin(run, want))
}
