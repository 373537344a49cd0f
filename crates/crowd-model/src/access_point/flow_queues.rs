//! A queue for each flow, with turns and drops as in RFC 8290.

use std::collections::VecDeque;

use takt_algo::{Codel, CodelTerms, sys::TAKT_FLOW_QUANTUM};

use super::Waiting;

#[derive(Default)]
struct FlowQueue {
    /// With the times at which they came.
    frames: VecDeque<(u64, Waiting)>,
    bytes: u64,
    /// Of its turn; below zero, frames have left out of turn.
    credit_bytes: i64,
    is_listed: bool,
    codel: Codel,
}

/// The queues.
pub(crate) struct FlowQueues {
    codel: CodelTerms,
    frames_max: usize,
    queues: Vec<FlowQueue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    count: usize,
    bytes: u64,
}

impl FlowQueues {
    pub fn new(codel: CodelTerms, frames_max: usize, flows: usize) -> Self {
        Self {
            codel,
            frames_max,
            queues: (0..flows).map(|_| FlowQueue::default()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            count: 0,
            bytes: 0,
        }
    }

    pub fn push(&mut self, now_ns: u64, waiting: Waiting) {
        let (flow, bytes) = (waiting.flow, waiting.content.bytes());
        let queue = &mut self.queues[flow];
        queue.frames.push_back((now_ns, waiting));
        queue.bytes += u64::from(bytes);
        self.bytes += u64::from(bytes);
        self.count += 1;
        if !queue.is_listed {
            queue.is_listed = true;
            queue.credit_bytes = TAKT_FLOW_QUANTUM.into();
            self.new.push_back(flow);
        }
        if self.count > self.frames_max {
            let longest = (0..self.queues.len()).max_by_key(|flow| self.queues[*flow].bytes);
            longest.and_then(|flow| self.take(flow));
        }
    }

    pub fn pop(&mut self, now_ns: u64) -> Option<Waiting> {
        loop {
            let is_new = !self.new.is_empty();
            let flow = *self.new.front().or(self.old.front())?;
            let queue = &mut self.queues[flow];
            if queue.credit_bytes <= 0 {
                queue.credit_bytes += i64::from(TAKT_FLOW_QUANTUM);
                self.leave_front(is_new);
                self.old.push_back(flow);
            } else if let Some(waiting) = self.pop_of(now_ns, flow) {
                return Some(waiting);
            } else {
                self.leave_front(is_new);
                if is_new && !self.old.is_empty() {
                    self.old.push_back(flow);
                } else {
                    self.queues[flow].is_listed = false;
                }
            }
        }
    }

    /// Its bytes count in its next turns.
    pub fn pop_for(&mut self, now_ns: u64, station: usize) -> Option<Waiting> {
        for flow in 0..self.queues.len() {
            let first = self.queues[flow].frames.front();
            if first.is_some_and(|(_, waiting)| waiting.station == station)
                && let Some(waiting) = self.pop_of(now_ns, flow)
            {
                return Some(waiting);
            }
        }
        None
    }

    fn leave_front(&mut self, is_new: bool) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.pop_front();
    }

    /// The flow's first frame that CoDel leaves.
    fn pop_of(&mut self, now_ns: u64, flow: usize) -> Option<Waiting> {
        while let Some((came_ns, waiting)) = self.take(flow) {
            let behind_bytes = self.bytes;
            let queue = &mut self.queues[flow];
            let sojourn_ns = now_ns - came_ns;
            if !queue
                .codel
                .drops(&self.codel, sojourn_ns, behind_bytes, now_ns)
            {
                queue.credit_bytes -= i64::from(waiting.content.bytes());
                return Some(waiting);
            }
        }
        self.queues[flow].codel.empty();
        None
    }

    fn take(&mut self, flow: usize) -> Option<(u64, Waiting)> {
        let queue = &mut self.queues[flow];
        let (came_ns, waiting) = queue.frames.pop_front()?;
        let bytes = u64::from(waiting.content.bytes());
        queue.bytes -= bytes;
        self.bytes -= bytes;
        self.count -= 1;
        Some((came_ns, waiting))
    }
}
