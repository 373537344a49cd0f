//! A sender that always has so many packets queued, like a program that writes to a socket with a
//! send buffer of that size.
//!
//! A queue may keep fewer of them. Then the sender has as many there as it keeps: it writes one for
//! each that leaves, and tries seldom whether there is room for more, as each try costs a packet.

use super::Poll;

/// A sender whose packet was dropped writes more after this ...
const RETRY_NS: u64 = 1_000_000;
/// ... and, if that fails again and again, after twice as long each time, up to this.
const RETRY_MAX_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(crate) struct Backlog {
    packets: u32,
    queued: u32,
    number: u64,
    /// What its queue keeps of it, until it tries for more.
    room: u32,
    not_before_ns: u64,
    retry_ns: u64,
}

impl Backlog {
    pub fn new(packets: u32, start_ns: u64) -> Self {
        Self {
            packets,
            queued: 0,
            number: 0,
            room: 0,
            not_before_ns: start_ns,
            retry_ns: RETRY_NS,
        }
    }

    pub fn poll(&mut self, now_ns: u64) -> Poll {
        if self.queued >= self.packets {
            self.retry_ns = RETRY_NS;
            return Poll::Nothing;
        }
        if now_ns < self.not_before_ns && self.queued >= self.room {
            return Poll::At(self.not_before_ns);
        }
        self.queued += 1;
        self.number += 1;
        Poll::Send(self.number - 1)
    }

    pub fn left(&mut self) {
        self.queued -= 1;
    }

    /// A packet was lost; because its queue was full, or by management, which asks for a pause.
    pub fn lost(&mut self, now_ns: u64, was_full: bool) -> u64 {
        self.queued -= 1;
        self.room = if was_full { self.queued } else { 0 };
        self.not_before_ns = now_ns + self.retry_ns;
        if self.room > 0 {
            self.retry_ns = (2 * self.retry_ns).min(RETRY_MAX_NS);
        }
        self.not_before_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes into a queue that keeps so many packets; returns how many were lost.
    fn fill(sender: &mut Backlog, now_ns: u64, kept_packets: u32) -> u32 {
        let mut lost = 0;
        while let Poll::Send(_) = sender.poll(now_ns) {
            if sender.queued > kept_packets {
                sender.lost(now_ns, true);
                lost += 1;
            }
        }
        lost
    }

    #[test]
    fn a_short_queue_stays_full_and_costs_few_packets() {
        let mut sender = Backlog::new(1000, 0);
        assert_eq!(fill(&mut sender, 0, 100), 1);
        let mut lost = 0;
        for now_us in 1..1_000_000 {
            sender.left();
            lost += fill(&mut sender, now_us * 1000, 100);
            assert_eq!(sender.queued, 100);
        }
        // After 1, 2, 4 ... 512 ms.
        assert_eq!(lost, 9);
        sender.left();
        // The next try is due, and there is room now.
        assert_eq!(fill(&mut sender, 2_000_000_000, 5000), 0);
        assert_eq!((sender.queued, sender.retry_ns), (1000, RETRY_NS));
    }

    #[test]
    fn a_sender_without_room_and_one_that_is_managed_pause() {
        let mut sender = Backlog::new(8, 0);
        assert_eq!(fill(&mut sender, 0, 0), 1);
        assert_eq!(sender.poll(1), Poll::At(RETRY_NS));
        assert_eq!(sender.poll(RETRY_NS), Poll::Send(1));
        sender.lost(RETRY_NS, false);
        assert_eq!(sender.poll(RETRY_NS), Poll::At(2 * RETRY_NS));
    }
}
