//! The law: both directions of a line, and what measures them.

use crate::{
    Both, MS, NS_PER_S,
    carried::{Carried, bps},
    delay::{Added, Answer, Delays, Pair},
    direction::{Bounds, Direction, HIGH_NS, Heard, LOADED_PERMILLE, LOW_NS, Why},
};

/// Between two steps under load, and between two questions.
const LOADED_STEP_NS: u64 = 100 * MS;
/// Between two steps of a line that is little used: how late load is noticed.
const IDLE_STEP_NS: u64 = 500 * MS;
/// Between two questions then: baselines are known when load comes.
const IDLE_ASK_NS: u64 = 2 * NS_PER_S;
/// A reflector that is gone, or that tells less than others, is asked so often while there is load.
const ANY_ASK_NS: u64 = 5 * NS_PER_S;
/// A line that carries enough to have a queue is watched closely, and for so long after that.
const WATCHED_NS: u64 = 5 * NS_PER_S;
/// Without an answer for so long nothing is known of the line.
const SILENCE_NS: u64 = 6 * NS_PER_S;
/// A step that comes later than this: the host slept, or the process was stopped.
const GAP_NS: u64 = 3 * NS_PER_S;

/// A direction's rate, and why it is that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Within the bounds.
    pub rate_bps: u64,
    /// As of the last step.
    pub why: Why,
    /// Delay that the line's queue adds, as measured last.
    pub added_ns: u64,
}

/// Of the directions that change.
pub type Rates = Both<Option<Verdict>>;

/// Sets the rates of a line.
#[derive(Debug, Clone)]
pub struct Law {
    directions: Both<Option<Direction>>,
    carried: Both<Carried>,
    delays: Delays,
    /// The next reflector to ask, and when.
    turn: usize,
    ask_ns: u64,
    asked_any_ns: u64,
    stepped_ns: u64,
    watched_until_ns: u64,
    /// Nothing was heard before this.
    begun_ns: u64,
    added: Both<u64>,
    /// The pairs since the last step.
    pairs: Vec<Pair>,
}

impl Law {
    /// Of a line with so many reflectors. A direction without bounds does not change.
    pub fn new(bounds: Both<Option<Bounds>>, reflectors: usize, now_ns: u64) -> Self {
        let direction = |bounds: Option<Bounds>| Some(Direction::new(bounds?, now_ns));
        Self {
            directions: Both {
                up: direction(bounds.up),
                down: direction(bounds.down),
            },
            carried: Both::default(),
            delays: Delays::new(reflectors),
            turn: 0,
            ask_ns: now_ns,
            asked_any_ns: 0,
            stepped_ns: now_ns,
            watched_until_ns: 0,
            begun_ns: now_ns,
            added: Both::default(),
            pairs: Vec::new(),
        }
    }

    /// Begin with these rates, as far as the bounds allow.
    pub fn start_at(&mut self, rates_bps: Both<Option<u64>>) {
        let pairs = [
            (&mut self.directions.up, rates_bps.up),
            (&mut self.directions.down, rates_bps.down),
        ];
        for (direction, rate_bps) in pairs {
            if let (Some(direction), Some(rate_bps)) = (direction, rate_bps) {
                direction.start_at(rate_bps);
            }
        }
    }

    /// The reflector to ask now, if it is time; it counts as asked.
    pub fn ask(&mut self, now_ns: u64) -> Option<usize> {
        let reflectors = self.delays.count();
        if now_ns < self.ask_ns || reflectors == 0 {
            return None;
        }
        let interval_ns = if now_ns < self.watched_until_ns {
            LOADED_STEP_NS
        } else {
            IDLE_ASK_NS
        };
        self.ask_ns = now_ns + interval_ns;
        // The others in turn, seldom: one that was gone may be back.
        let asks_any = interval_ns == IDLE_ASK_NS || now_ns >= self.asked_any_ns + ANY_ASK_NS;
        let turns = (0..reflectors).map(|more| (self.turn + more) % reflectors);
        let mut due = turns.filter(|turn| asks_any || self.delays.is_worth_asking(*turn));
        let chosen = due.next()?;
        if !self.delays.is_worth_asking(chosen) {
            self.asked_any_ns = now_ns;
        }
        self.turn = chosen + 1;
        self.delays.ask(chosen, now_ns);
        Some(chosen)
    }

    /// A reflector has answered; answers to no question of this law do not count.
    pub fn hear(&mut self, answer: Answer) {
        self.pairs.extend(self.delays.hear(answer));
    }

    /// The bytes on the wire since the last step; the rates from now on.
    pub fn step(&mut self, now_ns: u64, bytes: Both<u64>) -> Rates {
        if now_ns.saturating_sub(self.stepped_ns) > GAP_NS {
            self.forget(now_ns);
        }
        self.stepped_ns = now_ns;
        self.carried.up.add(now_ns, bytes.up);
        self.carried.down.add(now_ns, bytes.down);
        self.watch(now_ns);
        self.measure(now_ns);
        let added = self.delays.added(now_ns);
        let heard_ns = self
            .delays
            .heard_ns()
            .map_or(self.begun_ns, |ns| ns.max(self.begun_ns));
        let is_silent = now_ns.saturating_sub(heard_ns) >= SILENCE_NS;
        self.added = Both {
            up: added.map_or(0, |added| added.up.ns),
            down: added.map_or(0, |added| added.down.ns),
        };
        let loads = Both {
            up: load(&self.directions.up, &self.carried.up),
            down: load(&self.directions.down, &self.carried.down),
        };
        let heard = |added: Option<Added>, own: u64, other: u64| Heard {
            added_ns: added.map(|added| added.ns),
            is_overdue: added.is_some_and(|added| added.is_overdue),
            is_others: added.is_some_and(|added| added.is_shared)
                && other >= LOADED_PERMILLE
                && own < LOADED_PERMILLE / 2,
            is_silent,
        };
        let heard = Both {
            up: heard(added.map(|added| added.up), loads.up, loads.down),
            down: heard(added.map(|added| added.down), loads.down, loads.up),
        };
        if let Some(direction) = &mut self.directions.up {
            direction.step(now_ns, &self.carried.up, heard.up);
        }
        if let Some(direction) = &mut self.directions.down {
            direction.step(now_ns, &self.carried.down, heard.down);
        }
        self.rebase(now_ns, added);
        self.rates()
    }

