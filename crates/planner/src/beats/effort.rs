//! Bounds the time of a search.

/// Steps that a search may still take, each of some ten nanoseconds. With none left, a search
/// finishes the attempt that it has begun and starts no other.
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
