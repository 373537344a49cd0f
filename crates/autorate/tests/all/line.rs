//! A line with a deep buffer, and hosts beyond it, a millisecond at a time.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use takt_autorate::{Answer, OneWay};

use crate::capacity::Capacity;

const MS: u64 = 1_000_000;
/// Of a mebibyte: a second at 8 Mbit/s.
const BUFFER_BYTES: f64 = 1_048_576.0;

/// One way through the line.
pub struct Way {
    capacity: Capacity,
    /// What the senders would send, in bit/s.
    pub demand_bps: f64,
    /// Senders follow the rate after so long: those of a download are a round trip away.
    pub lag_ms: usize,
    rates: VecDeque<f64>,
    queue_bytes: f64,
    came_bytes: f64,
    served_bytes: f64,
    had_bytes: f64,
    /// Sum of what came, and when: for the delay of what is served.
    marks: VecDeque<(u64, f64)>,
    pub delays_ms: Vec<f64>,
}

impl Way {
    pub fn new(capacity: Capacity, demand_bps: f64, lag_ms: usize) -> Self {
        Self {
            capacity,
            demand_bps,
            lag_ms,
            rates: VecDeque::new(),
            queue_bytes: 0.0,
            came_bytes: 0.0,
            served_bytes: 0.0,
            had_bytes: 0.0,
            marks: VecDeque::new(),
            delays_ms: Vec::new(),
        }
    }

    /// A millisecond with this rate set.
    fn pass(&mut self, ms: u64, rate_bps: f64) {
        self.rates.push_back(rate_bps);
        while self.rates.len() > self.lag_ms + 1 {
            self.rates.pop_front();
        }
        let sent_bps = self.demand_bps.min(self.rates[0]);
        let room_bytes = BUFFER_BYTES - self.queue_bytes;
        let came_bytes = (sent_bps / 8e3).min(room_bytes);
        let has_bytes = self.capacity.at(ms as usize) / 8e3;
        self.came_bytes += came_bytes;
        self.marks.push_back((ms, self.came_bytes));
        let served_bytes = (self.queue_bytes + came_bytes).min(has_bytes);
        self.queue_bytes += came_bytes - served_bytes;
        self.served_bytes += served_bytes;
        self.had_bytes += has_bytes.min(self.demand_bps / 8e3);
        while let Some((at_ms, sum)) = self.marks.front().copied() {
            if sum > self.served_bytes + 0.5 {
                break;
            }
            self.delays_ms.push((ms - at_ms) as f64);
            self.marks.pop_front();
        }
    }

    /// What passed, of what the line had for it.
    pub fn used(&self) -> f64 {
        self.served_bytes / self.had_bytes
    }

    pub fn served_bytes(&self) -> f64 {
        self.served_bytes
    }

    pub fn came_bytes(&self) -> f64 {
        self.came_bytes
    }

    /// In milliseconds.
    pub fn delay(&self, percent: f64) -> f64 {
        let mut sorted = self.delays_ms.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[((sorted.len() - 1) as f64 * percent / 100.0) as usize]
    }

    /// How long the queue is now, in milliseconds.
    pub fn queue_ms(&self, ms: u64) -> f64 {
        8e3 * self.queue_bytes / self.capacity.at(ms as usize).max(1.0)
    }
}

/// What a host beyond the line does with questions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Host {
    /// With time stamps of a clock that is so far ahead, in ms.
    Stamps(i64),
    /// Its clock jumps every second.
    Jumps,
    /// It always says the same.
    Constant,
    Echo,
    Dead,
}

struct Packet {
    host: usize,
    sent_ns: u64,
    sent_ms: u64,
    /// It is through when this much is served.
    at_bytes: f64,
    turned_ms: Option<u64>,
    stamp_ms: i64,
}

pub struct Line {
    pub up: Way,
    pub down: Way,
    hosts: Vec<Host>,
    packets: Vec<Packet>,
    random: Pcg64Mcg,
    pub ms: u64,
    pub answers: Vec<Answer>,
    pub asked: u64,
    /// What the path takes more, one way.
    pub longer_ms: f64,
}

