//! `takt bench` on a machine with a policy of its own.

use std::fs;

use crate::{
    machine::DEFAULT,
    shell::run,
    takt::{apply, assert_no_trace, status, takt},
};

const POLICY: &str = r#"
[link.va]
rate = "100mbit"
backend = "tree"

[[link.va.class]]
name = "web"
rate = "10mbit"
match = { proto = "tcp", dst_port = 80 }
"#;

#[test]
fn it_measures_beside_a_policy_that_is_in_force() {
    DEFAULT.alone().run(|| {
        apply(POLICY).ok();
        let before = (run("ip netns list").ok(), run("tc qdisc show").ok());
        let pins = fs::read_dir("/sys/fs/bpf").unwrap().count();

        let report = takt("bench cost --only takt,fq --output json").json();
        assert_eq!(
            (&report["experiment"], &report["clock"]),
            (&"cost".into(), &"real".into())
        );
        assert_eq!(
            report["command"],
            "takt bench cost --only takt,fq --output json"
        );
        let rows = report["rows"].as_array().unwrap();
        for scheduler in ["none", "takt", "fq"] {
            let is_measured = |row: &&serde_json::Value| {
                row["scheduler"] == scheduler && row["case"] == "1-class"
            };
            let row = rows.iter().find(is_measured);
            assert!(
                row.is_some_and(|row| row["packets"].as_u64() > Some(10_000)),
                "{scheduler}"
            );
        }

        assert_eq!(
            before,
            (run("ip netns list").ok(), run("tc qdisc show").ok())
        );
        assert_eq!(fs::read_dir("/sys/fs/bpf").unwrap().count(), pins);
        assert_eq!(status().0[0].device, "va");
        // The kernel knows one qdisc of this name.
        apply(&POLICY.replace("tree", "takt")).ok();
        let beside = takt("bench cost --only takt --output json");
        assert!(
            beside.stderr.contains("takt is left out"),
            "{}",
            beside.stderr
        );
        let rows = beside.json()["rows"].as_array().unwrap().clone();
        assert!(
            rows.iter().all(|row| row["scheduler"] == "none"),
            "{rows:?}"
        );
        let unknown = takt("bench beats");
        assert_eq!(unknown.status, Some(2));
        takt("revert").ok();
        assert_no_trace();
    });
}
