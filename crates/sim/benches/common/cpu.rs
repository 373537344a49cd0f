//! The processor's time of this thread, which other programs on the machine change little.

use criterion::{
    Criterion, Throughput,
    measurement::{Measurement, ValueFormatter, WallTime},
};
use nix::time::{ClockId, clock_gettime};

/// Measures it in nanoseconds.
pub struct ProcessorTime;

fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has it");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// Criterion with this measurement.
pub fn criterion() -> Criterion<ProcessorTime> {
    Criterion::default().with_measurement(ProcessorTime)
}

impl Measurement for ProcessorTime {
    type Intermediate = u64;
    type Value = u64;

    fn start(&self) -> u64 {
        now_ns()
    }

    fn end(&self, began_ns: u64) -> u64 {
        now_ns() - began_ns
    }

    fn add(&self, a_ns: &u64, b_ns: &u64) -> u64 {
        a_ns + b_ns
    }

    fn zero(&self) -> u64 {
        0
    }

    fn to_f64(&self, ns: &u64) -> f64 {
        *ns as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Nanoseconds
    }
}

/// Writes as criterion does for time on the wall.
struct Nanoseconds;

impl ValueFormatter for Nanoseconds {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        WallTime.formatter().scale_values(typical, values)
    }

    fn scale_throughputs(
        &self,
        typical: f64,
        throughput: &Throughput,
        values: &mut [f64],
    ) -> &'static str {
        WallTime
            .formatter()
            .scale_throughputs(typical, throughput, values)
    }

    fn scale_for_machines(&self, values: &mut [f64]) -> &'static str {
        WallTime.formatter().scale_for_machines(values)
    }
}
