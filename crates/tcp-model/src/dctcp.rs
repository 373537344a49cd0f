//! DCTCP (RFC 8257): Reno that reduces its window by the part of segments that were marked.

use crate::{control::Acked, reno::Reno};

/// What a round trip's part of marks counts for (RFC 8257, section 4.2: g).
const GAIN: f64 = 1.0 / 16.0;
/// Windows do not fall below, as in Linux (`dctcp_ssthresh`).
const WINDOW_LEAST: f64 = 2.0;

#[derive(Debug)]
pub(crate) struct Dctcp {
    reno: Reno,
    /// The smoothed part of marked segments. It begins with all of them, as in Linux: a sender
    /// that knows nothing yet is careful.
    alpha: f64,
    acked: u64,
    marked: u64,
    round_end: u64,
}

impl Dctcp {
    pub fn new(initial: f64) -> Self {
        Self {
            reno: Reno::new(initial),
            alpha: 1.0,
            acked: 0,
            marked: 0,
            round_end: 0,
        }
    }

    pub fn window(&self) -> f64 {
        self.reno.window
    }

    pub fn is_starting(&self) -> bool {
        self.reno.threshold.is_infinite()
    }

    pub fn acked(&mut self, acked: &Acked) {
        self.acked += acked.count;
        if acked.echoes {
            self.marked += acked.count;
        }
        if acked.una >= self.round_end {
            let part = self.marked as f64 / self.acked.max(1) as f64;
            self.alpha += GAIN * (part - self.alpha);
            (self.acked, self.marked) = (0, 0);
            self.round_end = acked.next;
        }
        self.reno.acked(acked);
    }

    /// RFC 8257, section 3.3.
    pub fn marked(&mut self, lower: f64) {
        let reduced = self.reno.window * (1.0 - self.alpha / 2.0);
        self.reno.threshold = reduced.max(WINDOW_LEAST).max(lower);
        self.reno.window = self.reno.threshold;
    }

    /// A loss is one to any sender (section 3.5).
    pub fn lost(&mut self, lower: f64) {
        self.reno.lost(lower);
    }

    pub fn timed_out(&mut self) {
        self.reno.timed_out();
    }

    pub fn raise(&mut self, lower: f64) {
        self.reno.window = self.reno.window.max(lower);
    }

    pub fn cut(&mut self, upper: f64) {
        self.reno.window = self.reno.window.min(upper);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round trip in which this part of 100 segments is marked.
    fn round(dctcp: &mut Dctcp, una: &mut u64, marked: u64) {
        for (count, echoes) in [(marked, true), (100 - marked, false)] {
            *una += count;
            dctcp.acked(&Acked {
                count,
                echoes,
                una: *una,
                next: *una + 100,
                ..Acked::default()
            });
        }
    }

    #[test]
    fn the_window_falls_by_half_of_the_part_that_is_marked() {
        let (mut dctcp, mut una) = (Dctcp::new(100.0), 0);
        dctcp.marked(0.0);
        assert_eq!(dctcp.window(), 50.0);
        for _ in 0..200 {
            round(&mut dctcp, &mut una, 20);
        }
        assert!((dctcp.alpha - 0.2).abs() < 0.05, "{}", dctcp.alpha);
        let before = dctcp.window();
        dctcp.marked(0.0);
        assert_eq!(dctcp.window(), before * (1.0 - dctcp.alpha / 2.0));
    }

    #[test]
    fn a_loss_halves_the_window_and_a_mark_leaves_two_segments() {
        let mut dctcp = Dctcp::new(10.0);
        dctcp.lost(0.0);
        assert_eq!(dctcp.window(), 5.0);
        for _ in 0..9 {
            dctcp.marked(0.0);
        }
        assert_eq!(dctcp.window(), WINDOW_LEAST);
    }
}
