//! One upload: a sender under CUBIC, bounded or not, and its receiver. It does what Linux does
//! as far as it affects rates: selective acknowledgements, losses by time (RACK), delayed
//! acknowledgements, and growth only while the window limits the sender.

use std::collections::{BTreeMap, BTreeSet};

const DELAYED_ACK_NS: u64 = 40_000_000;
const RTO_MIN_NS: u64 = 200_000_000;
/// RFC 6298: before any round trip is known.
const RTO_FIRST_NS: u64 = 1_000_000_000;
/// RFC 9438: C, and what is left of the window after a loss.
const CUBIC_C: f64 = 0.4;
const CUBIC_BETA: f64 = 0.7;
/// A round with fewer round trips does not end slow start, as in Linux.
const HYSTART_MIN_SAMPLES: u32 = 8;

/// An acknowledgement.
#[derive(Debug, Clone)]
pub struct Ack {
    /// The first missing segment.
    pub next: u64,
    /// Segments received beyond that.
    pub beyond: Vec<u64>,
}

#[derive(Debug, Default)]
pub struct Receiver {
    next: u64,
    beyond: BTreeSet<u64>,
    unacknowledged: u32,
    pub delayed_until_ns: Option<u64>,
}

impl Receiver {
    pub fn receive(&mut self, now_ns: u64, sequence: u64) -> Option<Ack> {
        let in_order = sequence == self.next && self.beyond.is_empty();
        if sequence >= self.next {
            self.beyond.insert(sequence);
        }
        while self.beyond.remove(&self.next) {
            self.next += 1;
        }
        self.unacknowledged += 1;
        if in_order && self.unacknowledged < 2 {
            self.delayed_until_ns = Some(now_ns + DELAYED_ACK_NS);
            return None;
        }
        Some(self.acknowledge())
    }

