//! `takt sim` against the kernel: the experiment `sim`, in its short form, and its bars.

use crate::{machine::DEFAULT, shell::run};

/// How far a rate may be off.
const RATE_PERCENT: f64 = 1.0;
/// How far a percentile of delays may be off, ...
const DELAY_PERCENT: f64 = 10.0;
/// ... unless it is by less than what a processor needs for a packet.
const DELAY_NS: u64 = 10_000;

#[test]
fn the_simulator_says_what_the_kernel_does() {
    DEFAULT.alone().run(|| {
        let report = run("takt lab guest sim --short").json();
        let rows = report["rows"].as_array().unwrap();
        let mut backends = Vec::new();
        let mut off = Vec::new();
        for row in rows {
            // How late timers are is no comparison.
            let Some(rate_percent) = row["rate_difference_percent"].as_f64() else {
                continue;
            };
            backends.push(row["scheduler"].as_str().unwrap());
            let mut is_off = rate_percent.abs() > RATE_PERCENT;
            for part in ["p50", "p99"] {
                let delay =
                    |of: &str, end: &str| row[format!("{of}_delay_{part}{end}_ns")].as_u64();
                let (Some(lab_ns), Some(sim_ns)) = (delay("lab", ""), delay("sim", "")) else {
                    continue;
                };
                // Beside connections the lab's is anywhere in an interval.
                let from_ns = delay("lab", "_from").unwrap_or(lab_ns);
                let to_ns = delay("lab", "_to").unwrap_or(lab_ns);
                let apart_ns = sim_ns.abs_diff(sim_ns.clamp(from_ns, to_ns));
                let apart_percent = apart_ns as f64 * 100.0 / sim_ns as f64;
                is_off |= apart_ns > DELAY_NS && apart_percent > DELAY_PERCENT;
            }
            if is_off {
                off.push(row.to_string());
            }
        }
        assert!(off.is_empty(), "{}", off.join("\n"));
        for backend in ["takt", "takt-tree", "takt-departure", "takt-flow"] {
            assert!(backends.contains(&backend), "{backend}: {backends:?}");
        }
        assert!(rows.len() > 40, "{}", rows.len());
    });
}
