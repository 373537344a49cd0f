//! What the processor counts while packets are sent: cycles, instructions, and lines that its caches
//! lacked. A machine without such counters, as most virtual ones and the laboratory are, has none of
//! these figures.

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware};
use perf_event::{Builder, Counter};

use crate::experiment::error::{Result, WhileDoing};

/// Of this thread, in the kernel as well.
pub struct Counters(Vec<(&'static str, Counter)>);

/// A metric, and its number for each packet.
pub type Counted = Vec<(&'static str, f64)>;

impl Counters {
    /// Those that the machine has.
    pub fn open() -> Self {
        let l1d = Cache {
            which: CacheId::L1D,
            operation: CacheOp::READ,
            result: CacheResult::MISS,
        };
        let wanted = [
            ("cycles_per_packet", Builder::new(Hardware::CPU_CYCLES)),
            (
                "instructions_per_packet",
                Builder::new(Hardware::INSTRUCTIONS),
            ),
            ("l1d_misses_per_packet", Builder::new(l1d)),
            (
                "cache_misses_per_packet",
                Builder::new(Hardware::CACHE_MISSES),
            ),
        ];
        let opened = wanted.into_iter().filter_map(|(metric, mut counter)| {
            let counter = counter.include_kernel().enabled(true).build().ok()?;
            Some((metric, counter))
        });
        Self(opened.collect())
    }

    /// What is counted while `work` sends so many packets.
    pub fn during<T>(
        &mut self,
        packets: u64,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<(T, Counted)> {
        let before = self.read()?;
        let done = work()?;
        let after = self.read()?;
        let metrics = self.0.iter().map(|(metric, _)| *metric);
        let counts = after.iter().zip(&before);
        let counted = counts.map(|(after, before)| (after - before) as f64 / packets as f64);
        Ok((done, metrics.zip(counted).collect()))
    }

    fn read(&mut self) -> Result<Vec<u64>> {
        let counts = self.0.iter_mut().map(|(_, counter)| counter.read());
        counts
            .collect::<std::io::Result<_>>()
            .doing("read the processor's counters")
    }
}

#[cfg(test)]
mod tests {
    use perf_event::events::Software;

    use super::*;

    #[test]
    fn a_machine_without_counters_has_no_figures() {
        let (done, counted) = Counters(Vec::new()).during(10, || Ok(1)).unwrap();
        assert_eq!((done, counted), (1, Vec::new()));
    }

    /// The processor's time is counted everywhere, though not for every user.
    #[test]
    fn figures_are_for_each_packet() {
        let Ok(counter) = Builder::new(Software::TASK_CLOCK).enabled(true).build() else {
            return;
        };
        let mut counters = Counters(vec![("time", counter)]);
        let (_, counted) = counters
            .during(10, || {
                let begun = std::time::Instant::now();
                while begun.elapsed().as_millis() < 5 {}
                Ok(())
            })
            .unwrap();
        assert_eq!(counted.len(), 1);
        assert!(counted[0].1 > 1_000.0, "{counted:?}");
    }
}
