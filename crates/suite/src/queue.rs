//! Which program begins next.

/// Programs of a lane do not keep those of another from beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The laboratory's tests, of which one program runs at a time: it fills the processors itself.
    Laboratory,
    /// Programs that mostly wait, which all begin at once.
    Waiting,
    /// All others.
    Busy,
}

/// The lanes of programs that have not begun, by their place in a list, and of those that run.
#[derive(Debug)]
pub struct Queue {
    waiting: Vec<(usize, Lane)>,
    running: Vec<(usize, Lane)>,
    busy_max: usize,
}

impl Queue {
    /// Of [`Lane::Busy`], `busy_max` programs run at a time, at least one.
    pub fn new(lanes: impl IntoIterator<Item = Lane>, busy_max: usize) -> Queue {
        Queue {
            waiting: lanes.into_iter().enumerate().collect(),
            running: Vec::new(),
            busy_max: busy_max.max(1),
        }
    }

    /// The next that may begin now. It runs from here on.
    pub fn begin(&mut self) -> Option<usize> {
        let at = (self.waiting.iter()).position(|&(_, lane)| self.has_room(lane))?;
        let begun = self.waiting.remove(at);
        self.running.push(begun);
        Some(begun.0)
    }

    /// Program `which` has ended.
    pub fn end(&mut self, which: usize) {
        self.running.retain(|&(running, _)| running != which);
    }

    fn has_room(&self, lane: Lane) -> bool {
        let running = self.running.iter().filter(|(_, of)| *of == lane).count();
        match lane {
            Lane::Laboratory => running == 0,
            Lane::Waiting => true,
            Lane::Busy => running < self.busy_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lane::*, *};

    fn begun(queue: &mut Queue) -> Vec<usize> {
        std::iter::from_fn(|| queue.begin()).collect()
    }

    #[test]
    fn lanes_do_not_wait_for_each_other() {
        let mut queue = Queue::new(
            [Busy, Busy, Busy, Laboratory, Laboratory, Waiting, Waiting],
            2,
        );
        assert_eq!(begun(&mut queue), [0, 1, 3, 5, 6]);
        queue.end(5);
        assert!(begun(&mut queue).is_empty());
        queue.end(1);
        queue.end(3);
        assert_eq!(begun(&mut queue), [2, 4]);
    }

    #[test]
    fn one_runs_at_least() {
        assert_eq!(begun(&mut Queue::new([Busy, Busy], 0)), [0]);
    }
}
