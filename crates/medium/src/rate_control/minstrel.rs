//! Minstrel (D. Smithies and F. Fietkau), as Linux had it for legacy rates in
//! net/mac80211/rc80211_minstrel.c up to 5.0.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::{Chain, Step};
use crate::Rate;

/// Measures each rate's part of acknowledged attempts, and takes the rate with the largest
/// product of that and its speed. A part of the frames samples other rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Minstrel {
    /// The time between decisions.
    pub interval_ns: u64,
    /// The part of frames that sample (`lookaround_rate_mrr`).
    pub sample_percent: u32,
    /// The length of the frame by whose air time rates are compared.
    pub frame_bytes: u32,
}

impl Minstrel {
    /// `update_interval` 100 ms, 10 %, 1200 bytes.
    pub const LEGACY: Minstrel = Minstrel {
        interval_ns: 100_000_000,
        sample_percent: 10,
        frame_bytes: 1200,
    };
    /// The same every 50 ms.
    pub const LEGACY_50_MS: Minstrel = Minstrel {
        interval_ns: 50_000_000,
        ..Self::LEGACY
    };
}

/// Probabilities are parts of this (`MINSTREL_SCALE`).
const ONE: u32 = 1 << 12;
const TENTH: u32 = ONE / 10;
const NEARLY_ONE: u32 = ONE * 95 / 100;
/// The old average counts `EWMA_LEVEL` of `EWMA_DIV`.
const EWMA_LEVEL: i64 = 96;
const EWMA_DIV: i64 = 128;
const SAMPLE_COLUMNS: usize = 10;
/// Samples in an interval at rates that are nearly sure or hopeless (`sample_limit`).
const SAMPLE_LIMIT: u32 = 4;
/// Intervals without a transmission after which a slow rate is sampled first in a frame.
const SKIPPED_MAX: u32 = 20;
const PACKETS_MAX: u32 = 10_000;
/// Of a step of the chain (`max_retry`'s default).
const TRIES_MAX: u32 = 7;
/// The longest time at one rate (`segment_size`).
const SEGMENT_NS: u64 = 6_000_000;
/// Of that time's backoffs, whatever the network has.
const SLOT_NS: u64 = 9000;
const CW_MIN: u64 = 15;
const CW_MAX: u64 = 1023;
const ACK_BYTES: u32 = 14;

#[derive(Debug, Clone)]
struct RateState {
    air_ns: u64,
    attempts: u32,
    successes: u32,
    probability: u32,
    was_tried: bool,
    throughput: u64,
    tries_max: u32,
    tries: u32,
    /// `None`: no limit.
    samples_left: Option<u32>,
    intervals_skipped: u32,
}

impl RateState {
    fn new(rates: &[Rate], rate: &Rate, frame_bytes: u32) -> Self {
        let air_ns = rate.airtime_ns(frame_bytes).max(1);
        let ack_ns = rate.airtime_ns(ACK_BYTES);
        let slow_ack_ns = rates.first().map_or(0, |rate| rate.airtime_ns(ACK_BYTES));
        let (mut tries, mut cw, mut sum_ns) = (1, CW_MIN, air_ns + slow_ack_ns);
        loop {
            sum_ns += ack_ns + air_ns + SLOT_NS * cw / 2;
            cw = (cw * 2 + 1).min(CW_MAX);
            if sum_ns >= SEGMENT_NS || tries >= TRIES_MAX {
                break;
            }
            tries += 1;
        }
        RateState {
            air_ns,
            attempts: 0,
            successes: 0,
            probability: 0,
            was_tried: false,
            throughput: 0,
            tries_max: tries,
            tries,
            samples_left: None,
            intervals_skipped: 0,
        }
    }

    fn update(&mut self) {
        if self.attempts == 0 {
            self.intervals_skipped = self.intervals_skipped.saturating_add(1);
        } else {
            self.intervals_skipped = 0;
            let now = u64::from(ONE) * u64::from(self.successes) / u64::from(self.attempts);
            let (old, now) = (i64::from(self.probability), now as i64);
            let step = (EWMA_DIV - EWMA_LEVEL) * (now - old) / EWMA_DIV;
            let average = if self.was_tried { old + step } else { now };
            self.probability = average as u32;
            self.was_tried = true;
        }
        (self.attempts, self.successes) = (0, 0);
        let is_hopeless = self.probability < TENTH;
        self.throughput = if is_hopeless {
            0
        } else {
            u64::from(self.probability) * 1_000_000_000 / self.air_ns
        };
        if is_hopeless || self.probability > NEARLY_ONE {
            self.samples_left = Some(SAMPLE_LIMIT);
            self.tries = (self.tries_max / 2).min(2);
        } else {
            self.samples_left = None;
            self.tries = self.tries_max;
        }
        if self.tries == 0 {
            self.tries = 2;
        }
    }
}

