//! The lines from a house to its provider, and the rates that a gateway shapes to.

use std::time::Duration;

/// Below this a line's buffer holds a second; above, a quarter of one.
const SLOW_BPS: u64 = 2_000_000;
/// A shaper has this part of the line, so that the queue is not in the modem.
const SHAPED_PERCENT: u64 = 95;
/// Two full frames, or what the line carries in so much time: a device's burst.
const BURST_BYTES_MIN: u64 = 2 * 1514;
const BURST: Duration = Duration::from_micros(100);

/// One direction of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    pub bps: u64,
    /// What waits before it at most.
    buffer: Duration,
}

impl Way {
    pub fn shaped_bps(self) -> u64 {
        self.bps * SHAPED_PERCENT / 100
    }

    /// The modem's queue: one FIFO, by bytes, and nothing else.
    pub fn qdisc(self, device: &str) -> String {
        let bytes = |time: Duration| self.bps / 8 * time.as_micros() as u64 / 1_000_000;
        format!(
            "qdisc add dev {device} root tbf rate {}bit burst {} limit {}",
            self.bps,
            bytes(BURST).max(BURST_BYTES_MIN),
            bytes(self.buffer),
        )
    }
}

/// Its name is the rates in Mbit/s, as providers say them: `20/5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    pub name: &'static str,
    pub down: Way,
    pub up: Way,
}

impl Line {
    pub const ALL: [Self; 4] = [
        Self::new("20/5", 20_000, 5_000),
        Self::new("2/0.5", 2_000, 500),
        Self::new("100/20", 100_000, 20_000),
        Self::new("940/40", 940_000, 40_000),
    ];

    const fn new(name: &'static str, down_kbps: u64, up_kbps: u64) -> Self {
        let (down_bps, up_bps) = (down_kbps * 1000, up_kbps * 1000);
        let buffer = Duration::from_millis(if down_bps <= SLOW_BPS { 1000 } else { 250 });
        Self {
            name,
            down: Way {
                bps: down_bps,
                buffer,
            },
            up: Way {
                bps: up_bps,
                buffer,
            },
        }
    }

    #[cfg(test)]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|line| line.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_line_has_a_second_of_buffer() {
        let slow = Line::named("2/0.5").unwrap();
        assert_eq!(
            slow.down.qdisc("sub0"),
            "qdisc add dev sub0 root tbf rate 2000000bit burst 3028 limit 250000"
        );
        assert_eq!(
            slow.up.qdisc("net0"),
            "qdisc add dev net0 root tbf rate 500000bit burst 3028 limit 62500"
        );
        let fast = Line::named("940/40").unwrap();
        assert_eq!(
            fast.down.qdisc("sub0"),
            "qdisc add dev sub0 root tbf rate 940000000bit burst 11750 limit 29375000"
        );
    }

    #[test]
    fn shapers_leave_the_line_some_room() {
        let line = Line::named("20/5").unwrap();
        assert_eq!(line.down.shaped_bps(), 19_000_000);
        assert_eq!(line.up.shaped_bps(), 4_750_000);
        assert_eq!(Line::named("20"), None);
    }
}
