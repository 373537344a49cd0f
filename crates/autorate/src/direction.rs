//! The rate of one direction.

use crate::{MS, NS_PER_S, carried::Carried};

/// Delay up to this is no queue: jitter of the line, a frame before it.
pub(crate) const LOW_NS: u64 = 5 * MS;
/// Delay from this on is one.
pub(crate) const HIGH_NS: u64 = 9 * MS;
/// A queue is to be empty after this.
const DRAIN_NS: u64 = 300 * MS;
/// While a queue drains, so much of what the line carries is sent on at least.
const DRAIN_PERMILLE_MIN: u64 = 300;
/// When it is empty, this much less than the line carries, in thousandths of it. A queue that is back
/// [`SOON_NS`] later says that the line becomes slower: each one adds, up to a limit.
const ROOM_PERMILLE: u64 = 50;
const ROOM_STEP_PERMILLE: u64 = 40;
const ROOM_MAX_PERMILLE: u64 = 200;
const SOON_NS: u64 = 2 * NS_PER_S;
/// What a step lowers the rate to at least: a single wrong measurement does not end a line.
const STEP_DOWN_PERMILLE: u64 = 500;
/// While answers are late, the rate is halved so often: an answer comes after that, if any does.
const HALVE_NS: u64 = 300 * MS;
/// Of the rate, from which on the direction is loaded: senders are held back by it.
pub(crate) const LOADED_PERMILLE: u64 = 800;
/// A direction that carries less than this much of `min` is not what makes delay: the line always
/// carries `min`.
const BLAMED_PERMILLE: u64 = 800;
/// What the last [`LOAD_NS`] carried is the load.
const LOAD_NS: u64 = 300 * MS;
/// After a queue the rate is kept for so long.
const HOLD_NS: u64 = 300 * MS;
/// How fast the rate rises, in thousandths for each 100 ms: near what the line carried last, and
/// beyond that more with each step, up to a doubling in a second.
const RAISE_NEAR_PERMILLE: u64 = 8;
const RAISE_STEP_PERMILLE: u64 = 20;
const RAISE_MAX_PERMILLE: u64 = 100;
/// Up to so much of what the line carried last is near to it.
const NEAR_PERMILLE: u64 = 1_100;
/// What the line carried counts for so long.
const CAPACITY_NS: u64 = 60 * NS_PER_S;
/// Without load for so long, the rate returns to the base, by so many thousandths each 100 ms.
const IDLE_NS: u64 = 10 * NS_PER_S;
const RETURN_PERMILLE: u64 = 20;
/// A queue becomes shorter while less is sent than the line carries, and longer while more is. A delay
/// that does neither for so long, by a quarter, is the path's.
const STUBBORN_NS: u64 = NS_PER_S;
/// Less is sent: so much of what the line has carried since the delay grew.
const LESS_PERMILLE: u64 = 800;
/// Constants of raising and returning are for a step of this length.
const STEP_NS: u64 = 100 * MS;

/// How far a rate may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The line always has this.
    pub min_bps: u64,
    /// Without a measurement.
    pub base_bps: u64,
    /// At best.
    pub max_bps: u64,
}

impl Bounds {
    fn clamp(&self, bps: u64) -> u64 {
        bps.clamp(self.min_bps, self.max_bps.max(self.min_bps))
    }
}

/// Why a rate is what it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Why {
    /// Nothing speaks for another one.
    #[default]
    Held,
    /// It is used up, and delay does not grow.
    Raised,
    /// Delay has grown.
    Lowered,
    /// The line's queue is not empty yet.
    Draining,
    /// Little is sent: the rate returns to the base.
    Idle,
    /// No reflector answers: likewise.
    Unheard,
}

/// What a step knows beside the load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heard {
    /// Delay over the baseline; `None`: nothing fresh.
    pub added_ns: Option<u64>,
    /// Answers are late: it is at least so much, and nothing says yet what the line carries.
    pub is_overdue: bool,
    /// It may be the other direction's, which is loaded while this one is not.
    pub is_others: bool,
    /// No answer for long.
    pub is_silent: bool,
}

/// A queue that becomes shorter, or is to.
#[derive(Debug, Clone, Copy)]
struct Drain {
    /// The delay when it last had changed by a quarter, and when that was.
    level_ns: u64,
    changed_ns: u64,
    /// The most that the line has carried since it began.
    most_bps: u64,
}

impl Drain {
    fn new(added_ns: u64, now_ns: u64) -> Self {
        Self {
            level_ns: added_ns,
            changed_ns: now_ns,
            most_bps: 0,
        }
    }

    fn look(&mut self, added_ns: u64, now_ns: u64) {
        if 4 * added_ns > 5 * self.level_ns || 4 * added_ns < 3 * self.level_ns {
            (self.level_ns, self.changed_ns) = (added_ns, now_ns);
        }
    }
}

