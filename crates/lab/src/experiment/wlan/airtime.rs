//! The scheduler of current access points: mac80211's queues (net/mac80211, Linux 6.x, of a
//! driver that has airtime fairness, such as ath9k and mt76).
//!
//! A queue for each station, and turns by airtime: a station that has used more than its turn
//! waits until the others have had as much (deficit round robin over its frames' air time,
//! retries and both directions included). Within a queue CoDel, with one limit for all of them.
//! The flows of one station would share its queue fairly, too; here every station has one.

use std::collections::VecDeque;

use super::codel::Codel;

/// `IEEE80211_DEFAULT_AIRTIME_WEIGHT`: what a turn adds.
const QUANTUM_NS: i64 = 256_000;
/// 4 MB of memory for all (`ieee80211_txq_setup_flows`), a full frame takes 2304 bytes
/// of it.
const FRAMES_MAX: usize = (4 << 20) / 2304;

pub struct TxQueues {
    stations: Vec<TxQueue>,
    /// Stations with frames, in the order of their turns.
    turns: VecDeque<usize>,
    frames: usize,
}

#[derive(Default)]
struct TxQueue {
    frames: VecDeque<(Vec<u8>, u64)>,
    codel: Codel,
    deficit_ns: i64,
    /// Airtime that was already charged.
    charged_ns: u64,
}

impl TxQueues {
    pub fn new(stations: usize) -> Self {
        Self {
            stations: std::iter::repeat_with(TxQueue::default)
                .take(stations)
                .collect(),
            turns: VecDeque::new(),
            frames: 0,
        }
    }

    pub fn put(&mut self, now_ns: u64, station: usize, frame: Vec<u8>) {
        let Some(queue) = self.stations.get_mut(station) else {
            return;
        };
        if queue.frames.is_empty() {
            // A station without airtime at the head is sent to the back.
            self.turns.retain(|other| *other != station);
            self.turns.push_front(station);
        }
        queue.frames.push_back((frame, now_ns));
        self.frames += 1;
        if self.frames > FRAMES_MAX {
            self.drop_from_longest();
        }
    }

    /// The frame to send next, and its station.
    pub fn take(&mut self, now_ns: u64) -> Option<(usize, Vec<u8>)> {
        while let Some(&station) = self.turns.front() {
            let queue = &mut self.stations[station];
            if queue.deficit_ns < 0 {
                queue.deficit_ns += QUANTUM_NS;
                self.turns.rotate_left(1);
                continue;
            }
            let (frames, waiting) = (&mut queue.frames, &mut self.frames);
            let taken = queue.codel.take(now_ns, || {
                let (frame, since_ns) = frames.pop_front()?;
                *waiting -= 1;
                Some((frame, since_ns, !frames.is_empty()))
            });
            if queue.frames.is_empty() {
                self.turns.pop_front();
            }
            if let Some(frame) = taken {
                return Some((station, frame));
            }
        }
        None
    }

    /// Charges a station for its frames' air time; `busy_ns` counts from the start.
    pub fn charge(&mut self, station: usize, busy_ns: u64) {
        if let Some(queue) = self.stations.get_mut(station) {
            queue.deficit_ns -= (busy_ns - queue.charged_ns) as i64;
            queue.charged_ns = busy_ns;
        }
    }

    fn drop_from_longest(&mut self) {
        let longest = self
            .stations
            .iter_mut()
            .max_by_key(|queue| queue.frames.len());
        if let Some(queue) = longest
            && queue.frames.pop_front().is_some()
        {
            self.frames -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stations that always have frames, and the air time of one frame of each.
    fn airtime_ns(frame_ns: &[u64], frames: usize) -> Vec<u64> {
        let mut queues = TxQueues::new(frame_ns.len());
        let mut busy_ns = vec![0; frame_ns.len()];
        for station in 0..frame_ns.len() {
            queues.put(0, station, Vec::new());
        }
        for _ in 0..frames {
            let (station, frame) = queues.take(0).expect("all have frames");
            busy_ns[station] += frame_ns[station];
            queues.charge(station, busy_ns[station]);
            queues.put(0, station, frame);
        }
        busy_ns
    }

    #[test]
    fn all_have_the_same_time_whatever_a_frame_takes() {
        let busy_ns = airtime_ns(&[75_000_000, 7_000_000, 7_000_000], 5000);
        let (least, most) = (busy_ns.iter().min(), busy_ns.iter().max());
        let apart_ns = most.unwrap_or(&0) - least.unwrap_or(&0);
        assert!(apart_ns <= 2 * 75_000_000, "{busy_ns:?}");
    }

    #[test]
    fn one_alone_is_always_served() {
        assert_eq!(airtime_ns(&[75_000_000], 10), [750_000_000]);
    }

    #[test]
    fn a_station_with_too_many_frames_loses_them() {
        let mut queues = TxQueues::new(2);
        queues.put(0, 1, vec![1]);
        for _ in 0..2 * FRAMES_MAX {
            queues.put(0, 0, vec![0]);
        }
        assert_eq!(queues.frames, FRAMES_MAX);
        assert_eq!(queues.stations[1].frames.len(), 1);
    }
}