/// Without a queue, one way.
const PATH_MS: f64 = 12.0;

impl Line {
    pub fn new(up: Way, down: Way, hosts: &[Host], seed: u64) -> Self {
        Self {
            up,
            down,
            hosts: hosts.to_vec(),
            packets: Vec::new(),
            random: Pcg64Mcg::seed_from_u64(seed),
            ms: 0,
            answers: Vec::new(),
            asked: 0,
            longer_ms: 0.0,
        }
    }

    /// From now on no host answers.
    pub fn silence(&mut self) {
        self.hosts.fill(Host::Dead);
        self.packets.clear();
        self.answers.clear();
    }

    pub fn now_ns(&self) -> u64 {
        // Clocks are not 0 when they are first read.
        (self.ms + 1_000) * MS
    }

    pub fn ask(&mut self, host: usize) {
        self.asked += 1;
        // One in two hundred is lost.
        if self.hosts[host] == Host::Dead || self.random.random_bool(0.005) {
            return;
        }
        self.packets.push(Packet {
            host,
            sent_ns: self.now_ns(),
            sent_ms: self.ms,
            at_bytes: self.up.came_bytes(),
            turned_ms: None,
            stamp_ms: 0,
        });
    }

    /// One millisecond with these rates.
    pub fn pass(&mut self, up_bps: f64, down_bps: f64) {
        self.up.pass(self.ms, up_bps);
        self.down.pass(self.ms, down_bps);
        self.ms += 1;
        let (ms, now_ns, longer_ms) = (self.ms, self.now_ns(), self.longer_ms);
        let mut answers = Vec::new();
        for packet in &mut self.packets {
            let way_ms = PATH_MS + 3.0 * packet.host as f64 + longer_ms;
            match packet.turned_ms {
                None if self.up.served_bytes() + 0.5 >= packet.at_bytes => {
                    let jitter_ms = self.random.random_range(0.0..3.0);
                    packet.turned_ms = Some(ms + (way_ms + jitter_ms) as u64);
                    packet.at_bytes = f64::INFINITY;
                }
                Some(turned_ms) if turned_ms <= ms && packet.at_bytes == f64::INFINITY => {
                    packet.at_bytes = self.down.came_bytes();
                    packet.stamp_ms = match self.hosts[packet.host] {
                        Host::Stamps(ahead_ms) => ms as i64 + ahead_ms,
                        Host::Jumps => ms as i64 + 7_000 * (ms as i64 / 1_000 % 3),
                        Host::Constant => 5_000,
                        Host::Echo | Host::Dead => 0,
                    };
                }
                Some(_) if self.down.served_bytes() + 0.5 >= packet.at_bytes => {
                    let stamps = !matches!(self.hosts[packet.host], Host::Echo | Host::Dead);
                    let back_ms = (way_ms + self.random.random_range(0.0..3.0)) as u64;
                    let heard_ns = now_ns + back_ms * MS;
                    let ns = MS as i64;
                    answers.push(Answer {
                        reflector: packet.host,
                        sent_ns: packet.sent_ns,
                        heard_ns,
                        one_way: stamps.then(|| OneWay {
                            up_ns: (packet.stamp_ms - packet.sent_ms as i64) * ns,
                            down_ns: ((ms + back_ms) as i64 - packet.stamp_ms) * ns,
                        }),
                    });
                    packet.turned_ms = Some(u64::MAX);
                }
                _ => {}
            }
        }
        self.packets
            .retain(|packet| packet.turned_ms != Some(u64::MAX));
        self.answers.extend(answers);
    }

    /// The answers that have come by now.
    pub fn heard(&mut self) -> Vec<Answer> {
        let now_ns = self.now_ns();
        let (come, left) = self
            .answers
            .drain(..)
            .partition(|answer| answer.heard_ns <= now_ns);
        self.answers = left;
        come
    }
}
