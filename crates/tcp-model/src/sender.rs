//! The sender: what is in flight, what was lost, when to send what.

use std::collections::VecDeque;

use crate::{
    Ack, Control,
    control::{Acked, State},
};

const RTO_MIN_NS: u64 = 200_000_000;
/// RFC 6298: before any round trip is known.
const RTO_FIRST_NS: u64 = 1_000_000_000;
const RTO_FACTOR_MAX: u64 = 64;
/// What a probe waits for beyond two round trips (`TCP_TIMEOUT_MIN_US`). About a single segment,
/// which the receiver may be slow to acknowledge, it waits for `RTO_MIN_NS`.
const PROBE_NS: u64 = 2_000_000;
/// Segments that may be sent before the receiver has said anything.
const FIRST_LIMIT: u64 = 44;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    InFlight,
    Arrived,
    Lost,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    sent_ns: u64,
    is_again: bool,
    fate: Fate,
    /// The state of delivery when it was sent, for its rate.
    delivered: u64,
    delivered_ns: u64,
    first_sent_ns: u64,
}

impl Segment {
    fn is_in_flight(&self) -> bool {
        self.fate == Fate::InFlight
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovery {
    Open,
    /// Until all sent before is acknowledged; the window was reduced because of a mark.
    Reduced(u64),
    /// As before; something was lost.
    Fast(u64),
    Timeout(u64),
}

/// Of congestion.
#[derive(Debug, Clone, Copy)]
enum Sign {
    Loss,
    Mark,
}

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Send {
    /// Send this segment.
    Segment(u64),
    /// Pacing holds the next one until then.
    At(u64),
    /// The window is full.
    Nothing,
}

/// The sending end.
#[derive(Debug)]
pub struct Sender {
    control: State,
    /// takt's bounds, in segments.
    pub lower: f64,
    /// As `lower`; without a bound infinite.
    pub upper: f64,
    /// The first segment that there is no data for.
    pub data_end: u64,
    /// It sends the last segment again if nothing is acknowledged for two round trips, so that
    /// what was lost with it is noticed (RFC 8985, section 7; Linux's `net.ipv4.tcp_early_retrans`,
    /// on by default).
    pub probes: bool,
    /// The end of what was sent when it did; until that is acknowledged it does not again.
    probed: Option<u64>,
    window_max: f64,
    recovery: Recovery,
    una: u64,
    flight: VecDeque<Segment>,
    pipe: u64,
    lost: u64,
    beyond: u64,
    limit: u64,
    echo_ms: u64,
    srtt_ns: f64,
    rtt_deviation_ns: f64,
    rtt_min_ns: u64,
    rto_factor: u64,
    progress_ns: u64,
    delivered_ns: u64,
    first_sent_ns: u64,
    paced_until_ns: u64,
    is_limited: bool,
    measured_ns: Option<u64>,
    delivered: u64,
    lost_total: u64,
}

impl Sender {
    /// With `initial` segments as the first window and `window_max` as the largest.
    pub fn new(control: Control, initial: u32, window_max: u32) -> Self {
        Self {
            control: State::new(control, initial.into()),
            window_max: window_max.into(),
            lower: 0.0,
            upper: f64::INFINITY,
            data_end: u64::MAX,
            probes: false,
            probed: None,
            recovery: Recovery::Open,
            una: 0,
            flight: VecDeque::new(),
            pipe: 0,
            lost: 0,
            beyond: 0,
            limit: FIRST_LIMIT,
            echo_ms: 0,
            srtt_ns: 0.0,
            rtt_deviation_ns: 0.0,
            rtt_min_ns: u64::MAX,
            rto_factor: 1,
            progress_ns: 0,
            delivered_ns: 0,
            first_sent_ns: 0,
            paced_until_ns: 0,
            is_limited: false,
            measured_ns: None,
            delivered: 0,
            lost_total: 0,
        }
    }

    /// The limit of segments in flight. takt's lower bound does not hold after a timeout.
    pub fn window(&self) -> u64 {
        let lower = if self.in_timeout() { 0.0 } else { self.lower };
        let upper = self.upper.min(self.window_max);
        self.control.window().max(lower).min(upper).max(1.0) as u64
    }

    fn in_timeout(&self) -> bool {
        matches!(self.recovery, Recovery::Timeout(_))
    }

    /// In its first slow start.
    pub fn is_starting(&self) -> bool {
        self.control.is_starting()
    }

    /// Whether the window has limited it since the last call.
    pub fn take_limited(&mut self) -> bool {
        std::mem::take(&mut self.is_limited)
    }

    /// The round trip that the last acknowledgement measured, if it did.
    pub fn last_round_trip_ns(&self) -> Option<u64> {
        self.measured_ns
    }

    /// Smoothed, RFC 6298.
    pub fn srtt_ns(&self) -> u64 {
        self.srtt_ns as u64
    }

    /// The shortest.
    pub fn rtt_min_ns(&self) -> u64 {
        self.rtt_min_ns
    }

    /// The timestamp that its segments echo, in ms.
    pub fn echo_ms(&self) -> u64 {
        self.echo_ms
    }

    /// The first segment that is not acknowledged in order.
    pub fn acknowledged(&self) -> u64 {
        self.una
    }

    /// Segments known to have arrived.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Segments considered lost, each time.
    pub fn lost_total(&self) -> u64 {
        self.lost_total
    }

    fn next(&self) -> u64 {
        self.una + self.flight.len() as u64
    }

    /// The segments that it sends in a time, at the rate that Linux would pace it with: the
    /// window in a round trip, and a fifth more, or twice as much in slow start.
    pub fn paced_in(&self, time_ns: u64) -> usize {
        let gap_ns = self.control.pacing_ns().map(|gap_ns| gap_ns as f64);
        let gap_ns = gap_ns.unwrap_or_else(|| {
            let more = if self.is_starting() { 2.0 } else { 1.2 };
            self.srtt_ns / (self.window() as f64 * more)
        });
        (time_ns as f64 / gap_ns.max(1.0)) as usize
    }

    /// The segment to send now, if the window and pacing allow one.
    pub fn send(&mut self, now_ns: u64) -> Send {
        let is_full = self.pipe >= self.window();
        self.is_limited |= is_full;
        if is_full {
            return Send::Nothing;
        }
        if self.lost == 0 && self.next() >= self.limit.min(self.data_end) {
            return Send::Nothing;
        }
        if let Some(gap_ns) = self.control.pacing_ns() {
            if now_ns < self.paced_until_ns {
                return Send::At(self.paced_until_ns);
            }
            self.paced_until_ns = self.paced_until_ns.max(now_ns.saturating_sub(gap_ns)) + gap_ns;
        }
        if self.pipe == 0 {
            self.first_sent_ns = now_ns;
            self.delivered_ns = now_ns;
        }
        if self.flight.is_empty() {
            self.progress_ns = now_ns;
        }
        self.pipe += 1;
        let segment = Segment {
            sent_ns: now_ns,
            is_again: self.lost > 0,
            fate: Fate::InFlight,
            delivered: self.delivered,
            delivered_ns: self.delivered_ns,
            first_sent_ns: self.first_sent_ns,
        };
        if self.lost > 0
            && let Some(at) = self
                .flight
                .iter()
                .position(|other| other.fate == Fate::Lost)
        {
            self.lost -= 1;
            self.flight[at] = segment;
            return Send::Segment(self.una + at as u64);
        }
        self.flight.push_back(segment);
        Send::Segment(self.next() - 1)
    }

    /// When a timeout is due if nothing is acknowledged until then.
    pub fn timeout_ns(&self) -> Option<u64> {
        let rto_ns = if self.srtt_ns == 0.0 {
            RTO_FIRST_NS
        } else {
            ((self.srtt_ns + 4.0 * self.rtt_deviation_ns) as u64).max(RTO_MIN_NS)
        };
        let rto_ns = rto_ns * self.rto_factor;
        let timeout_ns = self
            .probe_ns()
            .map_or(rto_ns, |probe_ns| probe_ns.min(rto_ns));
        (!self.flight.is_empty()).then_some(self.progress_ns + timeout_ns)
    }

    /// After which time the last segment is sent again; `None`: it is not. As in Linux
    /// (`tcp_schedule_loss_probe`).
    fn probe_ns(&self) -> Option<u64> {
        let may = self.probes && self.probed.is_none() && self.is_clean() && self.srtt_ns > 0.0;
        let alone_ns = if self.flight.len() == 1 {
            RTO_MIN_NS
        } else {
            PROBE_NS
        };
        may.then(|| (2.0 * self.srtt_ns) as u64 + alone_ns)
    }

    /// No loss is being recovered; a window that was reduced because of marks is no loss.
    fn is_clean(&self) -> bool {
        let no_loss = matches!(self.recovery, Recovery::Open | Recovery::Reduced(_));
        no_loss && self.beyond == 0
    }

    /// Nothing was acknowledged for too long: all is lost, or the last segment at first.
    pub fn time_out(&mut self, now_ns: u64) {
        if self.probe_ns().is_some() && self.flight.back().is_some_and(Segment::is_in_flight) {
            return self.probe(now_ns);
        }
        self.progress_ns = now_ns;
        self.rto_factor = (self.rto_factor * 2).min(RTO_FACTOR_MAX);
        for segment in &mut self.flight {
            if segment.fate == Fate::InFlight {
                segment.fate = Fate::Lost;
                self.lost += 1;
                self.lost_total += 1;
            }
        }
        self.pipe = 0;
        self.control.timed_out();
        self.recovery = Recovery::Timeout(self.next());
    }

    /// The last segment is to be sent again; whether it was lost is not known yet.
    fn probe(&mut self, now_ns: u64) {
        self.progress_ns = now_ns;
        self.probed = Some(self.next());
        if let Some(last) = self.flight.back_mut() {
            last.fate = Fate::Lost;
            self.lost += 1;
            self.pipe -= 1;
        }
    }

    /// An acknowledgement came. If it tells of a congestion mark, that counts as a loss, once in a
    /// round trip (RFC 3168, section 6.1.2).
    pub fn take(&mut self, now_ns: u64, ack: &Ack) {
        self.take_arrivals(now_ns, ack);
        if ack.echoes {
            self.go_on(Some(Sign::Mark));
        }
    }

    fn take_arrivals(&mut self, now_ns: u64, ack: &Ack) {
        let before = self.pipe;
        self.measured_ns = None;
        let (mut newest, mut count): (Option<Segment>, u64) = (None, 0);
        let mut arrive = |segment: &mut Segment, pipe: &mut u64, lost: &mut u64| {
            match segment.fate {
                Fate::Arrived => return,
                Fate::InFlight => *pipe -= 1,
                Fate::Lost => *lost -= 1,
            }
            segment.fate = Fate::Arrived;
            count += 1;
            if newest.is_none_or(|newest| newest.sent_ns <= segment.sent_ns) {
                newest = Some(*segment);
            }
        };
        while self.una < ack.next
            && let Some(mut segment) = self.flight.pop_front()
        {
            if segment.fate == Fate::Arrived {
                self.beyond -= 1;
            }
            arrive(&mut segment, &mut self.pipe, &mut self.lost);
            self.una += 1;
        }
        for range in &ack.beyond {
            for sequence in range.clone() {
                let Some(at) = sequence.checked_sub(self.una) else {
                    continue;
                };
                if let Some(segment) = self.flight.get_mut(at as usize)
                    && segment.fate != Fate::Arrived
                {
                    self.beyond += 1;
                    arrive(segment, &mut self.pipe, &mut self.lost);
                }
            }
        }
        self.limit = self.limit.max(ack.limit);
        self.echo_ms = ack.stamp_ms;
        let Some(newest) = newest else {
            return;
        };
        self.delivered += count;
        self.delivered_ns = now_ns;
        self.progress_ns = now_ns;
        self.rto_factor = 1;
        self.first_sent_ns = newest.sent_ns;
        let rtt_ns = (!newest.is_again).then(|| now_ns - newest.sent_ns);
        if let Some(rtt_ns) = rtt_ns {
            self.measure(rtt_ns);
        }
        let lost = self.mark_lost(newest.sent_ns);
        let is_repaired = self.probed.is_some_and(|end| self.una >= end);
        if is_repaired || lost > 0 {
            self.probed = None;
        }
        let was_lost = lost > 0 || is_repaired && newest.is_again;
        self.go_on(was_lost.then_some(Sign::Loss));
        let send_ns = newest.sent_ns - newest.first_sent_ns.min(newest.sent_ns);
        let passed_ns = (now_ns - newest.delivered_ns).max(send_ns);
        let rate = (passed_ns >= self.rtt_min_ns)
            .then(|| (self.delivered - newest.delivered) as f64 / (passed_ns as f64 / 1e9));
        self.control.acked(&Acked {
            now_ns,
            count,
            lost,
            rtt_ns,
            rtt_min_ns: self.rtt_min_ns,
            rate,
            delivered: self.delivered,
            delivered_at_send: newest.delivered,
            before,
            pipe: self.pipe,
            una: self.una,
            next: self.next(),
            is_open: self.recovery == Recovery::Open,
            in_timeout: self.in_timeout(),
            is_limited: self.is_limited,
            echoes: ack.echoes,
        });
        if self.recovery == Recovery::Open {
            self.control.raise(self.lower);
        }
        self.control.cut(self.upper.min(self.window_max));
    }

    /// RACK: sent before a segment that has arrived, so lost; segments are not reordered here.
    fn mark_lost(&mut self, newest_ns: u64) -> u64 {
        if self.beyond == 0 && self.pipe + self.lost == self.flight.len() as u64 {
            let first = self.flight.front();
            if first.is_none_or(|first| first.sent_ns >= newest_ns) {
                return 0;
            }
        }
        let mut lost = 0;
        for segment in &mut self.flight {
            if segment.fate == Fate::InFlight && segment.sent_ns < newest_ns {
                segment.fate = Fate::Lost;
                lost += 1;
            }
        }
        self.pipe -= lost;
        self.lost += lost;
        self.lost_total += lost;
        lost
    }

    fn go_on(&mut self, sign: Option<Sign>) {
        match self.recovery {
            Recovery::Reduced(until) if self.una >= until => self.recovery = Recovery::Open,
            Recovery::Fast(until) | Recovery::Timeout(until) if self.una >= until => {
                self.recovery = Recovery::Open;
                self.control.recovered();
            }
            _ => {}
        }
        self.recovery = match (sign, self.recovery) {
            (Some(Sign::Loss), Recovery::Open) => {
                self.control.lost(self.lower);
                Recovery::Fast(self.next())
            }
            // One reduction in a round trip is enough (`tcp_enter_recovery`).
            (Some(Sign::Loss), Recovery::Reduced(_)) => Recovery::Fast(self.next()),
            (Some(Sign::Mark), Recovery::Open) => {
                self.control.marked(self.lower);
                Recovery::Reduced(self.next())
            }
            (_, recovery) => recovery,
        };
    }

    /// A round trip was measured: by an acknowledgement, or by the handshake.
    pub fn measure(&mut self, rtt_ns: u64) {
        self.measured_ns = Some(rtt_ns);
        self.rtt_min_ns = self.rtt_min_ns.min(rtt_ns);
        let rtt_ns = rtt_ns as f64;
        if self.srtt_ns == 0.0 {
            (self.srtt_ns, self.rtt_deviation_ns) = (rtt_ns, rtt_ns / 2.0);
            return;
        }
        self.rtt_deviation_ns += ((self.srtt_ns - rtt_ns).abs() - self.rtt_deviation_ns) / 4.0;
        self.srtt_ns += (rtt_ns - self.srtt_ns) / 8.0;
    }
}

#[cfg(test)]
mod tests;
