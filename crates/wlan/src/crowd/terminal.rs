//! A terminal: it receives reports, sends its own, and keeps the law's input.

use std::net::SocketAddr;

use takt_algo::{Group, WindowTerms};
use takt_host::Datagrams;

use super::{
    Activity, Form, Member, Own,
    air::Air,
    beat::{Beat, within_ms},
    heard_rate,
    learning::Learning,
    members::{Members, gone_ns},
    report::{REPORT_BYTES, Report},
    standoff::{Look, Standoff},
    sum::{self, SUM_MAX_BYTES, SUM_MIN_BYTES, Strangers},
};
use crate::sealed::{BODY_MAX_BYTES, DATAGRAM_MAX_BYTES, Purpose, Receiver, Sender};

/// Another member's rate counts up to the own rate times this (docs/crowd-law.md, "Influence").
const LIMIT_FACTOR: u64 = 2;
/// Of a usual flow.
const SEGMENT_BYTES: u128 = 1448;
/// The group's best rate is followed by this part of the difference, and forgotten by this part, in
/// a period.
const PEAK_RISE_DIVISOR: u64 = 4;
const PEAK_FALL_DIVISOR: u64 = 256;
/// Of what is kept for aggregates more would be a queue, however many terminals there are.
const AGGREGATES_MAX_US: u64 = 50_000;
/// Reports are never older than so many periods.
const WAIT_PERIODS: usize = 4;
/// Datagrams of a sum of the most members.
const SUMS_AT_ONCE: u64 = super::MEMBERS_MAX.div_ceil(sum::ENTRIES_MAX) as u64;

/// What terminals keep in queues where devices send aggregates, in time of the air: an aggregate
/// takes up to 4 ms of it (docs/crowd-law.md, "Aggregates").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregates {
    /// By all together.
    pub all_us: u64,
    /// By each of them beyond that, for its own.
    pub each_us: u64,
}

impl Default for Aggregates {
    fn default() -> Self {
        Self {
            all_us: 6000,
            each_us: 2000,
        }
    }
}

impl Aggregates {
    fn of(&self, terminals: u64) -> u64 {
        let each_us = self.each_us.saturating_mul(terminals);
        self.all_us.saturating_add(each_us).min(AGGREGATES_MAX_US)
    }
}

/// How a terminal receives reports, and the law's parameters.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms {
    /// The aggregator; `None`: members report to each other.
    pub aggregator: Option<SocketAddr>,
    /// Parameters of the bounds.
    pub window: WindowTerms,
    /// Likewise.
    pub aggregates: Aggregates,
    /// What counts of the capacity that its network had before; 0: none.
    pub remembered_bytes_ps: u64,
}

impl Terms {
    fn form(&self) -> Form {
        match self.aggregator {
            Some(_) => Form::Aggregated,
            None => Form::Multicast,
        }
    }
}

/// One terminal's side of its group.
pub struct Terminal {
    terms: Terms,
    number: u64,
    interval_ns: u64,
    receiver: Receiver,
    sender: Sender,
    beat: Beat,
    members: Members,
    group: Group,
    learning: Learning,
    /// As the aggregator counts them, until then.
    strangers: Strangers,
    strangers_until_ns: u64,
    standoff: Standoff,
    air: Air,
    peak_bytes_ps: u64,
    /// Its own waits of the last periods.
    own_waits_us: [u32; WAIT_PERIODS],
    activity: Activity,
    /// Whether other members consider it active.
    is_known: bool,
    /// Datagrams from members about other members.
    not_its_own: u64,
}

impl Terminal {
    /// An idle terminal that knows no member. `random` places its first report within an
    /// interval.
    pub fn new(now_ns: u64, own: Own, terms: Terms, random: u32) -> Self {
        let (purpose, bodies, burst) = match terms.form() {
            Form::Multicast => (Purpose::CROWD, REPORT_BYTES..=REPORT_BYTES, 2),
            Form::Aggregated => (
                Purpose::CROWD_SUM,
                SUM_MIN_BYTES..=SUM_MAX_BYTES,
                SUMS_AT_ONCE,
            ),
        };
        let rate = heard_rate(burst);
        Self {
            terms,
            number: own.number,
            interval_ns: own.interval_ns,
            receiver: Receiver::new(own.key.clone(), purpose, bodies, rate),
            sender: Sender::new(own.key, Purpose::CROWD, own.number, own.epoch),
            beat: Beat::new(now_ns, own.interval_ns, random),
            members: Members::default(),
            group: Group::default(),
            learning: Learning::from(terms.remembered_bytes_ps),
            strangers: Strangers::default(),
            strangers_until_ns: 0,
            standoff: Standoff::default(),
            air: Air::default(),
            peak_bytes_ps: 0,
            own_waits_us: [0; WAIT_PERIODS],
            activity: Activity::default(),
            is_known: false,
            not_its_own: 0,
        }
    }

