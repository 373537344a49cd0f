//! Links on trees of HTB classes: on kernels without BPF qdiscs, and wherever a policy demands it.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    flow::Flow,
    machine::{DEFAULT, NEWEST, WITHOUT_BPF_QDISCS, on_old_kernels},
    shell::{run, run_far},
    takt::{apply, assert_no_trace, link, status, takt},
    wire::Wire,
};

const PAYLOAD_BYTES: usize = 1000;

/// Guarantees of 160 % of the link.
fn crowded(link_rate: &str) -> String {
    let classes = [4, 4, 4, 2, 2].iter().enumerate().map(|(at, mbit)| {
        format!(
            "[[link.near1.class]]\nname = \"c{at}\"\nrate = \"{mbit}mbit\"\naqm = \"off\"\n\
             match = {{ proto = \"udp\", dst_port = {} }}\n",
            6001 + at
        )
    });
    let link = format!("[link.near1]\nbackend = \"tree\"\nrate = \"{link_rate}\"\n");
    link + &classes.collect::<String>()
}

fn on_tree(policy: &str) -> String {
    policy.replace("[link.near1]\n", "[link.near1]\nbackend = \"tree\"\n")
}

const PLAIN: &str = r#"
[link.near1]
rate = "10mbit"

[[link.near1.class]]
name = "stream"
rate = "1mbit"
aqm = "off"
match = { proto = "udp", dst_port = 5001 }
"#;

fn shares_are_kept(wire: &Wire) {
    apply(&crowded("10mbit")).says(&["attached (tree)"]).ok();
    let mut flows: Vec<Flow> = (0..5).map(|at| Flow::new(wire, 6001 + at)).collect();
    for flow in &mut flows {
        flow.send(900, PAYLOAD_BYTES);
    }
    let before = link("near1");
    let began = Instant::now();
    assert_eq!(before.backend, "tree");
    thread::sleep(Duration::from_millis(1500));
    let after = link("near1");
    let seconds = began.elapsed().as_secs_f64();
    let sent = |at: usize| {
        let name = format!("c{at}");
        (after.class(&name).sent_bytes - before.class(&name).sent_bytes) as f64
    };
    let total: f64 = (0..5).map(sent).sum();
    for (at, share) in [0.25, 0.25, 0.25, 0.125, 0.125].into_iter().enumerate() {
        let found = sent(at) / total;
        assert!((found - share).abs() < 0.01 * share, "c{at}: {found}");
    }
    let link_bytes = total / (10e6 / 8.0 * seconds);
    assert!((0.97..1.03).contains(&link_bytes), "{link_bytes}");
    // All that was accepted arrives.
    for flow in &flows {
        assert_eq!(flow.arrivals().len(), 900);
    }
    takt("revert").ok();
    assert_eq!(wire.root_qdisc(), "qdisc noqueue 0: root");
    assert_no_trace();
}

#[test]
fn shares_are_kept_on_old_kernels() {
    on_old_kernels(|| shares_are_kept(&Wire::new(1)));
}

#[test]
fn shares_are_kept_without_bpf_qdiscs() {
    WITHOUT_BPF_QDISCS.run(|| shares_are_kept(&Wire::new(1)));
}

#[test]
fn shares_are_kept_where_the_policy_demands_it() {
    DEFAULT.run(|| shares_are_kept(&Wire::new(1)));
}

#[test]
fn shares_are_kept_on_the_newest_kernel() {
    NEWEST.run(|| shares_are_kept(&Wire::new(1)));
}

/// Policies that users begin with, and the device that each names.
const EXAMPLES: [(&str, &str); 3] = [
    (
        include_str!("../../../../examples/media-server.toml"),
        "link.eth0",
    ),
    (
        include_str!("../../../../examples/home-gateway.toml"),
        "link.wan0",
    ),
    (
        include_str!("../../../../examples/tenants.toml"),
        "link.eth0",
    ),
];

