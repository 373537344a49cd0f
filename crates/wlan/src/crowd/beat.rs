//! When a host sends: about every interval, and not repeatedly at the same time as other hosts.

/// Each distance is the interval more or less a fifth.
const JITTER_DIVISOR: u64 = 5;
const NS_PER_MS: u64 = 1_000_000;

#[derive(Debug)]
pub struct Beat {
    due_ns: u64,
}

impl Beat {
    /// The first moment is within an interval.
    pub fn new(now_ns: u64, interval_ns: u64, random: u32) -> Self {
        Self {
            due_ns: now_ns.saturating_add(part(interval_ns, random)),
        }
    }

    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Whether it is time. The next moment is then about an interval from now.
    pub fn strikes(&mut self, now_ns: u64, interval_ns: u64, random: u32) -> bool {
        if now_ns < self.due_ns {
            return false;
        }
        let jitter_ns = interval_ns / JITTER_DIVISOR;
        let wait_ns = interval_ns - jitter_ns + part(2 * jitter_ns, random);
        self.due_ns = now_ns.saturating_add(wait_ns);
        true
    }
}

/// The longest distance, in whole milliseconds; reports announce it.
pub fn within_ms(interval_ns: u64) -> u16 {
    let longest_ns = interval_ns + interval_ns / JITTER_DIVISOR;
    longest_ns.div_ceil(NS_PER_MS).min(u16::MAX.into()) as u16
}

fn part(of_ns: u64, random: u32) -> u64 {
    ((u128::from(of_ns) * u128::from(random)) >> 32) as u64
}