    /// Handles a datagram; returns whether a member sent it.
    pub fn hear(&mut self, now_ns: u64, from: SocketAddr, datagram: &[u8]) -> bool {
        let mut body = [0; BODY_MAX_BYTES];
        let opened = self.receiver.open(now_ns, from.ip(), datagram, &mut body);
        let Ok(opened) = opened else {
            return false;
        };
        let is_taken = match self.terms.aggregator {
            None => self.hear_report(now_ns, from, opened.sender, opened.body),
            Some(by) => by.ip() == from.ip() && self.hear_sum(now_ns, opened.body),
        };
        if !is_taken {
            self.not_its_own += 1;
        }
        is_taken
    }

    fn hear_report(&mut self, now_ns: u64, from: SocketAddr, number: u64, body: &[u8]) -> bool {
        let report = Report::from_bytes(body).filter(|_| number != self.number);
        report.is_some_and(
            |Report {
                 activity,
                 within_ms,
             }| {
                self.members
                    .hear(now_ns, number, Some(from.ip()), activity, within_ms)
            },
        )
    }

    fn hear_sum(&mut self, now_ns: u64, body: &[u8]) -> bool {
        let Some((head, entries)) = sum::read(body) else {
            return false;
        };
        let within_ms = head.within_ms;
        self.strangers = head.strangers;
        self.strangers_until_ns = gone_ns(now_ns, within_ms);
        for entry in entries.filter(|entry| entry.number != self.number) {
            self.members
                .hear(now_ns, entry.number, None, entry.activity, within_ms);
        }
        true
    }

    /// Ends a period with the terminal's activity; returns the law's input for the next one.
    pub fn period(&mut self, now_ns: u64, activity: Activity) -> Group {
        self.members.expire(now_ns);
        if now_ns > self.strangers_until_ns {
            self.strangers = Strangers::default();
        }
        let Strangers {
            count,
            rate_bytes_ps,
        } = self.strangers;
        self.group.set_strangers(count.into(), rate_bytes_ps.into());
        self.activity = activity;
        let own = u64::from(activity.rate_bytes_ps);
        let limit = LIMIT_FACTOR * own;
        self.group.forget_members();
        self.group.hear(own, limit, activity.lends);
        for (_, Member { activity, .. }) in self.members.iter() {
            self.group
                .hear(activity.rate_bytes_ps.into(), limit, activity.lends);
        }
        let wait_us = self.median_wait_us();
        self.follow_peak();
        self.own_waits_us.rotate_right(1);
        self.own_waits_us[0] = activity.wait_us;
        self.group.set_wait_us(self.unseen_wait_us(wait_us));
        let others = self.members.iter();
        let others = others.map(|(number, member)| (number, member.activity));
        let radios = others.chain([(self.number, self.activity)]);
        let retries_q10 = self.air.period(now_ns, radios);
        let look = self.look(wait_us);
        let competes_ns = self.standoff.period(now_ns, look);
        self.activity.competes = competes_ns.is_some();
        self.group.set_retries_q10(retries_q10);
        self.group.set_queue_us(self.queue_us());
        let competes_us = competes_ns.map_or(0, |ns| (ns / 1000).max(1));
        self.group.set_competes_us(competes_us);
        // A terminal that lends counts other members up to a low limit, so it cannot measure
        // the group's capacity.
        if !activity.is_idle() && !activity.lends {
            self.group.remember(&self.terms.window);
            self.learning.test();
        }
        let rate_bytes_ps = self.median_rate_bytes_ps();
        self.learning.period(&mut self.group, rate_bytes_ps);
        self.group
    }

    /// See [`Group::set_queue_us`].
    fn queue_us(&self) -> u64 {
        if self.air.has_aggregates() {
            self.terms.aggregates.of(self.group.users())
        } else {
            0
        }
    }

    /// What the group could get lately: one that others starve has no rate any more.
    fn follow_peak(&mut self) {
        let rate = self.group.rate_bytes_ps();
        self.peak_bytes_ps -= self.peak_bytes_ps / PEAK_FALL_DIVISOR;
        if rate > self.peak_bytes_ps {
            self.peak_bytes_ps += (rate - self.peak_bytes_ps) / PEAK_RISE_DIVISOR;
        }
    }

    /// Whether the queue is the group's own.
    fn look(&self, wait_us: u64) -> Look {
        let others = || {
            self.members
                .iter()
                .map(|(_, member)| member.activity.competes)
        };
        let segments_of = |bytes_ps: u64, us: u64| {
            let bytes = u128::from(bytes_ps) * u128::from(us) / 1_000_000;
            (bytes / SEGMENT_BYTES) as u64
        };
        let segments_in = |us: u64| segments_of(self.peak_bytes_ps, us);
        let terms = &self.terms.window;
        let standing_segments = terms.standing_segments().max(segments_in(self.queue_us()));
        let all = self
            .members
            .iter()
            .map(|(_, member)| member.activity.rate_bytes_ps);
        let all = all.chain([self.activity.rate_bytes_ps]).map(u64::from);
        let rate_bytes_ps: u64 = all.sum();
        let uses = !self.activity.is_idle() && !self.activity.lends;
        let kept_segments = segments_of(rate_bytes_ps, self.queue_us());
        let kept_segments = terms.standing_segments().max(kept_segments);
        let keeps = segments_of(rate_bytes_ps, wait_us) >= kept_segments / 2;
        let is_short = rate_bytes_ps < self.air.carries_bytes_ps() / 4 * 3;
        Look {
            queued_segments: segments_in(wait_us),
            standing_segments,
            rate_bytes_ps,
            is_short: uses && keeps && is_short,
            others_compete: others().any(|competes| competes),
            others_yield: others().any(|competes| !competes),
            is_protected: self.group.has_strangers(),
        }
    }