/// A rate sampled by the frame in hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sample {
    None,
    First,
    /// Only if the best rate fails.
    Deferred,
}

#[derive(Debug, Clone)]
pub(crate) struct Control {
    rules: Minstrel,
    rates: Vec<RateState>,
    best: usize,
    second: usize,
    surest: usize,
    /// Of the frame in hand.
    chain: Chain,
    sample: Sample,
    since_ns: u64,
    packets: u32,
    samples: u32,
    deferred: u32,
    /// A permutation of all rates a column.
    table: Vec<usize>,
    table_at: usize,
}

impl Control {
    pub fn new(rules: Minstrel, rates: &[Rate], random: Pcg64Mcg) -> Self {
        let states = rates
            .iter()
            .map(|rate| RateState::new(rates, rate, rules.frame_bytes))
            .collect();
        Control {
            rules,
            rates: states,
            best: 0,
            second: 0,
            surest: 0,
            chain: Chain::single(0),
            sample: Sample::None,
            since_ns: 0,
            packets: 0,
            samples: 0,
            deferred: 0,
            table: table(rates.len(), random),
            table_at: 0,
        }
    }

    pub fn rate(&self) -> usize {
        self.best
    }

    pub fn begin(&mut self, now_ns: u64) {
        self.end_sample();
        if now_ns.saturating_sub(self.since_ns) > self.rules.interval_ns {
            self.since_ns = now_ns;
            self.update();
        }
        let step = |rate: usize| Step {
            rate,
            tries: self.rates[rate].tries,
        };
        let last = Step {
            rate: 0,
            tries: TRIES_MAX,
        };
        self.chain.steps = [step(self.best), step(self.second), step(self.surest), last];
        self.plan_sample();
    }

    pub fn attempt(&self, failures: u32) -> usize {
        self.chain.rate(failures)
    }

    pub fn sent(&mut self, failures: u32, frames: u32, acknowledged: u32) {
        let rate = &mut self.rates[self.chain.rate(failures)];
        rate.attempts += frames;
        rate.successes += acknowledged;
    }

    /// The last frame is finished.
    fn end_sample(&mut self) {
        let last = std::mem::replace(&mut self.sample, Sample::None);
        self.samples += u32::from(last == Sample::Deferred);
        self.deferred = self.deferred.saturating_sub(1);
    }

    fn update(&mut self) {
        self.rates.iter_mut().for_each(RateState::update);
        let throughput = |&index: &usize| self.rates[index].throughput;
        let (mut best, mut second, mut surest) = (0, 0, 0);
        for (index, rate) in self.rates.iter().enumerate() {
            if rate.throughput > throughput(&best) {
                (best, second) = (index, best);
            } else if rate.throughput > throughput(&second) || best == second {
                second = index;
            }
            // Among rates that are nearly sure the fastest; otherwise the surest.
            let is_surer = if rate.probability >= NEARLY_ONE {
                rate.throughput >= throughput(&surest)
            } else {
                rate.probability >= self.rates[surest].probability
            };
            if is_surer {
                surest = index;
            }
        }
        (self.best, self.second, self.surest) = (best, second, surest);
    }

    fn plan_sample(&mut self) {
        self.packets += 1;
        let due = i64::from(self.packets) * i64::from(self.rules.sample_percent) / 100
            - i64::from(self.samples + self.deferred / 2);
        if due < 0 {
            return;
        }
        if self.packets >= PACKETS_MAX {
            (self.packets, self.samples, self.deferred) = (0, 0, 0);
        } else {
            // A backlog would be sent as a burst.
            let backlog = due - 2 * self.rates.len() as i64;
            self.samples += backlog.max(0) as u32;
        }
        let index = self.table[self.table_at];
        self.table_at = (self.table_at + 1) % self.table.len();
        let is_slower = self.rates[index].air_ns > self.rates[self.best].air_ns;
        let rate = &mut self.rates[index];
        let step = Step {
            rate: index,
            tries: rate.tries,
        };
        if is_slower && rate.intervals_skipped < SKIPPED_MAX {
            self.deferred += 1;
            self.sample = Sample::Deferred;
            self.chain.steps[1] = step;
        } else {
            match &mut rate.samples_left {
                Some(0) => return,
                Some(left) => *left -= 1,
                None => {}
            }
            self.samples += 1;
            self.sample = Sample::First;
            self.chain.steps[0] = step;
        }
    }
}

