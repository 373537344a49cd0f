//! A rate over time.

/// Points of a curve.
const STEPS: u64 = 100;

/// The bytes in each step of a run.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    step_ns: u64,
    /// Where the last step ends.
    end_ns: u64,
    bytes: Vec<u64>,
}

impl Curve {
    pub fn new(duration_ns: u64) -> Self {
        let step_ns = duration_ns.div_ceil(STEPS).max(1);
        Self {
            step_ns,
            end_ns: step_ns,
            bytes: vec![0],
        }
    }

    /// A packet of so many bytes begins then. Packets come in the order of time.
    pub fn add(&mut self, start_ns: u64, bytes: u64) {
        self.reach(start_ns);
        if let Some(last) = self.bytes.last_mut() {
            *last += bytes;
        }
    }

    fn reach(&mut self, at_ns: u64) {
        while at_ns >= self.end_ns {
            self.end_ns += self.step_ns;
            self.bytes.push(0);
        }
    }

    /// The middle of each whole step up to this time, in ns, and the rate in it, in bits per second.
    pub fn points(&self, until_ns: u64) -> Vec<(u64, u64)> {
        let mut all = self.clone();
        all.reach(until_ns);
        let whole = (until_ns / self.step_ns) as usize;
        let steps = all.bytes.iter().take(whole).zip(0u64..);
        let bps = |bytes: u64| u128::from(bytes) * 8_000_000_000 / u128::from(self.step_ns);
        steps
            .map(|(bytes, at)| (at * self.step_ns + self.step_ns / 2, bps(*bytes) as u64))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_without_packets_have_a_rate_of_0() {
        let mut curve = Curve::new(1_000);
        curve.add(3, 10);
        curve.add(25, 5);
        let points = curve.points(1_000);
        assert_eq!(points.len(), 100);
        assert_eq!(
            points[..4],
            [(5, 8_000_000_000), (15, 0), (25, 4_000_000_000), (35, 0)]
        );
    }
}
