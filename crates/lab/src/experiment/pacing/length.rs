//! The length of a case, and whether a short run includes it.

use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub struct Length {
    full_ms: u64,
    short_ms: Option<u64>,
}

impl Length {
    pub const fn ms(full_ms: u64, short_ms: u64) -> Self {
        Self {
            full_ms,
            short_ms: Some(short_ms),
        }
    }

    /// A case that repeats another one's point with more of it, or for longer.
    pub const fn only_full_ms(full_ms: u64) -> Self {
        Self {
            full_ms,
            short_ms: None,
        }
    }

    /// `None` if this run leaves the case out.
    pub fn of(self, short: bool) -> Option<Duration> {
        let ms = if short {
            self.short_ms
        } else {
            Some(self.full_ms)
        };
        ms.map(Duration::from_millis)
    }
}
