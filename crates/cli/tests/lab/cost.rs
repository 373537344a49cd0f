//! What a packet costs, against what it cost before: a feature's price is seen in its own commit.
//! The machine's clock counts instructions, so figures are the same on every host.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{machine::DEFAULT, shell::run};

const BASELINE: &str = include_str!("../cost.json");
/// Between runs figures differ by up to 17 ns, with what else the kernel did meanwhile.
const TOLERANCE_NS: u64 = 30;
const TOLERANCE_PERCENT: u64 = 3;
/// On another kernel than the baseline's, the kernel's own part is another.
const TOLERANCE_ELSEWHERE_PERCENT: u64 = 15;

/// Nanoseconds for each packet more than with no qdisc, by scheduler and case.
#[derive(Debug, Serialize, Deserialize)]
struct Costs {
    kernel: String,
    ns: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Costs {
    fn measure() -> Self {
        let schedulers = "takt,takt-tree,takt-departure,takt-flow";
        let report = run(&format!("takt lab guest cost --short --only {schedulers}")).json();
        let mut costs = Self {
            kernel: report["kernel"].as_str().unwrap().to_owned(),
            ns: BTreeMap::new(),
        };
        for row in report["rows"].as_array().unwrap() {
            let (scheduler, case) = (row["scheduler"].as_str(), row["case"].as_str());
            let (Some(scheduler), Some(case)) = (scheduler, case) else {
                panic!("a row without a name: {row}");
            };
            let ns = row["cost_ns_per_packet"].as_u64().unwrap_or_default();
            // Packets that wait cost what the machine is idle less, which differs from run to run.
            if scheduler != "none" && !case.ends_with("-waiting") {
                let of = costs.ns.entry(scheduler.to_owned()).or_default();
                of.insert(case.to_owned(), ns);
            }
        }
        costs
    }
}

#[test]
fn a_packet_costs_what_it_did() {
    DEFAULT.run(|| {
        let (before, now) = (
            serde_json::from_str::<Costs>(BASELINE).unwrap(),
            Costs::measure(),
        );
        let percent = if before.kernel == now.kernel {
            TOLERANCE_PERCENT
        } else {
            TOLERANCE_ELSEWHERE_PERCENT
        };
        let mut off = Vec::new();
        for (scheduler, cases) in &before.ns {
            for (case, before_ns) in cases {
                let now_ns = now.ns[scheduler][case];
                let tolerance_ns = TOLERANCE_NS.max(percent * before_ns / 100);
                if now_ns.abs_diff(*before_ns) > tolerance_ns {
                    off.push(format!(
                        "{scheduler}, {case}: {before_ns} ns before, {now_ns} now"
                    ));
                }
            }
        }
        // A lower one is kept, too, or the next feature would have it for nothing.
        assert!(
            off.is_empty(),
            "{}\nIf that is meant, crates/cli/tests/cost.json becomes\n{}",
            off.join("\n"),
            serde_json::to_string_pretty(&now).unwrap()
        );
    });
}
