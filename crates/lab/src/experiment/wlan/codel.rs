//! CoDel (RFC 8289), in Linux's version: drops frames at the head of a queue that have waited
//! too long for too long.

/// mac80211's parameters for stations slower than 6 Mbit/s per station, as all are on the lab's
/// air (`sta_update_codel_params`).
const TARGET_NS: u64 = 50_000_000;
const INTERVAL_NS: u64 = 300_000_000;

#[derive(Debug, Clone, Default)]
pub struct Codel {
    is_dropping: bool,
    /// When the head will have waited too long for an interval; 0: it does not.
    first_above_ns: u64,
    drop_next_ns: u64,
    count: u32,
    last_count: u32,
}

impl Codel {
    /// Takes a queue's next frame from `next`, which returns the frame's time of arrival with
    /// it, and whether more than one full frame is queued behind it.
    pub fn take<T>(
        &mut self,
        now_ns: u64,
        mut next: impl FnMut() -> Option<(T, u64, bool)>,
    ) -> Option<T> {
        let mut head = self.look(now_ns, next());
        if self.is_dropping {
            self.is_dropping = head.is_too_late;
            while self.is_dropping && now_ns >= self.drop_next_ns {
                self.count += 1;
                head = self.look(now_ns, next());
                self.is_dropping = head.is_too_late;
                if self.is_dropping {
                    self.drop_next_ns = self.after(self.drop_next_ns);
                }
            }
        } else if head.is_too_late {
            head = self.look(now_ns, next());
            self.begin(now_ns);
        }
        head.frame
    }

    fn look<T>(&mut self, now_ns: u64, found: Option<(T, u64, bool)>) -> Head<T> {
        let Some((frame, since_ns, is_followed)) = found else {
            self.first_above_ns = 0;
            return Head {
                frame: None,
                is_too_late: false,
            };
        };
        let mut is_too_late = false;
        if now_ns.saturating_sub(since_ns) < TARGET_NS || !is_followed {
            self.first_above_ns = 0;
        } else if self.first_above_ns == 0 {
            self.first_above_ns = now_ns + INTERVAL_NS;
        } else {
            is_too_late = now_ns > self.first_above_ns;
        }
        Head {
            frame: Some(frame),
            is_too_late,
        }
    }

    /// Drops from now on, at the last rate if that was not long ago.
    fn begin(&mut self, now_ns: u64) {
        const RECENT_NS: u64 = 16 * INTERVAL_NS;
        let more = self.count.saturating_sub(self.last_count);
        let is_recent = now_ns.saturating_sub(self.drop_next_ns) < RECENT_NS;
        self.count = if more > 1 && is_recent { more } else { 1 };
        self.last_count = self.count;
        self.drop_next_ns = self.after(now_ns);
        self.is_dropping = true;
    }

    fn after(&self, from_ns: u64) -> u64 {
        from_ns + (INTERVAL_NS as f64 / f64::from(self.count.max(1)).sqrt()) as u64
    }
}

struct Head<T> {
    frame: Option<T>,
    is_too_late: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The number of frames dropped in this many seconds of a queue in which every frame has
    /// waited for this long, one frame every 10 ms.
    fn dropped(waited_ms: u64, seconds: u64) -> u32 {
        let mut codel = Codel::default();
        let mut asked = 0;
        for frame in 0..seconds * 100 {
            let now_ns = (1000 + frame * 10) * MS;
            let taken = codel.take(now_ns, || {
                asked += 1;
                Some(((), now_ns - waited_ms * MS, true))
            });
            assert!(taken.is_some());
        }
        asked - seconds as u32 * 100
    }

    #[test]
    fn what_does_not_wait_long_is_not_dropped() {
        assert_eq!(dropped(49, 10), 0);
    }

    #[test]
    fn what_stands_is_dropped_faster_and_faster() {
        // The nth drop comes 300 ms / √n after the one before: n of them take about 600 ms · √n
        // - 438 ms.
        assert_eq!(dropped(200, 3), 27);
        assert_eq!(dropped(200, 6), 104);
    }

    #[test]
    fn the_last_frame_is_not_dropped() {
        let mut codel = Codel::default();
        for frame in 0..1000 {
            let now_ns = (1000 + frame * 10) * MS;
            let mut asked = 0;
            codel.take(now_ns, || {
                asked += 1;
                Some(((), 0, false))
            });
            assert_eq!(asked, 1);
        }
    }
}