/// The rate of one direction.
#[derive(Debug, Clone)]
pub(crate) struct Direction {
    bounds: Bounds,
    rate_bps: u64,
    why: Why,
    /// What the line carried when there was a queue, and when that was.
    capacity: Option<(u64, u64)>,
    /// Since when its queue drains.
    drains: Option<Drain>,
    /// The rate is kept until then.
    held_until_ns: u64,
    loaded_ns: u64,
    raise_permille: u64,
    room_permille: u64,
    halved_ns: u64,
    stepped_ns: u64,
}

impl Direction {
    pub fn new(bounds: Bounds, now_ns: u64) -> Self {
        Self {
            bounds,
            rate_bps: bounds.clamp(bounds.base_bps),
            why: Why::Held,
            capacity: None,
            drains: None,
            held_until_ns: 0,
            loaded_ns: now_ns,
            raise_permille: RAISE_NEAR_PERMILLE,
            room_permille: ROOM_PERMILLE,
            halved_ns: 0,
            stepped_ns: now_ns,
        }
    }

    /// Another rate to begin with, as the process before left it.
    pub fn start_at(&mut self, rate_bps: u64) {
        self.rate_bps = self.bounds.clamp(rate_bps);
    }

    /// As at first.
    pub fn anew(&self, now_ns: u64) -> Self {
        Self::new(self.bounds, now_ns)
    }

    pub fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    pub fn why(&self) -> Why {
        self.why
    }

    /// In thousandths of the rate.
    pub fn load_permille(&self, carried: &Carried) -> u64 {
        permille(carried.bps(LOAD_NS), self.rate_bps)
    }

    /// Whether enough is carried that its queue may make delay.
    pub fn is_suspect(&self, carried: &Carried) -> bool {
        carried.bps(LOAD_NS) >= part(self.bounds.min_bps, BLAMED_PERMILLE)
    }

    /// The line has carried so much with a queue before it.
    pub fn measure(&mut self, bps: u64, now_ns: u64) {
        if let Some(drain) = &mut self.drains {
            drain.most_bps = drain.most_bps.max(bps);
        }
        let known = self.capacity.filter(|_| self.drains.is_some());
        let bps = known.map_or(bps, |(known_bps, _)| {
            (known_bps / 2).saturating_add(bps / 2)
        });
        self.capacity = Some((bps, now_ns));
    }

    /// Whether a delay has stayed although less is sent than the line carries.
    pub fn is_stubborn(&self, now_ns: u64) -> bool {
        self.drains.is_some_and(|drain| {
            now_ns.saturating_sub(drain.changed_ns) >= STUBBORN_NS
                && self.rate_bps <= part(drain.most_bps, LESS_PERMILLE)
        })
    }

    /// Delay is the path's.
    pub fn settle(&mut self, now_ns: u64) {
        self.drains = None;
        self.held_until_ns = now_ns + HOLD_NS;
    }

    pub fn step(&mut self, now_ns: u64, carried: &Carried, heard: Heard) {
        let ns = now_ns.saturating_sub(self.stepped_ns).min(NS_PER_S);
        self.stepped_ns = now_ns;
        let load = self.load_permille(carried);
        if load >= LOADED_PERMILLE {
            self.loaded_ns = now_ns;
        }
        let is_queue = |added_ns: u64, from_ns: u64| added_ns >= from_ns && !heard.is_others;
        (self.rate_bps, self.why) = match heard.added_ns {
            _ if heard.is_silent => self.return_to_base(ns, Why::Unheard),
            Some(added_ns) if is_queue(added_ns, HIGH_NS) && self.is_suspect(carried) => {
                self.drain(now_ns, added_ns, heard.is_overdue, carried)
            }
            Some(added_ns) if self.drains.is_some() => {
                if is_queue(added_ns, LOW_NS) {
                    (self.rate_bps, Why::Draining)
                } else {
                    self.restore(now_ns)
                }
            }
            Some(added_ns)
                if load >= LOADED_PERMILLE && added_ns < LOW_NS && now_ns >= self.held_until_ns =>
            {
                self.raise(now_ns, ns)
            }
            _ if now_ns.saturating_sub(self.loaded_ns) >= IDLE_NS => {
                self.return_to_base(ns, Why::Idle)
            }
            _ => (self.rate_bps, Why::Held),
        };
        self.rate_bps = self.bounds.clamp(self.rate_bps);
    }

