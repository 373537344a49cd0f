//! The counters of an epoch that were received: the newest, and those shortly before it.

/// Datagrams may be reordered by up to this many.
const SIZE: u64 = 64;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Window {
    newest: u64,
    /// Bit k: `newest - k` was received.
    seen: u64,
}

impl Window {
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// Whether this counter was not received yet, as far as is known. Counters begin at 1.
    pub fn is_new(&self, counter: u64) -> bool {
        match self.newest.checked_sub(counter) {
            None => true,
            Some(age) => counter > 0 && age < SIZE && self.seen >> age & 1 == 0,
        }
    }

    pub fn mark(&mut self, counter: u64) {
        match self.newest.checked_sub(counter) {
            None => {
                let step = counter - self.newest;
                self.seen = if step < SIZE { self.seen << step } else { 0 } | 1;
                self.newest = counter;
            }
            Some(age) if age < SIZE => self.seen |= 1 << age,
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_counter_is_new_once(
            counters in prop::collection::vec(prop_oneof![8 => 0..300u64, 1 => any::<u64>()], 1..400),
        ) {
            let (mut window, mut seen) = (Window::default(), BTreeSet::new());
            for counter in counters {
                let newest = seen.last().copied().unwrap_or(0);
                let is_new = counter > 0 && !seen.contains(&counter) && counter.saturating_add(SIZE) > newest;
                prop_assert_eq!(window.is_new(counter), is_new);
                if is_new {
                    window.mark(counter);
                    seen.insert(counter);
                }
            }
        }
    }
}
