//! The order of waiting requests: root's first, then one of each user in turn.

use std::collections::{BTreeMap, VecDeque};

pub(super) struct Turns<T> {
    waiting: VecDeque<(u32, T)>,
    /// Users that have requests waiting, and the number of each user's last turn.
    last: BTreeMap<u32, u64>,
    count: u64,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            last: BTreeMap::new(),
            count: 0,
        }
    }
}

impl<T> Turns<T> {
    pub fn push(&mut self, uid: u32, request: T) {
        self.waiting.push_back((uid, request));
    }

    /// Root's; else the oldest request of the user whose last turn was longest ago.
    pub fn pop(&mut self) -> Option<T> {
        let rank = |uid: u32| match uid {
            0 => (false, 0),
            uid => (true, self.last.get(&uid).copied().unwrap_or(0)),
        };
        let (at, uid) = { self.waiting.iter().map(|(uid, _)| *uid).enumerate() }
            .min_by_key(|(at, uid)| (rank(*uid), *at))?;
        let (_, request) = self.waiting.remove(at)?;
        self.count += 1;
        self.last.insert(uid, self.count);
        let waiting = &self.waiting;
        self.last
            .retain(|uid, _| waiting.iter().any(|(waits, _)| waits == uid));
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_comes_first_and_no_user_waits_for_all_of_anothers() {
        let mut turns = Turns::default();
        for (uid, request) in [
            (1000, "a1"),
            (1000, "a2"),
            (1000, "a3"),
            (1001, "b1"),
            (1001, "b2"),
            (0, "root"),
        ] {
            turns.push(uid, request);
        }
        let mut order = Vec::new();
        while let Some(request) = turns.pop() {
            order.push(request);
        }
        assert_eq!(order, ["root", "a1", "b1", "a2", "b2", "a3"]);
    }

    #[test]
    fn users_that_wait_no_more_are_forgotten() {
        let mut turns = Turns::default();
        for uid in 1..100 {
            turns.push(uid, uid);
            assert_eq!(turns.pop(), Some(uid));
        }
        assert!(turns.last.is_empty());
    }
}