/// Applied, changed while packets wait, and given back.
fn examples_come_and_go(wire: &Wire) {
    for (text, device) in EXAMPLES {
        let policy = text.replace(device, "link.near1");
        apply(&policy).says(&["near1: attached (tree)"]).ok();
        apply(&policy).says(&["near1: unchanged (tree)"]).ok();
        let classes = link("near1").class_names().join(" ");
        assert!(classes.contains("default"), "{classes}");
        takt("status").says(&["backend: tree", "not kept: "]).ok();
        let mut flow = Flow::new(wire, 9000);
        flow.send(300, PAYLOAD_BYTES);
        let changed = policy
            .replace("floor = \"5mbit", "floor = \"6mbit")
            .replace("2mbit", "3mbit")
            .replace("4mbit", "5mbit");
        apply(&changed).says(&["near1: updated (tree)"]).ok();
        assert_eq!(flow.arrivals().len(), 300);
        takt("revert").says(&["near1: given back"]).ok();
        assert_eq!(wire.root_qdisc(), "qdisc noqueue 0: root");
        assert_no_trace();
    }
}

#[test]
fn examples_come_and_go_on_old_kernels() {
    on_old_kernels(|| examples_come_and_go(&Wire::new(1)));
}

#[test]
fn classes_come_go_and_move_while_packets_wait() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        apply(PLAIN).ok();
        let mut flow = Flow::new(&wire, 5001);
        flow.send(200, PAYLOAD_BYTES);
        let with_tenant = format!(
            "{PLAIN}[[link.near1.tenant]]\nname = \"acme\"\nrate = \"2mbit\"\nceil = \"5mbit\"\n\
             [[link.near1.class]]\nname = \"web\"\ntenant = \"acme\"\nrate = \"1mbit\"\n\
             match = {{ proto = \"tcp\" }}\n"
        );
        apply(&with_tenant).says(&["updated"]).ok();
        assert_eq!(link("near1").class_names(), ["default", "stream", "web"]);
        // A class that moves into the tenant loses its queue with its old place.
        let moved =
            with_tenant.replace("name = \"stream\"", "name = \"stream\"\ntenant = \"acme\"");
        assert_eq!(flow.arrivals().len(), 200);
        apply(&moved).says(&["updated"]).ok();
        let shown = run("tc class show dev near1").ok();
        assert_eq!(shown.matches("class htb").count(), 5, "{shown}");
        flow.send(100, PAYLOAD_BYTES);
        apply(PLAIN).says(&["updated"]).ok();
        wire.assert_passes();
        let shown = run("tc class show dev near1").ok();
        assert_eq!(shown.matches("class htb").count(), 3, "{shown}");
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn a_tree_on_trial_gives_way_to_the_one_before() {
    on_old_kernels(|| {
        let wires = [1, 2].map(Wire::new);
        apply(PLAIN).ok();
        let wider = PLAIN.replace("10mbit", "20mbit");
        let both = format!("{wider}{}", PLAIN.replace("near1", "near2"));
        for next in [wider, both, PLAIN.replace("near1", "near2")] {
            fs::write("/lab/new.toml", next).unwrap();
            takt("apply --confirm 2s /lab/new.toml").says(&["not confirmed"]);
            let (links, code) = status();
            assert_eq!((links.len(), code), (1, Some(0)));
            assert_eq!(
                (&*links[0].device, links[0].rate_bps),
                ("near1", 10_000_000)
            );
            assert_eq!(wires[1].root_qdisc(), "qdisc noqueue 0: root");
            wires[0].assert_passes();
        }
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn each_namespace_has_its_own_trees() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        apply(PLAIN).ok();
        fs::write("/lab/far.toml", PLAIN.replace("near1", "far1")).unwrap();
        run_far("takt apply /lab/far.toml")
            .says(&["far1: attached (tree)"])
            .ok();
        assert_eq!(status().0.len(), 1);
        takt("revert").says(&["near1: given back"]).ok();
        run_far("takt status").says(&["far1", "backend: tree"]).ok();
        wire.assert_passes();
        run_far("takt revert").ok();
        assert_no_trace();
    });
}