    /// The rates as of the last step.
    pub fn rates(&self) -> Rates {
        let verdict = |direction: &Option<Direction>, added_ns: u64| {
            let direction = direction.as_ref()?;
            Some(Verdict {
                rate_bps: direction.rate_bps(),
                why: direction.why(),
                added_ns,
            })
        };
        Both {
            up: verdict(&self.directions.up, self.added.up),
            down: verdict(&self.directions.down, self.added.down),
        }
    }

    /// When the next step or question is due.
    pub fn due_ns(&self) -> u64 {
        let step_ns = if self.stepped_ns < self.watched_until_ns {
            LOADED_STEP_NS
        } else {
            IDLE_STEP_NS
        };
        self.ask_ns.min(self.stepped_ns + step_ns)
    }

    /// The line was not watched for a while: rates are the base, and nothing is known.
    pub fn forget(&mut self, now_ns: u64) {
        self.delays.forget();
        self.carried = Both::default();
        self.pairs.clear();
        self.begun_ns = now_ns;
        self.watched_until_ns = 0;
        self.ask_ns = now_ns;
        for direction in [&mut self.directions.up, &mut self.directions.down]
            .into_iter()
            .flatten()
        {
            *direction = direction.anew(now_ns);
        }
    }

    /// Closely, from the moment that there is load.
    fn watch(&mut self, now_ns: u64) {
        let is_suspect = |direction: &Option<Direction>, carried: &Carried| {
            let direction = direction.as_ref();
            direction.is_some_and(|direction| direction.is_suspect(carried))
        };
        if is_suspect(&self.directions.up, &self.carried.up)
            || is_suspect(&self.directions.down, &self.carried.down)
        {
            if now_ns >= self.watched_until_ns {
                self.ask_ns = now_ns;
            }
            self.watched_until_ns = now_ns + WATCHED_NS;
        }
    }

    /// What the line carried between two answers, if a queue stood all the while: packets that were
    /// sent between the questions have arrived between their arrivals.
    fn measure(&mut self, now_ns: u64) {
        let stood = |added_ns: [i64; 2]| added_ns.iter().all(|ns| *ns >= LOW_NS as i64);
        for pair in std::mem::take(&mut self.pairs) {
            let [first_ns, second_ns] = pair.sent_ns;
            let more_ns = pair.added_ns.up[1].saturating_sub(pair.added_ns.up[0]);
            let took_ns = ((second_ns - first_ns) as i64).saturating_add(more_ns);
            if let Some(direction) = &mut self.directions.up
                && stood(pair.added_ns.up)
                && let Some(bytes) = self.carried.up.between(first_ns, second_ns)
                && let Some(ns) = u64::try_from(took_ns).ok().filter(|ns| *ns > 0)
            {
                direction.measure(bps(bytes, ns), now_ns);
            }
            let [from_ns, to_ns] = pair.heard_ns;
            let to_ns = to_ns.min(self.carried.down.last_ns().unwrap_or(to_ns));
            if let Some(direction) = &mut self.directions.down
                && stood(pair.added_ns.down)
                && from_ns < to_ns
                && let Some(bytes) = self.carried.down.between(from_ns, to_ns)
            {
                direction.measure(bps(bytes, to_ns - from_ns), now_ns);
            }
        }
    }

    /// A delay that stays although the rate is below what the line carries is the path's.
    fn rebase(&mut self, now_ns: u64, added: Option<Both<Added>>) {
        let Some(Both { up, down }) = added else {
            return;
        };
        let is_stubborn = |direction: &Option<Direction>, added: Added| {
            let direction = direction.as_ref();
            !added.is_overdue
                && added.ns >= HIGH_NS
                && direction.is_some_and(|direction| direction.is_stubborn(now_ns))
        };
        let path = Both {
            up: is_stubborn(&self.directions.up, up),
            down: is_stubborn(&self.directions.down, down),
        };
        if !path.up && !path.down {
            return;
        }
        let of = |is_path: bool, added: Added| if is_path { added.ns } else { 0 };
        let (up_ns, down_ns) = (of(path.up, up), of(path.down, down));
        let round_trip_ns = if up.is_shared {
            up_ns.max(down_ns)
        } else {
            up_ns.saturating_add(down_ns)
        };
        self.delays.rebase(up_ns, down_ns, round_trip_ns);
        for direction in [&mut self.directions.up, &mut self.directions.down]
            .into_iter()
            .flatten()
        {
            direction.settle(now_ns);
        }
    }
}

/// In thousandths of the rate; 0 of a direction that does not change.
fn load(direction: &Option<Direction>, carried: &Carried) -> u64 {
    direction
        .as_ref()
        .map_or(0, |direction| direction.load_permille(carried))
}
