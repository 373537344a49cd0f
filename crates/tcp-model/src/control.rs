//! The congestion controls.

use crate::{bbr::Bbr, cubic::Cubic, dctcp::Dctcp, reno::Reno};

/// Which one a flow has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Control {
    /// RFC 9438, with HyStart's delay rule, as in Linux.
    Cubic,
    /// RFC 5681, as in Linux: without the inflation of the window while losses are recovered.
    Reno,
    /// The first version, as in Linux.
    Bbr,
    /// RFC 8257, as in Linux. Its receiver is [`Receiver::of_dctcp`](crate::Receiver::of_dctcp).
    Dctcp,
    /// This many segments, always.
    Fixed(u32),
}

/// What an acknowledgement said.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Acked {
    pub now_ns: u64,
    /// Segments that are known to have arrived, and were not before.
    pub count: u64,
    /// Segments that are considered lost since the last acknowledgement.
    pub lost: u64,
    pub rtt_ns: Option<u64>,
    pub rtt_min_ns: u64,
    /// Of the newest segment, in segments per second.
    pub rate: Option<f64>,
    /// All segments delivered so far, and when that newest segment was sent.
    pub delivered: u64,
    pub delivered_at_send: u64,
    /// Segments in flight before and after it.
    pub before: u64,
    pub pipe: u64,
    /// The first segment not acknowledged in order, and the first not yet sent.
    pub una: u64,
    pub next: u64,
    /// Nothing is being recovered.
    pub is_open: bool,
    /// A timeout is being recovered.
    pub in_timeout: bool,
    /// The window limited the sender.
    pub is_limited: bool,
    /// It told of a congestion mark.
    pub echoes: bool,
}

/// One flow's.
#[derive(Debug)]
pub(crate) enum State {
    Cubic(Cubic),
    Reno(Reno),
    Bbr(Box<Bbr>),
    Dctcp(Dctcp),
    Fixed(f64),
}

impl State {
    pub fn new(control: Control, initial: f64) -> Self {
        match control {
            Control::Cubic => Self::Cubic(Cubic::new(initial)),
            Control::Reno => Self::Reno(Reno::new(initial)),
            Control::Bbr => Self::Bbr(Box::new(Bbr::new(initial))),
            Control::Dctcp => Self::Dctcp(Dctcp::new(initial)),
            Control::Fixed(window) => Self::Fixed(window.into()),
        }
    }

    pub fn window(&self) -> f64 {
        match self {
            Self::Cubic(cubic) => cubic.window,
            Self::Reno(reno) => reno.window,
            Self::Bbr(bbr) => bbr.window,
            Self::Dctcp(dctcp) => dctcp.window(),
            Self::Fixed(window) => *window,
        }
    }

    /// In its first slow start.
    pub fn is_starting(&self) -> bool {
        match self {
            Self::Cubic(cubic) => cubic.threshold.is_infinite(),
            Self::Reno(reno) => reno.threshold.is_infinite(),
            Self::Dctcp(dctcp) => dctcp.is_starting(),
            _ => false,
        }
    }

    /// `None`: as fast as the device takes it.
    pub fn pacing_ns(&self) -> Option<u64> {
        match self {
            Self::Bbr(bbr) => Some(bbr.pacing_ns()),
            _ => None,
        }
    }

    pub fn acked(&mut self, acked: &Acked) {
        match self {
            Self::Cubic(cubic) => cubic.acked(acked),
            Self::Reno(reno) => reno.acked(acked),
            Self::Bbr(bbr) => bbr.acked(acked),
            Self::Dctcp(dctcp) => dctcp.acked(acked),
            Self::Fixed(_) => {}
        }
    }

    /// A loss begins a recovery; the window is not to fall below `lower`.
    pub fn lost(&mut self, lower: f64) {
        match self {
            Self::Cubic(cubic) => cubic.lost(lower),
            Self::Reno(reno) => reno.lost(lower),
            Self::Bbr(bbr) => bbr.lost(),
            Self::Dctcp(dctcp) => dctcp.lost(lower),
            Self::Fixed(_) => {}
        }
    }

    /// A congestion mark: as a loss, but for those that count marks.
    pub fn marked(&mut self, lower: f64) {
        match self {
            Self::Dctcp(dctcp) => dctcp.marked(lower),
            _ => self.lost(lower),
        }
    }

    pub fn timed_out(&mut self) {
        match self {
            Self::Cubic(cubic) => cubic.timed_out(),
            Self::Reno(reno) => reno.timed_out(),
            Self::Bbr(bbr) => bbr.timed_out(),
            Self::Dctcp(dctcp) => dctcp.timed_out(),
            Self::Fixed(_) => {}
        }
    }

    /// Everything that was lost has arrived.
    pub fn recovered(&mut self) {
        if let Self::Bbr(bbr) = self {
            bbr.recovered();
        }
    }

    /// The window is raised to this.
    pub fn raise(&mut self, lower: f64) {
        match self {
            Self::Cubic(cubic) => cubic.window = cubic.window.max(lower),
            Self::Reno(reno) => reno.window = reno.window.max(lower),
            Self::Dctcp(dctcp) => dctcp.raise(lower),
            _ => {}
        }
    }

    /// The window is cut to this.
    pub fn cut(&mut self, upper: f64) {
        match self {
            Self::Cubic(cubic) => cubic.window = cubic.window.min(upper.max(1.0)),
            Self::Reno(reno) => reno.window = reno.window.min(upper.max(1.0)),
            Self::Dctcp(dctcp) => dctcp.cut(upper.max(1.0)),
            _ => {}
        }
    }
}