    pub fn acknowledge(&mut self) -> Ack {
        self.unacknowledged = 0;
        self.delayed_until_ns = None;
        Ack {
            next: self.next,
            beyond: self.beyond.iter().copied().collect(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    sent_ns: u64,
    is_again: bool,
    is_lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Until all sent before is acknowledged.
    Recovery(u64),
    Timeout(u64),
}

#[derive(Debug)]
pub struct Sender {
    window: f64,
    threshold: f64,
    /// Takt's bounds, in segments; CUBIC alone has none.
    pub lower: f64,
    pub upper: f64,
    state: State,
    next: u64,
    flight: BTreeMap<u64, Segment>,
    srtt_ns: f64,
    rtt_deviation_ns: f64,
    pub rtt_min_ns: u64,
    rto_factor: u64,
    progress_ns: u64,
    is_limited: bool,
    // CUBIC
    window_max: f64,
    epoch_ns: Option<u64>,
    k_s: f64,
    reno: f64,
    round_end: u64,
    round_rtt_min_ns: u64,
    round_rtts: u32,
    // Statistics
    pub rtts_ns: Vec<u64>,
    pub delivered: u64,
    pub sent_again: u64,
    pub timeouts: u64,
}

impl Sender {
    pub fn new() -> Self {
        Sender {
            window: 10.0,
            threshold: f64::INFINITY,
            lower: 0.0,
            upper: f64::INFINITY,
            state: State::Open,
            next: 0,
            flight: BTreeMap::new(),
            srtt_ns: 0.0,
            rtt_deviation_ns: 0.0,
            rtt_min_ns: u64::MAX,
            rto_factor: 1,
            progress_ns: 0,
            is_limited: false,
            window_max: 0.0,
            epoch_ns: None,
            k_s: 0.0,
            reno: 0.0,
            round_end: 0,
            round_rtt_min_ns: u64::MAX,
            round_rtts: 0,
            rtts_ns: Vec::new(),
            delivered: 0,
            sent_again: 0,
            timeouts: 0,
        }
    }

    /// The limit of segments in flight. The lower bound does not hold after a timeout.
    pub fn window(&self) -> u64 {
        let lower = match self.state {
            State::Timeout(_) => 0.0,
            _ => self.lower,
        };
        self.window.max(lower).min(self.upper).max(1.0) as u64
    }

    pub fn in_timeout(&self) -> bool {
        matches!(self.state, State::Timeout(_))
    }

    /// Whether it is in its first slow start.
    pub fn is_starting(&self) -> bool {
        self.threshold.is_infinite()
    }

    /// Whether the window has limited it since the last call.
    pub fn take_limited(&mut self) -> bool {
        std::mem::take(&mut self.is_limited)
    }

    /// The segment to send now, if the window allows one.
    pub fn send(&mut self, now_ns: u64) -> Option<u64> {
        let pipe = self.flight.values().filter(|segment| !segment.is_lost);
        let is_full = pipe.count() as u64 >= self.window();
        self.is_limited |= is_full;
        if is_full {
            return None;
        }
        let lost = self.flight.iter_mut().find(|(_, segment)| segment.is_lost);
        if let Some((sequence, segment)) = lost {
            *segment = Segment {
                sent_ns: now_ns,
                is_again: true,
                is_lost: false,
            };
            self.sent_again += 1;
            return Some(*sequence);
        }
        if self.flight.is_empty() {
            self.progress_ns = now_ns;
        }
        let segment = Segment {
            sent_ns: now_ns,
            is_again: false,
            is_lost: false,
        };
        self.flight.insert(self.next, segment);
        self.next += 1;
        Some(self.next - 1)
    }

    pub fn timeout_ns(&self) -> Option<u64> {
        let rto_ns = match self.srtt_ns == 0.0 {
            true => RTO_FIRST_NS,
            false => ((self.srtt_ns + 4.0 * self.rtt_deviation_ns) as u64).max(RTO_MIN_NS),
        };
        (!self.flight.is_empty()).then_some(self.progress_ns + rto_ns * self.rto_factor)
    }

    pub fn time_out(&mut self, now_ns: u64) {
        self.timeouts += 1;
        self.progress_ns = now_ns;
        self.rto_factor = (self.rto_factor * 2).min(64);
        for segment in self.flight.values_mut() {
            segment.is_lost = true;
        }
        self.reduce();
        self.window = 1.0;
        self.state = State::Timeout(self.next);
    }

    pub fn take(&mut self, now_ns: u64, ack: &Ack) {
        let mut newest_ns = None;
        let mut rtt_ns = None;
        let mut count = 0;
        let arrived: Vec<u64> = self
            .flight
            .keys()
            .copied()
            .filter(|sequence| *sequence < ack.next || ack.beyond.binary_search(sequence).is_ok())
            .collect();
        for sequence in arrived {
            let Some(segment) = self.flight.remove(&sequence) else {
                continue;
            };
            count += 1;
            newest_ns = newest_ns.max(Some(segment.sent_ns));
            if !segment.is_again {
                rtt_ns = Some(now_ns - segment.sent_ns);
            }
        }
        if count == 0 {
            return;
        }
        self.delivered += count;
        self.progress_ns = now_ns;
        self.rto_factor = 1;
        if let Some(rtt_ns) = rtt_ns {
            self.measure(rtt_ns);
        }
        // Segments are not reordered here.
        let mut is_loss = false;
        for segment in self.flight.values_mut() {
            let is_overtaken = newest_ns.is_some_and(|newest_ns| segment.sent_ns < newest_ns);
            is_loss |= is_overtaken && !segment.is_lost;
            segment.is_lost |= is_overtaken;
        }
        self.go_on(ack.next, is_loss);
        if self.state == State::Open && self.is_limited || self.in_timeout() {
            self.grow(now_ns, count as f64);
        }
        self.window = self.window.min(self.upper.max(2.0));
    }

    fn go_on(&mut self, acknowledged: u64, is_loss: bool) {
        match self.state {
            State::Recovery(until) | State::Timeout(until) if acknowledged >= until => {
                self.state = State::Open;
            }
            _ => {}
        }
        if is_loss && self.state == State::Open {
            self.reduce();
            self.window = self.threshold;
            self.state = State::Recovery(self.next);
        }
    }

    fn measure(&mut self, rtt_ns: u64) {
        self.rtts_ns.push(rtt_ns);
        self.rtt_min_ns = self.rtt_min_ns.min(rtt_ns);
        self.round_rtt_min_ns = self.round_rtt_min_ns.min(rtt_ns);
        self.round_rtts += 1;
        let rtt_ns = rtt_ns as f64;
        if self.srtt_ns == 0.0 {
            (self.srtt_ns, self.rtt_deviation_ns) = (rtt_ns, rtt_ns / 2.0);
            return;
        }
        self.rtt_deviation_ns += ((self.srtt_ns - rtt_ns).abs() - self.rtt_deviation_ns) / 4.0;
        self.srtt_ns += (rtt_ns - self.srtt_ns) / 8.0;
    }

    fn reduce(&mut self) {
        let is_falling = self.window < self.window_max;
        self.window_max = match is_falling {
            true => self.window * (1.0 + CUBIC_BETA) / 2.0,
            false => self.window,
        };
        self.threshold = (self.window * CUBIC_BETA).max(2.0).max(self.lower);
        self.epoch_ns = None;
    }

    fn grow(&mut self, now_ns: u64, count: f64) {
        if self.window < self.threshold {
            self.window += count;
            self.hystart();
            return;
        }
        let epoch_ns = *self.epoch_ns.get_or_insert_with(|| {
            self.window_max = self.window_max.max(self.window);
            self.k_s = ((self.window_max - self.window) / CUBIC_C).cbrt();
            self.reno = self.window;
            now_ns
        });
        let since_s = (now_ns - epoch_ns) as f64 / 1e9 + self.rtt_min_ns as f64 / 1e9;
        let cubic = CUBIC_C * (since_s - self.k_s).powi(3) + self.window_max;
        self.reno += 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA) * count / self.window;
        let target = cubic.max(self.reno).clamp(self.window, self.window * 1.5);
        self.window += (target - self.window) / self.window * count;
    }

    /// Leaves slow start when a round's least RTT rises (as Linux does by delay).
    fn hystart(&mut self) {
        let Some((first, _)) = self.flight.first_key_value() else {
            return;
        };
        if *first < self.round_end {
            return;
        }
        let slack_ns = (self.rtt_min_ns / 8).clamp(4_000_000, 16_000_000);
        if self.window >= 16.0
            && self.round_rtts >= HYSTART_MIN_SAMPLES
            && self.round_rtt_min_ns > self.rtt_min_ns + slack_ns
        {
            self.threshold = self.window;
        }
        self.round_end = self.next;
        self.round_rtt_min_ns = u64::MAX;
        self.round_rtts = 0;
    }
}
