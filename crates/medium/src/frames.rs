//! The frames in a transmitter's hand: one, or those of an aggregate (802.11n-2009, 7.4a and
//! 9.10), in the order in which the receiver passes them on.

use std::collections::VecDeque;

use crate::{Frame, Outcome, Profile};

/// How many frames for one receiver go in one transmission (A-MPDU). A block acknowledgement
/// says which of them arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregation {
    /// The window of the block acknowledgement: no frame is sent before the one so many places
    /// ahead of it is finished.
    pub frames_max: u32,
    /// Of one transmission.
    pub bytes_max: u32,
    /// Of one transmission.
    pub duration_max_ns: u64,
    /// The length of a block acknowledgement.
    pub block_ack_bytes: u32,
}

/// In front of each frame of an aggregate; each is filled up to a multiple of it.
const DELIMITER_BYTES: u32 = 4;

impl Aggregation {
    /// The length of a frame of `bytes` in an aggregate.
    pub fn subframe_bytes(&self, bytes: u32) -> u32 {
        bytes
            .next_multiple_of(DELIMITER_BYTES)
            .saturating_add(DELIMITER_BYTES)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct InHand {
    pub frame: Frame,
    pub failures: u32,
    pub is_on_air: bool,
    /// Its receiver has it.
    pub is_received: bool,
    /// Its receiver has all frames before it, too, and passed it on.
    pub is_delivered: bool,
    pub is_acknowledged: bool,
    /// Its part of the air time so far.
    pub air_ns: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Frames(VecDeque<InHand>);

/// What one transmission takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transmission {
    pub frames: usize,
    pub airtime_ns: u64,
}

impl Frames {
    pub fn push(&mut self, frame: Frame) {
        self.0.push_back(InHand {
            frame,
            failures: 0,
            is_on_air: false,
            is_received: false,
            is_delivered: false,
            is_acknowledged: false,
            air_ns: 0,
        });
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn get(&self, index: usize) -> Option<&InHand> {
        self.0.get(index)
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut InHand> {
        self.0.get_mut(index)
    }

    pub fn on_air(&self) -> impl Iterator<Item = &InHand> {
        self.0.iter().filter(|frame| frame.is_on_air)
    }

    /// The next transmission at a rate: as many as fit, and at least one.
    pub fn fit(&self, profile: &Profile, rate: usize) -> Transmission {
        let rate = &profile.rates[rate];
        let mut waiting = self.0.iter().filter(|frame| !frame.is_acknowledged);
        let alone = |frame: &InHand| profile.air_bytes(frame.frame.bytes);
        let mut fit = Transmission {
            frames: 1,
            airtime_ns: profile.propagation_ns
                + waiting
                    .clone()
                    .next()
                    .map_or(0, |frame| rate.airtime_ns(alone(frame))),
        };
        let Some(aggregation) = &profile.aggregation else {
            return fit;
        };
        let mut bytes = waiting
            .next()
            .map_or(0, |frame| aggregation.subframe_bytes(alone(frame)));
        for frame in waiting {
            bytes = bytes.saturating_add(aggregation.subframe_bytes(alone(frame)));
            let airtime_ns = rate.airtime_ns(bytes);
            if bytes > aggregation.bytes_max || airtime_ns > aggregation.duration_max_ns {
                break;
            }
            fit.frames += 1;
            fit.airtime_ns = airtime_ns + profile.propagation_ns;
        }
        fit
    }

    /// That transmission starts; returns how many of its frames are sent for the first time.
    pub fn start(&mut self, fit: Transmission) -> usize {
        let each_ns = fit.airtime_ns / fit.frames.max(1) as u64;
        let waiting = self.0.iter_mut().filter(|frame| !frame.is_acknowledged);
        let mut fresh = 0;
        for frame in waiting.take(fit.frames) {
            frame.is_on_air = true;
            frame.air_ns += each_ns;
            fresh += usize::from(frame.failures == 0);
        }
        fresh
    }

    /// An answer of that time comes.
    pub fn answer(&mut self, answer_ns: u64) {
        let each_ns = answer_ns / self.on_air().count().max(1) as u64;
        for frame in self.0.iter_mut().filter(|frame| frame.is_on_air) {
            frame.air_ns += each_ns;
        }
    }

    /// The transmission is over. With an answer, received frames are acknowledged; returns how
    /// many are.
    pub fn end(&mut self, is_answered: bool) -> usize {
        let mut acknowledged = 0;
        for frame in self.0.iter_mut().filter(|frame| frame.is_on_air) {
            frame.is_on_air = false;
            if is_answered && frame.is_received {
                frame.is_acknowledged = true;
                acknowledged += 1;
            } else {
                frame.failures = frame.failures.saturating_add(1);
            }
        }
        acknowledged
    }

    /// The next frame that its receiver passes on.
    pub fn deliver(&mut self) -> Option<Frame> {
        let frame = self.0.iter_mut().find(|frame| !frame.is_delivered)?;
        frame.is_delivered = frame.is_received;
        frame.is_received.then_some(frame.frame)
    }

    /// The next finished frame, in order. A frame that is given up finishes late, too: those
    /// behind it wait for it.
    pub fn finish(&mut self, attempts_max: Option<u32>) -> Option<(InHand, Outcome)> {
        let first = self.0.front()?;
        let is_spent = attempts_max.is_some_and(|limit| first.failures >= limit);
        let outcome = match (first.is_acknowledged, is_spent) {
            (true, _) => Outcome::Acknowledged,
            (false, true) => Outcome::Dropped,
            (false, false) => return None,
        };
        self.0.pop_front().map(|frame| (frame, outcome))
    }

    pub fn pop(&mut self) -> Option<InHand> {
        self.0.pop_front()
    }
}
