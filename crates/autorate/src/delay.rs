//! How long packets take to the hosts beyond the line, over what they take without a queue.
//!
//! Each reflector has a baseline for either way: the least delay, which rises slowly, so that a path
//! that has become longer counts as such in time. The one-way delays are differences of two hosts'
//! clocks; the offset of the clocks is in the baseline as well and falls out. Of the last answers of
//! three reflectors the median counts: one that lies, or stands behind a queue of its own, is outvoted.

use std::collections::VecDeque;

use crate::{Both, NS_PER_S};

/// How fast a baseline rises, in ns per second. A queue that the law leaves is emptied many times
/// before its delay has become the baseline; a route that is 20 ms longer is one after 40 s, or by
/// [`Delays::rebase`] after two.
const RISE_NS_PER_S: i64 = 500_000;
/// Below its baseline by more than this, of a way alone, a delay tells of a reflector's clock that was
/// set: time stamps have 1 ms, and a path does not become shorter without its round trip.
const CLOCK_SET_NS: i64 = 5_000_000;
/// A reflector whose clock is set so often within so many answers has none: its stamps stand still,
/// count something else, or are made up.
const CLOCK_SETS_MAX: u32 = 2;
const CLOCK_ANSWERS: u32 = 16;
/// The last readings of so many reflectors count.
const VOTES: usize = 3;
/// What the line carries is measured over at least this: an answer comes a few milliseconds early or
/// late.
const PAIR_NS: u64 = 150_000_000;
/// More readings are not needed.
const READINGS: usize = 16;
/// A reading counts for so long.
pub(crate) const FRESH_NS: u64 = NS_PER_S;
/// An answer that has not come by then is late: of a queue, or lost.
const OVERDUE_NS: i64 = 10_000_000;
/// So many questions without an answer, one after the other: the reflector is gone.
const UNANSWERED_MAX: u32 = 4;
/// Questions whose answers may still come.
const OPEN_MAX: usize = 32;
/// An answer that comes later is taken for lost.
const PATIENCE_NS: u64 = 10 * NS_PER_S;

/// Of one packet, each way, by the clocks of both hosts: differences count, not values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneWay {
    /// From this host's clock at sending to the reflector's at receiving.
    pub up_ns: i64,
    /// From the reflector's clock at sending to this host's at receiving.
    pub down_ns: i64,
}

/// A reflector has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Which one, from 0.
    pub reflector: usize,
    /// When it was asked; that identifies the question.
    pub sent_ns: u64,
    /// When the answer came.
    pub heard_ns: u64,
    /// `None`: it answers without time stamps.
    pub one_way: Option<OneWay>,
}

/// Two readings: what was sent between the questions, the line has carried between their arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub sent_ns: [u64; 2],
    pub heard_ns: [u64; 2],
    /// What each added to the baselines, by way; of a round trip, in all.
    pub added_ns: Both<[i64; 2]>,
}

/// The least of late, for one way.
#[derive(Debug, Clone, Copy, Default)]
struct Baseline(Option<(i64, u64)>);

impl Baseline {
    /// As of then.
    fn at(&self, now_ns: u64) -> Option<i64> {
        let (least_ns, at_ns) = self.0?;
        let for_ns = i128::from(now_ns.saturating_sub(at_ns));
        let risen_ns = for_ns * i128::from(RISE_NS_PER_S) / i128::from(NS_PER_S);
        Some(least_ns.saturating_add(i64::try_from(risen_ns).unwrap_or(i64::MAX)))
    }

    /// What this delay adds to it; a smaller one is the new baseline.
    fn add(&mut self, delay_ns: i64, now_ns: u64) -> i64 {
        let least_ns = self.at(now_ns).map_or(delay_ns, |ns| ns.min(delay_ns));
        self.0 = Some((least_ns, now_ns));
        delay_ns.saturating_sub(least_ns)
    }

    fn shift(&mut self, by_ns: i64) {
        if let Some((least_ns, _)) = &mut self.0 {
            *least_ns = least_ns.saturating_add(by_ns);
        }
    }
}

/// What an answer added to the baselines of its reflector.
#[derive(Debug, Clone, Copy)]
struct Reading {
    reflector: usize,
    sent_ns: u64,
    heard_ns: u64,
    /// `None`: not known by way.
    ways_ns: Option<Both<i64>>,
    round_trip_ns: i64,
}

#[derive(Debug, Clone, Default)]
struct Reflector {
    up: Baseline,
    down: Baseline,
    round_trip: Baseline,
    /// It has told of each way.
    is_one_way: bool,
    heard_ns: Option<u64>,
    /// When it was asked, without an answer yet.
    open: VecDeque<u64>,
    unanswered: u32,
    /// Of the last answers with stamps.
    clock_sets: u32,
    clock_answers: u32,
    /// Its stamps are of no use.
    is_liar: bool,
}