    /// What others wait, if the terminal has not waited as long lately. Their reports are older
    /// than its own round trips: while a queue empties, they tell of one that is gone.
    fn unseen_wait_us(&self, median_us: u64) -> u64 {
        let is_seen = self
            .own_waits_us
            .iter()
            .any(|own_us| u64::from(*own_us) >= median_us);
        if is_seen { 0 } else { median_us }
    }

    /// The lower median of what active members wait, itself included: fewer than half of them
    /// cannot move it beyond what an honest one reports (docs/crowd-law.md, "Influence").
    fn median_wait_us(&self) -> u64 {
        if self.activity.is_idle() {
            return 0;
        }
        self.median(|activity| Some(activity.wait_us))
    }

    /// Likewise of the rates of those that do not lend.
    fn median_rate_bytes_ps(&self) -> u64 {
        let shares = |activity: &Activity| !activity.is_idle() && !activity.lends;
        self.median(|activity| shares(activity).then_some(activity.rate_bytes_ps))
    }

    fn median(&self, of: impl Fn(&Activity) -> Option<u32>) -> u64 {
        let others = self.members.iter().map(|(_, member)| &member.activity);
        let all = others.chain([&self.activity]);
        let mut values: Vec<u32> = all.filter_map(of).collect();
        if values.is_empty() {
            return 0;
        }
        let middle = (values.len() - 1) / 2;
        let (_, median, _) = values.select_nth_unstable(middle);
        u64::from(*median)
    }

    /// The report to send now, if one is due. An idle terminal says so once and is then silent:
    /// it has no part in the shared air, and leaves the air to the others.
    pub fn report<'a>(
        &mut self,
        now_ns: u64,
        random: u32,
        datagram: &'a mut [u8; DATAGRAM_MAX_BYTES],
    ) -> Option<&'a [u8]> {
        let interval_ns = self.report_interval_ns();
        if !self.beat.strikes(now_ns, interval_ns, random) {
            return None;
        }
        let was_known = std::mem::replace(&mut self.is_known, !self.activity.is_idle());
        (was_known || self.is_known).then(|| self.seal(interval_ns, datagram))?
    }

    /// The last report, if the others consider it active.
    pub fn leave<'a>(&mut self, datagram: &'a mut [u8; DATAGRAM_MAX_BYTES]) -> Option<&'a [u8]> {
        self.activity = Activity::default();
        let was_known = std::mem::take(&mut self.is_known);
        was_known.then(|| self.seal(self.interval_ns, datagram))?
    }

    fn seal<'a>(
        &mut self,
        interval_ns: u64,
        datagram: &'a mut [u8; DATAGRAM_MAX_BYTES],
    ) -> Option<&'a [u8]> {
        let report = Report {
            activity: self.activity,
            within_ms: within_ms(interval_ns),
        };
        self.sender.seal(&report.to_bytes(), datagram)
    }

    /// When [`Self::report`] is due next.
    pub fn due_ns(&self) -> u64 {
        self.beat.due_ns()
    }

    /// The report interval with the current members.
    pub fn report_interval_ns(&self) -> u64 {
        let terminals = self.members.count() + 1;
        self.terms.form().interval_ns(self.interval_ns, terminals)
    }

    /// The other members, by number.
    pub fn members(&self) -> impl Iterator<Item = (u64, &Member)> {
        self.members.iter()
    }

    #[cfg(test)]
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Its activity in the last period.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// The strangers that the aggregator tells of; `None`: there is no aggregator.
    pub fn strangers(&self) -> Option<Strangers> {
        self.terms.aggregator.map(|_| self.strangers)
    }

    /// The law's input since that period.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// What counts of the capacity that its network had before; `None`: nothing, or no more.
    pub fn remembered_bytes_ps(&self) -> Option<u64> {
        self.learning.remembered_bytes_ps()
    }

    /// The group's capacity, once it was measured for long enough to be remembered.
    pub fn learned_bytes_ps(&self) -> Option<u64> {
        self.learning
            .is_over()
            .then(|| self.group.capacity_bytes_ps())
    }

    /// `dropped`: datagrams that the kernel dropped.
    pub fn datagrams(&self, dropped: u64) -> Datagrams {
        self.receiver.counters().told(self.not_its_own, dropped)
    }
}
