//! The radio process's counters.

use super::nodes::is_of_port;
use super::script::{AirStatistics, Script, Statistics, Way};

/// A frame's direction, seen from the access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Down,
    Up,
}

/// By station's index. Times are the medium's.
#[derive(Debug)]
pub struct Ledger {
    interval_ns: u64,
    reports_port: Option<u16>,
    /// The part of the air's busy time that is already counted.
    busy_ns: u64,
    pub statistics: Statistics,
}

impl Ledger {
    pub fn new(script: &Script) -> Self {
        let mut statistics = Statistics::default();
        statistics
            .stations
            .resize_with(script.stations().count(), Default::default);
        Self {
            // An interval of zero would need one entry for every nanosecond.
            interval_ns: (script.interval.as_nanos() as u64).max(1_000_000),
            reports_port: script.reports_port,
            busy_ns: 0,
            statistics,
        }
    }

    pub fn way(&mut self, station: usize, direction: Direction) -> Option<&mut Way> {
        let station = self.statistics.stations.get_mut(station)?;
        Some(match direction {
            Direction::Down => &mut station.down,
            Direction::Up => &mut station.up,
        })
    }

    /// A transmitter has taken a frame.
    pub fn taken(&mut self, station: usize, direction: Direction, at_ns: u64) {
        let interval = (at_ns / self.interval_ns) as usize;
        if let Some(way) = self.way(station, direction) {
            way.frames += 1;
            *place(&mut way.frames_per_interval, interval) += 1;
        }
    }

    /// A frame has arrived; `taken` says whether the receiving device took it.
    pub fn delivered(
        &mut self,
        station: usize,
        direction: Direction,
        at_ns: u64,
        bytes: usize,
        taken: bool,
    ) {
        let interval = (at_ns / self.interval_ns) as usize;
        let Some(way) = self.way(station, direction) else {
            return;
        };
        if !taken {
            way.no_room += 1;
            return;
        }
        way.delivered_frames += 1;
        way.delivered_bytes += bytes as u64;
        *place(&mut way.bytes_per_interval, interval) += bytes as u64;
    }

    /// The air has finished a frame, which took `air_ns` of it; `busy_ns` counts from the
    /// start.
    pub fn done(&mut self, at_ns: u64, frame: &[u8], air_ns: u64, busy_ns: u64) {
        let interval = (at_ns / self.interval_ns) as usize;
        let air = place(&mut self.statistics.air, interval);
        air.busy_ns += busy_ns - self.busy_ns;
        air.frames += 1;
        self.busy_ns = busy_ns;
        if self
            .reports_port
            .is_some_and(|port| is_of_port(frame, port))
        {
            air.reports += 1;
            air.reports_ns += air_ns;
        }
    }

    /// The access point's transmitter got its next frame this long after it was free.
    pub fn gap(&mut self, gap_ns: u64) {
        /// Longer ones are pauses: there was no frame.
        const GAP_MAX_NS: u64 = 1_000_000;
        if gap_ns > GAP_MAX_NS {
            return;
        }
        let statistics = &mut self.statistics;
        statistics.gaps += 1;
        statistics.gap_sum_ns += gap_ns;
        statistics.gap_max_ns = statistics.gap_max_ns.max(gap_ns);
    }

    /// Every interval has a figure, also if it is 0.
    pub fn close(mut self, now_ns: u64) -> Statistics {
        let intervals = now_ns.div_ceil(self.interval_ns) as usize;
        self.statistics.length_ns = now_ns;
        self.statistics
            .air
            .resize(intervals, AirStatistics::default());
        for station in &mut self.statistics.stations {
            for way in [&mut station.down, &mut station.up] {
                way.bytes_per_interval.resize(intervals, 0);
                way.frames_per_interval.resize(intervals, 0);
            }
        }
        self.statistics
    }
}

/// An interval's figure, created if needed.
fn place<T: Copy + Default>(figures: &mut Vec<T>, interval: usize) -> &mut T {
    if figures.len() <= interval {
        figures.resize(interval + 1, T::default());
    }
    &mut figures[interval]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::experiment::wlan::script::{Cards, Motion, StationScript, Waiting};

    fn ledger(stations: usize, interval_s: u64) -> Ledger {
        let station = StationScript {
            motion: Motion::Still { snr_centidb: 3000 },
            rate: None,
        };
        Ledger::new(&Script {
            profile: String::new(),
            seed: 1,
            stations: vec![station; stations],
            wire_delay: Duration::ZERO,
            wire_loss_ppm: 0,
            interval: Duration::from_secs(interval_s),
            reports: None,
            waiting: Waiting::Qdisc,
            cards: Cards::Tap,
            reports_port: Some(7642),
        })
    }

    #[test]
    fn bytes_are_told_for_every_interval() {
        let mut ledger = ledger(2, 3);
        for (at_s, bytes) in [(0, 100), (2, 50), (7, 1)] {
            ledger.delivered(1, Direction::Down, at_s * 1_000_000_000, bytes, true);
        }
        ledger.delivered(1, Direction::Down, 1, 999, false);
        ledger.delivered(9, Direction::Up, 1, 999, true);
        let statistics = ledger.close(11_000_000_000);
        let way = &statistics.stations[1].down;
        assert_eq!(way.bytes_per_interval, [150, 0, 1, 0]);
        assert_eq!(
            (way.delivered_bytes, way.delivered_frames, way.no_room),
            (151, 3, 1)
        );
        assert_eq!(statistics.stations[0].up.bytes_per_interval, [0; 4]);
    }

    #[test]
    fn frames_in_hand_are_told_for_every_interval() {
        let mut ledger = ledger(1, 1);
        for at_ns in [0, 1, 1_000_000_000] {
            ledger.taken(0, Direction::Down, at_ns);
        }
        let statistics = ledger.close(3_000_000_000);
        let way = &statistics.stations[0].down;
        assert_eq!(way.frames_per_interval, [2, 1, 0]);
        assert_eq!(way.frames, 3);
    }

    #[test]
    fn reports_are_told_apart() {
        let mut ledger = ledger(1, 1);
        let mut report = vec![0; 12];
        report.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0]);
        report.extend([0; 8]);
        report.extend([0, 9, 0x1d, 0xda]);
        ledger.done(500, &report, 70, 70);
        ledger.done(600, &[0; 60], 30, 100);
        ledger.done(1_000_000_000, &report, 70, 150);
        let told: Vec<_> = ledger.close(2_000_000_000).air;
        let told = told
            .iter()
            .map(|one| (one.busy_ns, one.frames, one.reports, one.reports_ns));
        assert_eq!(told.collect::<Vec<_>>(), [(100, 2, 1, 70), (50, 1, 1, 70)]);
    }
}