/// Another program's qdisc is not taken for the tree that was there, on either backend.
#[test]
fn no_backend_takes_another_programs_qdisc_for_the_others() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(&on_tree(PLAIN)).ok();
        run("tc qdisc replace dev near1 root handle 5: pfifo").ok();
        apply(PLAIN).says(&["pfifo 5:", "--replace"]).ends_with(4);
        assert!(wire.root_qdisc().starts_with("qdisc pfifo 5:"));
        run("tc qdisc del dev near1 root").ok();
        apply(PLAIN).ok();
        run("tc qdisc replace dev near1 root handle 5: pfifo").ok();
        apply(&on_tree(PLAIN))
            .says(&["pfifo 5:", "--replace"])
            .ends_with(4);
        takt("revert").ends_with(4);
        run("tc qdisc del dev near1 root").ok();
        assert_no_trace();
    });
}

/// The kernel changes only some of a queue's terms.
#[test]
fn queues_change_their_terms_and_kinds() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        apply(PLAIN).ok();
        let many: String = (0..300)
            .map(|at| {
                format!(
                    "[[link.near1.class]]\nname = \"m{at}\"\nrate = \"10kbit\"\n\
                     match = {{ proto = \"udp\", dst_port = {} }}\n",
                    7000 + at
                )
            })
            .collect();
        for aqm in [
            "codel",
            "fq_codel",
            "off",
            "fq_codel\"\ntarget = \"9ms",
            "codel",
        ] {
            let changed = PLAIN.replace("\"off\"", &format!("\"{aqm}\""));
            apply(&changed).says(&["near1: updated (tree)"]).ok();
            apply(&format!("{changed}{many}"))
                .says(&["near1: updated (tree)"])
                .ok();
            wire.assert_passes();
        }
        apply(PLAIN).says(&["near1: updated (tree)"]).ok();
        let shown = run("tc qdisc show dev near1").ok();
        assert_eq!(shown.lines().count(), 3, "{shown}");
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn a_link_moves_from_one_backend_to_the_other() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        run("tc qdisc add dev near1 root handle 1: pfifo limit 77").ok();
        let found = wire.root_qdisc();
        let replace = |policy: &str| crate::takt::apply_with("--replace", policy);
        replace(PLAIN).says(&["near1: attached"]).ok();
        for _ in 0..2 {
            apply(&on_tree(PLAIN))
                .says(&["near1: attached (tree)"])
                .ok();
            assert_eq!(link("near1").backend, "tree");
            wire.assert_passes();
            apply(PLAIN).says(&["near1: attached"]).ok();
            assert_eq!(link("near1").backend, "takt");
            wire.assert_passes();
        }
        let (links, code) = status();
        assert_eq!((links.len(), code), (1, Some(0)));
        apply(&on_tree(PLAIN)).ok();
        takt("revert").says(&["near1: given back"]).ok();
        assert_eq!(wire.root_qdisc(), found);
        assert_no_trace();
    });
}

#[test]
fn what_a_tree_does_not_keep_is_refused_or_said() {
    on_old_kernels(|| {
        let _wire = Wire::new(1);
        let flows = format!("{PLAIN}per_flow = true\n");
        // Text is wrapped before it.
        let why = "stream)";
        apply(&flows).says(&[why, "no_backend"]).ends_with(3);
        assert_no_trace();
        apply(&format!("{flows}best_effort = true\n")).ok();
        takt("status").says(&["not kept: ", why]).ok();
        takt("check --explain /lab/policy.toml")
            .says(&["near1: tree", why])
            .ok();
        takt("check --kernel 6.1 --explain /lab/policy.toml")
            .says(&["on Linux 6.1:", "near1: tree", why])
            .ok();
        takt("check --kernel 7.3 --explain /lab/policy.toml")
            .says(&["on Linux 7.3", "near1: takt"])
            .ok();
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn another_programs_qdisc_is_reported_and_left() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        run("tc qdisc add dev near1 root handle 1: prio").ok();
        apply(PLAIN).says(&["prio", "--replace"]).ends_with(4);
        run("tc qdisc del dev near1 root").ok();
        apply(PLAIN).ok();
        run("tc qdisc replace dev near1 root handle 5: pfifo").ok();
        takt("status")
            .says(&["the device carries pfifo 5:"])
            .ends_with(4);
        takt("revert").says(&["left as it is"]).ends_with(4);
        assert!(wire.root_qdisc().starts_with("qdisc pfifo 5:"));
        assert_no_trace();
        run("tc qdisc del dev near1 root").ok();
        // A device that goes takes its tree along.
        apply(PLAIN).ok();
        run("ip link del near1").ok();
        takt("status").says(&["the device is gone"]).ends_with(4);
        wire.make();
        apply(PLAIN).says(&["near1: attached (tree)"]).ok();
        takt("revert").ok();
        assert_no_trace();
    });
}