    /// A queue stands: below what the line carries, the more the longer the queue is.
    fn drain(
        &mut self,
        now_ns: u64,
        added_ns: u64,
        is_overdue: bool,
        carried: &Carried,
    ) -> (u64, Why) {
        let begins = self.drains.is_none();
        self.drains
            .get_or_insert_with(|| Drain::new(added_ns, now_ns))
            .look(added_ns, now_ns);
        if begins {
            self.room_permille = if now_ns < self.held_until_ns + SOON_NS {
                (self.room_permille + ROOM_STEP_PERMILLE).min(ROOM_MAX_PERMILLE)
            } else {
                ROOM_PERMILLE
            };
        }
        self.raise_permille = RAISE_NEAR_PERMILLE;
        if is_overdue {
            return self.halve(now_ns, carried);
        }
        // Of this queue.
        let known =
            { self.capacity }.filter(|(_, at_ns)| now_ns.saturating_sub(*at_ns) <= NS_PER_S);
        let capacity_bps = match known {
            Some((bps, _)) => bps,
            // It is not known yet what the line carries: less than it is given.
            None if begins => part(carried.bps(LOAD_NS).min(self.rate_bps), 800),
            None => return (self.rate_bps, Why::Draining),
        };
        let drained = 1_000 - (added_ns.min(DRAIN_NS) * 1_000 / DRAIN_NS);
        let to_bps = part(capacity_bps, drained.max(DRAIN_PERMILLE_MIN));
        let least_bps = part(self.rate_bps, STEP_DOWN_PERMILLE);
        let rate_bps = to_bps.max(least_bps);
        if begins || rate_bps < self.rate_bps {
            return (rate_bps.min(self.rate_bps), Why::Lowered);
        }
        // As the queue becomes shorter, the rate comes nearer to what the line carries.
        let restored_bps = part(capacity_bps, self.restored_permille());
        (rate_bps.min(restored_bps), Why::Draining)
    }

    /// Answers are late. The line carries less than it did, and how much is not known before they come.
    fn halve(&mut self, now_ns: u64, carried: &Carried) -> (u64, Why) {
        if now_ns < self.halved_ns + HALVE_NS {
            return (self.rate_bps, Why::Draining);
        }
        self.halved_ns = now_ns;
        let sent_bps = carried.bps(LOAD_NS).min(self.rate_bps);
        (part(sent_bps, STEP_DOWN_PERMILLE), Why::Lowered)
    }

    /// The queue is empty.
    fn restore(&mut self, now_ns: u64) -> (u64, Why) {
        self.settle(now_ns);
        let capacity_bps = self.capacity.map_or(self.rate_bps, |(bps, _)| bps);
        (
            part(capacity_bps, self.restored_permille()).max(self.rate_bps),
            Why::Held,
        )
    }

    fn restored_permille(&self) -> u64 {
        1_000 - self.room_permille
    }

    fn raise(&mut self, now_ns: u64, ns: u64) -> (u64, Why) {
        let known = self
            .capacity
            .filter(|(_, at_ns)| now_ns.saturating_sub(*at_ns) < CAPACITY_NS);
        let is_near = known.is_some_and(|(bps, _)| self.rate_bps < part(bps, NEAR_PERMILLE));
        self.raise_permille = if is_near {
            RAISE_NEAR_PERMILLE
        } else {
            (self.raise_permille + RAISE_STEP_PERMILLE).min(RAISE_MAX_PERMILLE)
        };
        // Not for a time that was not watched.
        let more = scaled(part(self.rate_bps, self.raise_permille), ns.min(STEP_NS));
        (self.rate_bps.saturating_add(more), Why::Raised)
    }

    /// By bounded steps, from either side.
    fn return_to_base(&mut self, ns: u64, why: Why) -> (u64, Why) {
        self.drains = None;
        self.raise_permille = RAISE_NEAR_PERMILLE;
        let base_bps = self.bounds.base_bps;
        if self.rate_bps == base_bps {
            // Silence is said even then.
            let why = match why {
                Why::Unheard => why,
                _ => Why::Held,
            };
            return (base_bps, why);
        }
        let step_bps = scaled(part(self.rate_bps, RETURN_PERMILLE), ns).max(1);
        let rate_bps = if self.rate_bps > base_bps {
            self.rate_bps.saturating_sub(step_bps).max(base_bps)
        } else {
            self.rate_bps.saturating_add(step_bps).min(base_bps)
        };
        (rate_bps, why)
    }
}

fn part(bps: u64, permille: u64) -> u64 {
    (u128::from(bps) * u128::from(permille) / 1_000) as u64
}

fn permille(bps: u64, of_bps: u64) -> u64 {
    let permille = u128::from(bps) * 1_000;
    let permille = permille.checked_div(u128::from(of_bps));
    permille.map_or(0, |permille| u64::try_from(permille).unwrap_or(u64::MAX))
}

/// What is for [`STEP_NS`], for this time.
fn scaled(bps: u64, ns: u64) -> u64 {
    (u128::from(bps) * u128::from(ns) / u128::from(STEP_NS)) as u64
}
