//! The access point's queue towards the stations.

use std::collections::VecDeque;

use crate::tcp::Ack;

/// What the access point does with frames that wait for the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessPoint {
    /// The order of frames.
    pub queue: AccessQueue,
    /// Frames that may wait; others are dropped.
    pub frames: usize,
    /// An older acknowledgement that waits is replaced by a newer one of its flow.
    pub thins: bool,
    /// It tells members how many others upload, and what they get.
    pub counts_strangers: bool,
}

/// The order in which frames of different flows leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessQueue {
    /// The one that came first.
    Fifo,
    /// A frame of each station in turn; an emptied queue goes behind those that wait.
    Turns,
}

impl Default for AccessPoint {
    /// A Linux device with a plain queue of its usual length.
    fn default() -> Self {
        Self {
            queue: AccessQueue::Fifo,
            frames: 1000,
            thins: false,
            counts_strangers: false,
        }
    }
}

/// A frame for a station.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub station: usize,
    pub flow: usize,
    pub content: Content,
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    Data(u64),
    Ack(Ack),
}

/// The queue.
pub(crate) struct Queue {
    terms: AccessPoint,
    /// One for all under [`AccessQueue::Fifo`], one for each station otherwise.
    queues: Vec<VecDeque<Waiting>>,
    /// Queues with frames, in the order of their turns.
    turns: VecDeque<usize>,
    count: usize,
}

impl Queue {
    pub fn new(terms: AccessPoint, stations: usize) -> Self {
        let queues = match terms.queue {
            AccessQueue::Fifo => 1,
            AccessQueue::Turns => stations,
        };
        Self {
            terms,
            queues: (0..queues).map(|_| VecDeque::new()).collect(),
            turns: VecDeque::new(),
            count: 0,
        }
    }

    pub fn push(&mut self, waiting: Waiting) {
        let at = match self.terms.queue {
            AccessQueue::Fifo => 0,
            AccessQueue::Turns => waiting.station,
        };
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
}
