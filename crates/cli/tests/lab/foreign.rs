//! Foreign qdiscs: never removed without --replace, and restored as they were.

use crate::{
    machine::DEFAULT,
    shell::run,
    takt::{apply, apply_with, assert_no_trace, link, status, takt},
    wire::Wire,
};

const POLICY: &str = r#"
[link.near1]
rate = "100mbit"
"#;

#[test]
fn is_named_and_left_alone_without_replace() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        run("tc qdisc add dev near1 root handle 8123: fq limit 5000 flow_limit 77").ok();
        let theirs = wire.root_qdisc();
        apply(POLICY)
            .says(&[
                "near1 already carries another program's qdisc: fq 8123:",
                "--replace",
            ])
            .ends_with(4);
        apply_with("--dry-run", POLICY).ends_with(4);
        assert_eq!(wire.root_qdisc(), theirs);
        assert_eq!(wire.gso_max_segs(), 65535);
        assert_no_trace();
    });
}

#[test]
fn is_given_back_with_its_options() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        // Keeps the program loaded from one case to the next.
        let _anchor = Wire::new(2);
        let anchor = "[link.near2]\nrate = \"100mbit\"\n";
        for qdisc in [
            "fq limit 5000 flow_limit 77 buckets 2048 quantum 3000 maxrate 100mbit ce_threshold 5ms",
            "fq_codel limit 500 flows 256 target 10ms interval 200ms noecn",
            "cake bandwidth 50mbit dual-srchost nat overhead 18 rtt 50ms",
            "tbf rate 10mbit burst 5000 latency 50ms",
            "prio bands 5 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
            "pfifo limit 123",
            "bfifo limit 45678",
            "codel limit 100 target 5ms interval 100ms ecn",
        ] {
            apply(anchor).ok();
            run(&format!("tc qdisc add dev near1 root handle 8123: {qdisc}")).ok();
            let theirs = wire.root_qdisc();
            let both = format!("{anchor}{POLICY}");
            apply_with("--replace", &both).says(&["near1: attached"]).ok();
            assert!(wire.root_qdisc().starts_with("qdisc takt"));
            wire.assert_passes();
            apply(anchor).says(&["near1: given back"]).ok();
            assert_eq!(wire.root_qdisc(), theirs);
            wire.assert_passes();
            run("tc qdisc del dev near1 root").ok();
        }
    });
}

#[test]
fn is_given_back_after_several_policies() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        run("tc qdisc add dev near1 clsact").ok();
        run("tc qdisc add dev near1 root handle 8123: fq limit 5000").ok();
        let theirs = run("tc qdisc show dev near1").ok();
        apply_with("--replace", POLICY).ok();
        // The current qdisc is takt's own, which needs no permission to replace.
        let other = POLICY.replace("100mbit", "200mbit");
        apply(&other).says(&["near1: updated"]).ok();
        takt("revert").says(&["near1: given back"]).ok();
        let given_back = run("tc qdisc show dev near1").ok();
        assert_eq!(given_back, theirs);
        run("tc qdisc del dev near1 root").ok();
        assert!(wire.root_qdisc().starts_with("qdisc noqueue"));
    });
}

#[test]
fn with_more_below_it_is_never_replaced() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let cases: [(&str, &[&str]); 3] = [
            (
                "classes",
                &[
                    "tc qdisc add dev near1 root handle 1: htb default 10",
                    "tc class add dev near1 parent 1: classid 1:10 htb rate 10mbit",
                ],
            ),
            (
                "further qdiscs",
                &[
                    "tc qdisc add dev near1 root handle 1: prio",
                    "tc qdisc add dev near1 parent 1:1 handle 10: fq",
                ],
            ),
            (
                "filters",
                &[
                    "tc qdisc add dev near1 root handle 1: prio",
                    "tc filter add dev near1 parent 1: protocol ip u32 match ip dport 80 0xffff flowid 1:1",
                ],
            ),
        ];
        for (what, commands) in cases {
            commands.iter().for_each(|command| drop(run(command).ok()));
            let theirs = run("tc qdisc show dev near1").ok();
            apply_with("--replace", POLICY)
                .says(&[what, "tc qdisc del dev near1 root"])
                .ends_with(4);
            assert_eq!(run("tc qdisc show dev near1").ok(), theirs);
            run("tc qdisc del dev near1 root").ok();
        }
        assert_eq!(wire.gso_max_segs(), 65535);
        assert_no_trace();
    });
}

#[test]
fn that_took_takts_place_is_reported_and_left_alone() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        run("tc qdisc replace dev near1 root handle 99: fq").ok();
        let theirs = wire.root_qdisc();

        takt("status")
            .says(&["near1", "fq 99:, not takt"])
            .ends_with(4);
        apply(POLICY).says(&["fq 99:", "--replace"]).ends_with(4);
        takt("revert")
            .says(&["fq 99:", "left as it is"])
            .ends_with(4);
        assert_eq!(wire.root_qdisc(), theirs);
        // The other program did not touch this setting, so takt restores it.
        assert_eq!(wire.gso_max_segs(), 65535);
        assert_no_trace();
        takt("status").says(&["no links are managed"]).ok();
    });
}

/// In each state the command that `status` names is the one that works.
#[test]
fn what_status_advises_takes_the_device_back() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        apply(POLICY).ok();
        run("tc qdisc del dev near1 root").ok();
        takt("status")
            .says(&["; `takt apply` puts takt back"])
            .ends_with(4);
        apply(POLICY).says(&["near1: attached"]).ok();

        run("tc qdisc replace dev near1 root handle 99: fq").ok();
        takt("status")
            .says(&["`takt apply --replace`"])
            .ends_with(4);
        apply_with("--replace", POLICY)
            .says(&["near1: attached"])
            .ok();

        run("tc qdisc replace dev near1 root handle 98: htb default 1").ok();
        run("tc class add dev near1 parent 98: classid 98:1 htb rate 10mbit").ok();
        let advised = "tc qdisc del dev near1 root";
        takt("status").says(&[advised]).ends_with(4);
        apply_with("--replace", POLICY).ends_with(4);
        run(advised).ok();
        apply(POLICY).says(&["near1: attached"]).ok();
        takt("status").ok();
        takt("revert").ok();
        run("tc qdisc del dev near1 root");
        assert_no_trace();
    });
}

#[test]
fn a_deleted_qdisc_is_reported_and_put_back_by_apply() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        run("tc qdisc del dev near1 root").ok();
        let (links, code) = status();
        assert_eq!(code, Some(4));
        assert!(!links[0].attached);
        wire.assert_passes();

        apply(POLICY).says(&["near1: attached"]).ok();
        assert!(link("near1").attached);
        takt("revert").ok();
        assert_eq!(wire.gso_max_segs(), 65535);
        assert_no_trace();

        apply(POLICY).ok();
        run("tc qdisc del dev near1 root").ok();
        takt("revert").says(&["the kernel's default"]).ends_with(4);
        assert_eq!(wire.gso_max_segs(), 65535);
        assert_no_trace();
    });
}

#[test]
fn a_changed_segment_limit_is_put_right_by_apply() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        run("ip link set dev near1 gso_max_segs 100").ok();
        apply(POLICY).says(&["near1: updated"]).ok();
        assert_eq!(wire.gso_max_segs(), 8);
    });
}
