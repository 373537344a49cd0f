//! So that a search comes to its end.

/// Steps that a search may still take, each of some ten nanoseconds. What has none left goes on to
/// the end of what it has begun, and does not try again.
pub(super) struct Effort(u64);

impl Effort {
    pub fn new(steps: u64) -> Effort {
        Effort(steps)
    }

    pub fn take(&mut self, steps: usize) {
        self.0 = self.0.saturating_sub(steps as u64);
    }

    pub fn is_spent(&self) -> bool {
        self.0 == 0
    }
}
