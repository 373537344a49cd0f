//! Links whose device decides (`rate = "line"`): what they keep on a wire with a speed, and where
//! they are refused. The figures are those of the experiment `background`, on that wire alone.

use serde_json::Value;

use crate::{
    machine::DEFAULT,
    shell::run,
    takt::{apply, assert_no_trace},
    wire::Wire,
};

/// The foreground takes at most so much longer than alone, ...
const OVER_ALONE_PERCENT: f64 = 5.0;
/// ... and the background uses so much of what it leaves.
const REST_USED_PERCENT: f64 = 95.0;
const CASES: [&str; 5] = [
    "line-5.7mbit",
    "line-half",
    "line-double",
    "line-changing",
    "line-10mbit",
];

#[test]
fn the_order_holds_at_any_speed_of_the_wire() {
    DEFAULT.alone().run(|| {
        let report = run("takt lab guest line --short").json();
        let rows = report["rows"].as_array().unwrap();
        for row in rows {
            println!("{row}");
        }
        let figure = |scheduler: &str, case: &str, name: &str| {
            let mut rows = rows.iter();
            let row = rows.find(|row| row["scheduler"] == scheduler && row["case"] == case);
            let row: &Value = row.unwrap_or_else(|| panic!("no row {scheduler} {case}"));
            row[name].as_f64().unwrap()
        };
        for scheduler in ["takt", "takt-open"] {
            for case in CASES {
                let over = figure(scheduler, case, "over_alone_percent");
                assert!(over <= OVER_ALONE_PERCENT, "{scheduler} {case}: {over} %");
                let used = figure(scheduler, case, "rest_used_percent");
                assert!(used >= REST_USED_PERCENT, "{scheduler} {case}: {used} %");
            }
        }
        // What the same costs without: the wire is real.
        assert!(figure("fifo", "line-half", "over_alone_percent") > 20.0);
        assert!(figure("takt-rate", "line-double", "rest_used_percent") < 60.0);
        assert_no_trace();
    });
}

#[test]
fn devices_that_push_nothing_back_are_refused() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        run("ip link add near8 type ifb").ok();
        for device in ["near1", "near8", "lo"] {
            let policy = format!("[link.{device}]\nrate = \"line\"\n");
            let refused = apply(&policy);
            assert_eq!(refused.status, Some(2), "{}", refused.stderr);
            let code = "takt::device::no_push_back";
            assert!(refused.stderr.contains(code), "{}", refused.stderr);
        }
        run("ip link del near8").ok();
        assert_no_trace();
    });
}
