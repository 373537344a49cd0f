//! Classes that take turns: a sorted set, and whose turn it is (`struct htb_prio`). The turn is kept
//! while its class is away.

use std::{collections::BTreeSet, ops::Bound};

#[derive(Debug, Default)]
pub(super) struct Turns {
    classes: BTreeSet<usize>,
    /// Whose turn it is; `None`: the list is at its end, or the class is away.
    current: Option<usize>,
    /// The class that is away.
    left: Option<usize>,
}

impl Turns {
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    pub fn insert(&mut self, class: usize) {
        self.classes.insert(class);
    }

    /// A class leaves, and with it its turn (`htb_remove_class_from_row`).
    pub fn remove(&mut self, class: usize) {
        if self.current == Some(class) {
            self.advance();
        }
        self.classes.remove(&class);
    }

    /// A class leaves, and keeps its turn (`htb_deactivate_prios`).
    pub fn forget(&mut self, class: usize) {
        if self.current == Some(class) {
            self.current = None;
            self.left = Some(class);
        }
        self.classes.remove(&class);
    }

    /// Whose turn it is: of the class that was away, or the next after it. `None` at the end.
    pub fn current(&mut self) -> Option<usize> {
        if let Some(left) = self.left.take()
            && self.current.is_none()
        {
            self.current = self.classes.range(left..).next().copied();
        }
        self.current
    }

    /// From the end to the first.
    pub fn rewind(&mut self) {
        self.current = self.classes.first().copied();
    }

    /// The next one's turn. `None` if there was no turn; the end is not told from that.
    pub fn advance(&mut self) -> Option<()> {
        let after = (Bound::Excluded(self.current?), Bound::Unbounded);
        self.current = self.classes.range(after).next().copied();
        Some(())
    }
}