/// The delay that a direction has now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Added {
    pub ns: u64,
    /// It may be the other direction's.
    pub is_shared: bool,
    /// It is of questions without an answer yet, and at least so much.
    pub is_overdue: bool,
}

/// Of all reflectors of a line.
#[derive(Debug, Clone)]
pub(crate) struct Delays {
    reflectors: Vec<Reflector>,
    /// In the order in which they came.
    readings: VecDeque<Reading>,
}

impl Delays {
    pub fn new(reflectors: usize) -> Self {
        Self {
            reflectors: vec![Reflector::default(); reflectors],
            readings: VecDeque::new(),
        }
    }

    pub fn count(&self) -> usize {
        self.reflectors.len()
    }

    /// Whether this one has not answered for several questions.
    pub fn is_gone(&self, reflector: usize) -> bool {
        self.reflectors[reflector].unanswered >= UNANSWERED_MAX
    }

    pub fn ask(&mut self, reflector: usize, now_ns: u64) {
        let Some(asked) = self.reflectors.get_mut(reflector) else {
            return;
        };
        asked.unanswered = asked.unanswered.saturating_add(1);
        let is_late = |sent_ns: &u64| now_ns.saturating_sub(*sent_ns) > PATIENCE_NS;
        while asked.open.front().is_some_and(is_late) || asked.open.len() >= OPEN_MAX {
            asked.open.pop_front();
        }
        asked.open.push_back(now_ns);
    }

    /// Whether to ask this one while there is load: those that tell of each way say more, if there are
    /// two of them.
    pub fn is_worth_asking(&self, reflector: usize) -> bool {
        !self.is_gone(reflector)
            && (self.reflectors[reflector].is_one_way || !self.are_ways_known())
    }

    fn are_ways_known(&self) -> bool {
        let known = self
            .reflectors
            .iter()
            .filter(|of| of.is_one_way && !of.is_lost());
        known.count() >= 2
    }

    /// Only of a question that was asked. The pair that it makes with one before, if it does.
    pub fn hear(&mut self, answer: Answer) -> Option<Pair> {
        let asked = self.reflectors.get_mut(answer.reflector)?;
        let at = asked.open.iter().position(|ns| *ns == answer.sent_ns)?;
        let round_trip_ns = i64::try_from(answer.heard_ns.checked_sub(answer.sent_ns)?).ok()?;
        // Those before it are lost, or overtaken.
        asked.open.drain(..=at);
        asked.unanswered = 0;
        let reading = asked.read(answer, round_trip_ns);
        self.readings.push_back(reading);
        if self.readings.len() > READINGS {
            self.readings.pop_front();
        }
        self.pair(&reading)
    }

    /// With the latest one that was sent long enough before.
    fn pair(&self, after: &Reading) -> Option<Pair> {
        let is_before = |before: &&Reading| {
            before.ways_ns.is_some() == after.ways_ns.is_some()
                && before.sent_ns + PAIR_NS <= after.sent_ns
                && before.heard_ns < after.heard_ns
        };
        let before = self.readings.iter().rev().find(is_before)?;
        let added = |reading: &Reading| {
            let round_trip = Both {
                up: reading.round_trip_ns,
                down: reading.round_trip_ns,
            };
            reading.ways_ns.unwrap_or(round_trip)
        };
        let (before_ns, after_ns) = (added(before), added(after));
        Some(Pair {
            sent_ns: [before.sent_ns, after.sent_ns],
            heard_ns: [before.heard_ns, after.heard_ns],
            added_ns: Both {
                up: [before_ns.up, after_ns.up],
                down: [before_ns.down, after_ns.down],
            },
        })
    }

    /// What reflectors tell of either direction; `None`: none has told anything of late.
    pub fn added(&self, now_ns: u64) -> Option<Both<Added>> {
        let are_ways_known = self.are_ways_known();
        let of = |way: fn(&Both<i64>) -> i64| {
            self.vote(now_ns, |reading| {
                if are_ways_known {
                    reading.ways_ns.as_ref().map(way)
                } else {
                    Some(reading.round_trip_ns)
                }
            })
        };
        Some(Both {
            up: of(|ways| ways.up)?,
            down: of(|ways| ways.down)?,
        })
    }

