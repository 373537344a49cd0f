//! `takt trace`.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::Value;

use crate::{
    flow::Flow,
    machine::DEFAULT,
    shell::run,
    takt::{apply, takt},
    wire::Wire,
};

const POLICY: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "stream"
rate = "2mbit"
ceil = "2mbit"
queue_packets = 1000
match = { proto = "udp", dst_port = 5001 }

[[task]]
name = "mixer"
period = "20ms"
budget = "4ms"
"#;

const FILE: &str = "/lab/trace.json";

fn read() -> Vec<Value> {
    let text = fs::read_to_string(FILE).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    trace["traceEvents"].as_array().unwrap().clone()
}

/// The values of a counter.
fn values(events: &[Value], name: &str, value: &str) -> Vec<f64> {
    let its = events
        .iter()
        .filter(|event| event["ph"] == "C" && event["name"] == name);
    its.map(|event| event["args"][value].as_f64().unwrap())
        .collect()
}

#[test]
fn has_the_queues_and_slots_of_its_time() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        let mut flow = Flow::new(&wire, 5001);
        // For more than three seconds.
        flow.send(900, 1000);
        takt(&format!("trace --duration 2s --interval 20ms --out {FILE}"))
            .says(&["ui.perfetto.dev"])
            .ok();
        let events = read();
        let queued = values(&events, "stream queued", "packets");
        assert!(queued.len() > 50, "{} values", queued.len());
        assert!(
            queued.is_sorted_by(|before, after| before >= after),
            "{queued:?}"
        );
        let rates = values(&events, "stream sent", "bit/s");
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        assert!((mean - 2e6).abs() < 200e3, "{mean} bit/s of {rates:?}");
        let slots: Vec<f64> = events
            .iter()
            .filter(|event| event["ph"] == "X" && event["name"] == "mixer")
            .map(|event| event["ts"].as_f64().unwrap())
            .collect();
        assert!((90..=110).contains(&slots.len()), "{} slots", slots.len());
        let apart = slots.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(
            apart
                .into_iter()
                .all(|apart_us| (apart_us - 20e3).abs() < 1.0)
        );
        let mode = fs::metadata(FILE).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
    });
}

#[test]
fn replaces_only_what_is_the_callers() {
    DEFAULT.run(|| {
        for _ in 0..2 {
            takt(&format!("trace --duration 1s --out {FILE}")).ok();
        }
        assert!(read().iter().all(|event| event["ph"] != "X"));
        for other in ["/dev/null", "/lab"] {
            let refused = takt(&format!("trace --duration 1s --out {other}"));
            refused.says(&["is not replaced"]).ends_with(2);
        }
        run(&format!("chown 1000 {FILE}")).ok();
        let refused = takt(&format!("trace --duration 1s --out {FILE}"));
        refused.says(&["belongs to user 1000"]).ends_with(2);
        takt("trace --duration 1s --out /none/trace.json").ends_with(1);
        for wrong in ["--duration 61s", "--duration 5ms", "--interval 1ms"] {
            takt(&format!("trace {wrong} --out {FILE}")).ends_with(2);
        }
        let names = run("ls -A /lab").ok();
        assert!(!names.contains("takt-trace"), "{names}");
        run(&format!("rm {FILE}")).ok();
    });
}
