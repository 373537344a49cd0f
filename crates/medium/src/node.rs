//! One transmitter: its frame, its backoff, and when it may send.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use crate::{
    Air, Direction, Frame, Profile, Receiver, Rules, channel::Channel, frames::Frames,
    link::LinkState,
};

#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// To the access point; the access point's own is not used.
    pub channel: Channel,
    /// From the access point and to it; the access point's own are not used.
    links: [LinkState; 2],
    pub air: Air,
    /// `None`: it has no frames.
    pub hand: Option<Hand>,
    pub frames: Frames,
    /// Slots still to wait; `None` if the next frame needs none.
    backoff: Option<u32>,
    /// The largest draw of the next backoff.
    cw: u32,
    /// Slots count from this time on, as long as the air stays idle.
    pub clear_ns: u64,
    /// It has sent and waits for an answer, which will not come, until then.
    pub timeout_ns: Option<u64>,
    random: Pcg64Mcg,
}

/// What a node's frames have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hand {
    pub to: Receiver,
    pub since_ns: u64,
    /// Attempts without an answer, since the last one or the first frame.
    pub failures: u32,
    /// Index of the rate of the attempt on the air.
    pub rate: usize,
    /// When that attempt ends.
    pub end_ns: u64,
}

impl Node {
    pub fn new(
        profile: &Profile,
        channel: Channel,
        links: [LinkState; 2],
        random: Pcg64Mcg,
    ) -> Self {
        Node {
            channel,
            links,
            air: Air::default(),
            hand: None,
            frames: Frames::default(),
            backoff: None,
            cw: profile.cw_min,
            clear_ns: profile.difs_ns,
            timeout_ns: None,
            random,
        }
    }

    pub fn link(&self, direction: Direction) -> &LinkState {
        &self.links[direction as usize]
    }

    pub fn link_mut(&mut self, direction: Direction) -> &mut LinkState {
        &mut self.links[direction as usize]
    }

    /// When it sends if the air stays idle; only for nodes that are not sending.
    pub fn access_ns(&self, slot_ns: u64) -> Option<u64> {
        match (&self.hand, self.timeout_ns) {
            (Some(hand), None) => Some(self.countdown_end_ns(slot_ns).max(hand.since_ns)),
            _ => None,
        }
    }

    fn countdown_end_ns(&self, slot_ns: u64) -> u64 {
        self.clear_ns + u64::from(self.backoff.unwrap_or_default()) * slot_ns
    }

    /// Takes a frame. `hears_idle` is the node's view of the air.
    pub fn take(&mut self, frame: Frame, now_ns: u64, hears_idle: bool, slot_ns: u64) {
        self.hand = Some(Hand {
            to: frame.to,
            since_ns: now_ns,
            failures: 0,
            rate: 0,
            end_ns: 0,
        });
        self.frames.push(frame);
        if !hears_idle {
            // A backoff left over from the last frame continues.
            if self.backoff.is_none() {
                self.draw();
            }
        } else if self.countdown_end_ns(slot_ns) <= now_ns {
            self.backoff = None;
        }
    }

    /// The node starts to send.
    pub fn start(&mut self) {
        self.backoff = None;
    }

    /// The air has been busy since `busy_ns`: slots before that are over.
    pub fn freeze(&mut self, busy_ns: u64, profile: &Profile) {
        match self.backoff {
            Some(slots) => {
                let idle_ns = busy_ns.checked_sub(self.clear_ns);
                let passed = idle_ns.map_or(0, |idle_ns| idle_ns / profile.slot_ns.max(1));
                let counted = match (profile.rules, idle_ns) {
                    (Rules::Bianchi, Some(_)) => passed + 1,
                    _ => passed,
                };
                // A backoff without a frame ends with its last slot.
                let is_over = self.hand.is_none() && passed >= u64::from(slots);
                let left = u64::from(slots).saturating_sub(counted) as u32;
                self.backoff = (!is_over).then_some(left);
            }
            None if self.hand.is_some() && self.timeout_ns.is_none() => self.draw(),
            None => {}
        }
    }

    /// An answer came, or frames are finished: back to the first window, and a backoff before
    /// the next frame, in any case.
    pub fn succeed(&mut self, profile: &Profile) {
        self.timeout_ns = None;
        self.cw = profile.cw_min;
        self.draw();
        if self.frames.is_empty() {
            self.hand = None;
        } else if let Some(hand) = &mut self.hand {
            hand.failures = 0;
        }
    }

    /// No answer came, and all frames may be sent again.
    pub fn fail(&mut self, profile: &Profile) {
        self.timeout_ns = None;
        if let Some(hand) = &mut self.hand {
            hand.failures = hand.failures.saturating_add(1);
        }
        self.cw = (self.cw * 2 + 1).min(profile.cw_max);
        self.draw();
    }

    fn draw(&mut self) {
        self.backoff = Some(self.random.random_range(0..=self.cw));
    }
}
