//! One direction of a wire: a frame at a time, whose bits take time.
//!
//! It has no clock and waits for nothing: the caller says what time it is. So it is as exact as the
//! caller's clock, be that virtual. A frame that was ready when the one before ended follows it
//! without a gap, however late the caller notices; that is what a card does, which fetches frames
//! ahead.

use std::time::Duration;

const NS_PER_S: u128 = 1_000_000_000;

/// Bits per second of a wire, over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speed {
    /// Always the same; 0: frames take no time.
    Fixed(u64),
    /// In turn, each for so long, from time 0 on.
    Steps {
        /// None is 0.
        bps: Vec<u64>,
        /// More than no time.
        each: Duration,
    },
}

impl Speed {
    /// At this time, and when it changes next.
    fn at(&self, now_ns: u64) -> (u64, Option<u64>) {
        match self {
            Self::Fixed(bps) => (*bps, None),
            Self::Steps { bps, each } => {
                let each_ns = (each.as_nanos() as u64).max(1);
                let step = now_ns / each_ns;
                let turn = (step % bps.len().max(1) as u64) as usize;
                let now_bps = bps.get(turn).copied().unwrap_or_default();
                (now_bps, Some((step + 1) * each_ns))
            }
        }
    }

    /// When a frame of so many bytes ends that begins at this time.
    fn end_ns(&self, begin_ns: u64, bytes: usize) -> u64 {
        // In billionths of a bit, so that no time is rounded before the end.
        let mut left = bytes as u128 * 8 * NS_PER_S;
        let mut now_ns = begin_ns;
        loop {
            let (bps, change_ns) = self.at(now_ns);
            if bps == 0 {
                return now_ns;
            }
            let takes_ns = left.div_ceil(u128::from(bps)) as u64;
            match change_ns {
                Some(change_ns) if now_ns + takes_ns > change_ns => {
                    left -= u128::from(bps) * u128::from(change_ns - now_ns);
                    now_ns = change_ns;
                }
                _ => return now_ns + takes_ns,
            }
        }
    }
}

/// One direction.
#[derive(Debug)]
pub struct Wire {
    speed: Speed,
    /// The frame on it.
    frame: Option<OnWire>,
    free_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct OnWire {
    begin_ns: u64,
    end_ns: u64,
    bytes: usize,
}

impl Wire {
    /// Nothing is on it.
    pub fn new(speed: Speed) -> Self {
        Self {
            speed,
            frame: None,
            free_ns: 0,
        }
    }

    /// The speed from now on, for the rest of the frame on it, too.
    pub fn set_speed(&mut self, now_ns: u64, speed: Speed) {
        if let Some(frame) = &mut self.frame {
            let sent = sent_bytes(&self.speed, frame, now_ns);
            frame.end_ns = speed.end_ns(now_ns.max(frame.begin_ns), frame.bytes - sent);
        }
        self.speed = speed;
    }

    /// Whether a frame may be sent.
    pub fn is_free(&self) -> bool {
        self.frame.is_none()
    }

    /// Sends a frame of so many bytes. `ready_ns`: since when it was there to be sent. The wire is
    /// free.
    pub fn send(&mut self, ready_ns: u64, bytes: usize) {
        let begin_ns = ready_ns.max(self.free_ns);
        self.frame = Some(OnWire {
            begin_ns,
            end_ns: self.speed.end_ns(begin_ns, bytes),
            bytes,
        });
    }

    /// When the frame on it ends.
    pub fn end_ns(&self) -> Option<u64> {
        self.frame.map(|frame| frame.end_ns)
    }

    /// The frame has ended, if its end has come: how long it has taken.
    pub fn finish(&mut self, now_ns: u64) -> Option<Duration> {
        let frame = self.frame.take_if(|frame| frame.end_ns <= now_ns)?;
        self.free_ns = frame.end_ns;
        Some(Duration::from_nanos(frame.end_ns - frame.begin_ns))
    }
}

/// Whole bytes of the frame that are through at this time: the largest number whose end is not
/// later.
fn sent_bytes(speed: &Speed, frame: &OnWire, now_ns: u64) -> usize {
    let (mut low, mut high) = (0, frame.bytes);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if speed.end_ns(frame.begin_ns, middle) <= now_ns {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn steps(bps: &[u64], ms: u64) -> Speed {
        Speed::Steps {
            bps: bps.to_vec(),
            each: Duration::from_millis(ms),
        }
    }

    #[test]
    fn frames_follow_each_other_without_a_gap() {
        let mut wire = Wire::new(Speed::Fixed(8_000_000));
        assert!(wire.is_free());
        wire.send(5, 1_000);
        assert_eq!(wire.end_ns(), Some(5 + MS));
        assert_eq!(wire.finish(4 + MS), None);
        // Noticed late: the next one was ready before.
        assert_eq!(wire.finish(9 + MS), Some(Duration::from_millis(1)));
        wire.send(6, 500);
        assert_eq!(wire.end_ns(), Some(5 + MS + MS / 2));
        wire.finish(2 * MS);
        wire.send(3 * MS, 1_000);
        assert_eq!(wire.end_ns(), Some(4 * MS));
    }

    #[test]
    fn a_frame_goes_on_at_another_speed() {
        // 1,000 bytes a millisecond, then a quarter of that.
        let speed = steps(&[8_000_000, 2_000_000], 10);
        let mut wire = Wire::new(speed);
        wire.send(9 * MS, 2_000);
        assert_eq!(wire.end_ns(), Some(14 * MS));
        wire.set_speed(12 * MS, Speed::Fixed(500_000));
        // 1,500 bytes were through.
        assert_eq!(wire.end_ns(), Some(20 * MS));
    }

    #[test]
    fn without_a_speed_frames_take_no_time() {
        let mut wire = Wire::new(Speed::Fixed(0));
        wire.send(7, 1_514);
        assert_eq!(wire.finish(7), Some(Duration::ZERO));
    }

    proptest! {
        /// However it is cut into frames and steps, a wire carries what its speed says.
        #[test]
        fn bits_take_their_time(
            frames in proptest::collection::vec(1_usize..2_000, 1..50),
            bps in proptest::collection::vec(100_000_u64..10_000_000, 1..4),
            ms in 1_u64..20,
        ) {
            let speed = steps(&bps, ms);
            let mut wire = Wire::new(speed.clone());
            let mut ended = 0;
            for bytes in &frames {
                wire.send(0, *bytes);
                ended = wire.end_ns().unwrap();
                wire.finish(ended);
            }
            let whole = speed.end_ns(0, frames.iter().sum());
            // Each end is rounded up to a nanosecond, whose bits may be sent in a slower step.
            let late_ns = frames.len() as u64 * (bps.iter().max().unwrap() / bps.iter().min().unwrap() + 1);
            prop_assert!((whole..=whole + late_ns).contains(&ended), "{whole} {ended}");
        }
    }
}