    /// The median of the last questions, one to each reflector: of what their answers say, or of how
    /// late they are.
    fn vote(&self, now_ns: u64, of: impl Fn(&Reading) -> Option<i64>) -> Option<Added> {
        let are_ways_known = self.are_ways_known();
        let mut votes: Vec<(u64, Added)> = Vec::new();
        for (number, reflector) in self.reflectors.iter().enumerate() {
            let mut readings = self.readings.iter().rev();
            let reading = readings.find(|reading| reading.reflector == number);
            let answered_ns = reading.map_or(0, |reading| reading.sent_ns);
            let is_fresh = |reading: &&Reading| now_ns.saturating_sub(reading.heard_ns) <= FRESH_NS;
            if let Some((sent_ns, ns)) = reflector.overdue(now_ns, answered_ns) {
                let late = Added {
                    ns,
                    is_shared: true,
                    is_overdue: true,
                };
                votes.push((sent_ns, late));
            } else if let Some(ns) = reading.filter(is_fresh).and_then(&of) {
                let told = Added {
                    ns: u64::try_from(ns).unwrap_or_default(),
                    is_shared: !are_ways_known,
                    is_overdue: false,
                };
                votes.push((answered_ns, told));
            }
        }
        votes.sort_unstable_by_key(|(sent_ns, _)| std::cmp::Reverse(*sent_ns));
        votes.truncate(VOTES);
        median(votes.into_iter().map(|(_, added)| added).collect())
    }

    /// The latest answer of any.
    pub fn heard_ns(&self) -> Option<u64> {
        self.reflectors.iter().filter_map(|of| of.heard_ns).max()
    }

    /// This much is the path's: it is in the baselines from now on.
    pub fn rebase(&mut self, up_ns: u64, down_ns: u64, round_trip_ns: u64) {
        let shift = |baseline: &mut Baseline, ns: u64| {
            baseline.shift(i64::try_from(ns).unwrap_or(i64::MAX));
        };
        for reflector in &mut self.reflectors {
            shift(&mut reflector.up, up_ns);
            shift(&mut reflector.down, down_ns);
            shift(&mut reflector.round_trip, round_trip_ns);
        }
        self.readings.clear();
    }

    /// The line was not watched: nothing of it is known.
    pub fn forget(&mut self) {
        *self = Self::new(self.reflectors.len());
    }
}

impl Reflector {
    fn read(&mut self, answer: Answer, round_trip_ns: i64) -> Reading {
        let now_ns = answer.heard_ns;
        self.heard_ns = Some(now_ns);
        let round_trip_ns = self.round_trip.add(round_trip_ns, now_ns);
        let one_way = answer.one_way.filter(|_| !self.is_liar);
        self.is_one_way = one_way.is_some();
        Reading {
            reflector: answer.reflector,
            sent_ns: answer.sent_ns,
            heard_ns: now_ns,
            ways_ns: one_way.map(|one_way| self.ways(one_way, now_ns)),
            round_trip_ns,
        }
    }

    /// What each way adds, unless a clock was set.
    fn ways(&mut self, one_way: OneWay, now_ns: u64) -> Both<i64> {
        let below = |baseline: &Baseline, ns: i64| {
            let least_ns = baseline.at(now_ns).unwrap_or(ns);
            least_ns.saturating_sub(ns)
        };
        let up_below = below(&self.up, one_way.up_ns);
        let down_below = below(&self.down, one_way.down_ns);
        self.clock_answers += 1;
        // A clock that is set moves both ways by the same, against each other.
        let set_by = match (up_below > CLOCK_SET_NS, down_below > CLOCK_SET_NS) {
            (true, false) => -up_below,
            (false, true) => down_below,
            _ => 0,
        };
        if set_by != 0 {
            self.up.shift(set_by);
            self.down.shift(-set_by);
            self.clock_sets += 1;
            self.is_liar = self.clock_sets > CLOCK_SETS_MAX;
        }
        if self.clock_answers >= CLOCK_ANSWERS {
            (self.clock_answers, self.clock_sets) = (0, 0);
        }
        Both {
            up: self.up.add(one_way.up_ns, now_ns),
            down: self.down.add(one_way.down_ns, now_ns),
        }
    }

    fn is_lost(&self) -> bool {
        self.unanswered >= UNANSWERED_MAX && self.heard_ns.is_none()
            || self.unanswered >= 2 * UNANSWERED_MAX
    }

    /// Its first question since then that is without an answer, and how late that is; `None`: none is,
    /// or it is not known what it should take.
    fn overdue(&self, now_ns: u64, since_ns: u64) -> Option<(u64, u64)> {
        if self.is_lost() {
            return None;
        }
        let mut open = self.open.iter();
        let sent_ns = *open.find(|ns| **ns > since_ns)?;
        let age_ns = i64::try_from(now_ns.saturating_sub(sent_ns)).ok()?;
        let late_ns = age_ns - self.round_trip.at(now_ns)?;
        (late_ns >= OVERDUE_NS).then_some((sent_ns, u64::try_from(late_ns).ok()?))
    }
}

/// The lower one of an even number: of two the one that says less.
fn median(mut values: Vec<Added>) -> Option<Added> {
    values.sort_unstable_by_key(|added| added.ns);
    values.get(values.len().checked_sub(1)? / 2).copied()
}
