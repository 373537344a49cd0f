//! The experiment `pacing` where many servers answer one client at once, in its short form, and its
//! bars.

use serde_json::Value;

use crate::{machine::DEFAULT, shell::run};

/// Of the switch's port, with a buffer of 32 packets.
const UNPACED_PERCENT_MAX: f64 = 50.0;
const PACED_PERCENT_MIN: f64 = 90.0;
/// The kernel's shortest retransmission timeout.
const TIMEOUT_NS: u64 = 200_000_000;

fn number(row: &Value, metric: &str) -> f64 {
    row[metric]
        .as_f64()
        .unwrap_or_else(|| panic!("{metric} of {row}"))
}

#[test]
fn rates_keep_answers_from_each_other() {
    DEFAULT.run(|| {
        let report = run("takt lab guest incast --short").json();
        let rows = report["rows"].as_array().unwrap();
        for case in ["incast-16x64kb-buffer-32", "incast-64x64kb-buffer-32"] {
            let of = |scheduler: &str| {
                let mut rows = rows.iter();
                rows.find(|row| row["scheduler"] == scheduler && row["case"] == case)
                    .unwrap_or_else(|| panic!("no row of {scheduler}, {case}: {report}"))
            };
            let unpaced = of("none");
            assert!(
                number(unpaced, "port_percent") < UNPACED_PERCENT_MAX,
                "{unpaced}"
            );
            assert!(
                unpaced["round_p99_ns"].as_u64() > Some(TIMEOUT_NS),
                "{unpaced}"
            );
            for scheduler in ["takt", "takt-flow", "fq"] {
                let paced = of(scheduler);
                assert!(
                    number(paced, "port_percent") >= PACED_PERCENT_MIN,
                    "{paced}"
                );
                assert_eq!(paced["timeouts_count"], 0, "{paced}");
            }
            assert_eq!(of("takt")["packets_lost"], 0, "{}", of("takt"));
            let dctcp = of("dctcp");
            assert!(dctcp["packets_marked"].as_u64() > Some(0), "{dctcp}");
        }
    });
}
