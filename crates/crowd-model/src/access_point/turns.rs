//! One queue, or one for each station, whose frames leave in turn.

use std::collections::VecDeque;

use super::{AccessPoint, AccessQueue, Content, Waiting};

/// The queues.
pub(crate) struct Turns {
    terms: AccessPoint,
    /// One for all under [`AccessQueue::Fifo`], one for each station otherwise.
    queues: Vec<VecDeque<Waiting>>,
    /// Queues with frames, in the order of their turns.
    turns: VecDeque<usize>,
    count: usize,
}

impl Turns {
    pub fn new(terms: AccessPoint, queues: usize) -> Self {
        Self {
            terms,
            queues: (0..queues).map(|_| VecDeque::new()).collect(),
            turns: VecDeque::new(),
            count: 0,
        }
    }

    fn queue_of(&self, station: usize) -> usize {
        match self.terms.queue {
            AccessQueue::Turns => station,
            _ => 0,
        }
    }

    pub fn push(&mut self, waiting: Waiting) {
        let at = self.queue_of(waiting.station);
        if self.terms.thins && self.replace(at, &waiting) {
            return;
        }
        if self.count >= self.terms.frames {
            return;
        }
        self.count += 1;
        if self.queues[at].is_empty() {
            self.turns.push_back(at);
        }
        self.queues[at].push_back(waiting);
    }

    /// Whether the last acknowledgement of the flow that waits says nothing that the new one does
    /// not.
    fn replace(&mut self, at: usize, new: &Waiting) -> bool {
        let Content::Ack(ack) = &new.content else {
            return false;
        };
        let last = self.queues[at].iter_mut().rev().find_map(|old| {
            let of_flow = old.flow == new.flow;
            match &mut old.content {
                Content::Ack(ack) if of_flow => Some(ack),
                _ => None,
            }
        });
        match last {
            Some(old) if ack.next > old.next && old.beyond.is_empty() => {
                *old = ack.clone();
                true
            }
            _ => false,
        }
    }

    pub fn pop(&mut self) -> Option<Waiting> {
        let at = self.turns.pop_front()?;
        let waiting = self.queues[at].pop_front();
        if !self.queues[at].is_empty() {
            self.turns.push_back(at);
        }
        self.count -= usize::from(waiting.is_some());
        waiting
    }

    pub fn pop_for(&mut self, station: usize) -> Option<Waiting> {
        let at = self.queue_of(station);
        let mut waiting = self.queues[at].iter();
        let place = waiting.position(|waiting| waiting.station == station)?;
        let waiting = self.queues[at].remove(place);
        if self.queues[at].is_empty() {
            self.turns.retain(|turn| *turn != at);
        }
        self.count -= usize::from(waiting.is_some());
        waiting
    }
}