/// The order of samples: columns in which each rate is once.
fn table(rates: usize, mut random: Pcg64Mcg) -> Vec<usize> {
    let mut table = Vec::with_capacity(rates * SAMPLE_COLUMNS);
    for _ in 0..SAMPLE_COLUMNS {
        let mut column = vec![None; rates];
        for rate in 0..rates {
            let mut place = random.random_range(0..rates);
            while column[place].is_some() {
                place = (place + 1) % rates;
            }
            column[place] = Some(rate);
        }
        table.extend(column.into_iter().flatten());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use proptest::prelude::*;
    use rand::SeedableRng;

    const FRAME_NS: u64 = 500_000;

    struct Link {
        control: Control,
        now_ns: u64,
        random: Pcg64Mcg,
    }

    impl Link {
        fn new(seed: u64) -> Self {
            let random = Pcg64Mcg::seed_from_u64(seed);
            let rates = &Profile::dot11g().rates;
            Link {
                control: Control::new(Minstrel::LEGACY, rates, random.clone()),
                now_ns: 0,
                random,
            }
        }

        /// Frames whose attempts succeed with a probability by rate; the rates of first attempts.
        fn send(&mut self, frames: usize, percent: [u32; 8]) -> Vec<usize> {
            let mut first = Vec::new();
            for _ in 0..frames {
                self.now_ns += FRAME_NS;
                self.control.begin(self.now_ns);
                first.push(self.control.attempt(0));
                for failures in 0..7 {
                    let rate = self.control.attempt(failures);
                    let is_acknowledged = self.random.random_range(0..100) < percent[rate];
                    self.control.sent(failures, 1, u32::from(is_acknowledged));
                    if is_acknowledged {
                        break;
                    }
                }
            }
            first
        }
    }

    #[test]
    fn it_finds_the_rate_of_the_largest_throughput() {
        for (percent, best) in [
            ([100; 8], 7..=7),
            ([100, 100, 100, 100, 100, 100, 0, 0], 5..=5),
            ([100, 100, 100, 100, 100, 90, 30, 5], 5..=5),
            // Losses that are the same for all rates, as collisions are, do not slow it down;
            // 48 and 54 Mbit/s are within a tenth of each other, which is less than the noise.
            ([60; 8], 6..=7),
        ] {
            let mut link = Link::new(1);
            link.send(4000, percent);
            let first = link.send(2000, percent);
            let hits = first.iter().filter(|&rate| best.contains(rate)).count();
            assert!(hits > 1700, "{percent:?}: {hits} of 2000");
        }
    }

    #[test]
    fn a_tenth_of_the_frames_sample() {
        let mut link = Link::new(1);
        link.send(4000, [100, 100, 100, 100, 100, 100, 100, 60]);
        let samples = |link: &Link| link.control.samples;
        let before = samples(&link);
        link.send(1000, [100, 100, 100, 100, 100, 100, 100, 60]);
        let part = samples(&link) - before;
        assert!((50..=105).contains(&part), "{part}");
    }

    /// The tries at a rate fit in 6 ms with their backoffs, by hand for 54 Mbit/s.
    #[test]
    fn tries_fit_in_a_segment() {
        let link = Link::new(1);
        assert_eq!(link.control.rates[7].tries_max, 6);
        assert_eq!(link.control.rates[0].tries_max, 3);
    }

    proptest! {
        #[test]
        fn each_column_has_each_rate_once(seed in any::<u64>(), rates in 1usize..12) {
            let table = table(rates, Pcg64Mcg::seed_from_u64(seed));
            prop_assert_eq!(table.len(), rates * SAMPLE_COLUMNS);
            for column in table.chunks(rates) {
                let mut column = column.to_vec();
                column.sort_unstable();
                prop_assert!(column.into_iter().eq(0..rates));
            }
        }
    }
}