/// Until the directory of a tree has a second record: the change has begun.
fn wait_for_second_record() {
    let records = || {
        let places = fs::read_dir("/run/takt/stock").unwrap();
        let files = places
            .flatten()
            .flat_map(|place| fs::read_dir(place.path()));
        files
            .flatten()
            .flatten()
            .filter(|file| {
                let name = file.file_name();
                name.to_string_lossy()
                    .starts_with(|first: char| first.is_ascii_digit())
            })
            .count()
    };
    for _ in 0..1_000_000 {
        if records() > 1 {
            return;
        }
    }
    panic!("the change has not begun");
}

/// At several moments of a change from few classes to many.
#[test]
fn a_change_that_was_cut_short_is_completed() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        let many: String = (0..200)
            .map(|at| {
                format!(
                    "[[link.near1.class]]\nname = \"m{at}\"\nrate = \"10kbit\"\n\
                     match = {{ proto = \"udp\", dst_port = {} }}\n",
                    7000 + at
                )
            })
            .collect();
        let large = format!("{}{many}", PLAIN.replace("1mbit", "2mbit"));
        let mut found_unfinished = 0;
        for delay_ms in 0..10 {
            apply(PLAIN).ok();
            fs::write("/lab/large.toml", &large).unwrap();
            let mut child = Command::new("takt")
                .args(["apply", "/lab/large.toml"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            wait_for_second_record();
            thread::sleep(Duration::from_millis(delay_ms));
            child.kill().unwrap();
            child.wait().unwrap();
            found_unfinished += u32::from(takt("status").status == Some(4));
            apply(PLAIN).ok();
            takt("status").ok();
            let shown = run("tc class show dev near1").ok();
            assert_eq!(shown.matches("class htb").count(), 3, "{delay_ms}: {shown}");
            assert!(
                shown.contains("rate 1Mbit ceil 1Mbit"),
                "{delay_ms}: {shown}"
            );
        }
        assert!(found_unfinished > 0, "no change was cut short");
        wire.assert_passes();
        takt("revert").ok();
        assert_no_trace();
    });
}

/// As a takt leaves it that dies between two of the kernel's answers.
#[test]
fn half_a_tree_is_taken_back() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        for next in ["apply /lab/policy.toml", "revert"] {
            apply(PLAIN).ok();
            run("tc filter del dev near1 parent 7a80:").ok();
            let place = fs::read_dir("/run/takt/stock").unwrap().next().unwrap();
            fs::remove_file(place.unwrap().path().join("stood")).unwrap();
            takt(next).ok();
            wire.assert_passes();
            takt("revert").ok();
            assert_eq!(wire.root_qdisc(), "qdisc noqueue 0: root");
            assert_no_trace();
        }
        // One whose classifier was removed by hand is repaired.
        apply(PLAIN).ok();
        run("tc filter del dev near1 parent 7a80:").ok();
        takt("status").says(&["not takt"]).ends_with(4);
        apply(PLAIN).says(&["near1: attached (tree)"]).ok();
        takt("status").ok();
        takt("revert").ok();
        assert_no_trace();
    });
}
