//! Spacing: how far packets of a clock are from the distances that its rate asks for.

const NS_PER_BYTE_AT_1BPS: u64 = 8_000_000_000;

/// The packets of one clock, a class's or a flow's.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    /// When the next packet should begin if it was waiting by then; 0: there was none before.
    due_ns: u64,
    /// When the last one began.
    began_ns: u64,
}

impl Pace {
    /// A packet that arrived then begins. Returns how far it is from its ideal distance to the one
    /// before; `None` if the clock had nothing to send in between.
    pub fn error_ns(
        &mut self,
        pace_bps: u64,
        arrived_ns: u64,
        start_ns: u64,
        bytes: u32,
    ) -> Option<u64> {
        let was_waiting = self.due_ns > 0 && arrived_ns <= self.began_ns;
        let error_ns = was_waiting.then(|| self.due_ns.abs_diff(start_ns));
        self.began_ns = start_ns;
        self.due_ns = start_ns + u64::from(bytes) * NS_PER_BYTE_AT_1BPS / pace_bps;
        error_ns
    }
}
