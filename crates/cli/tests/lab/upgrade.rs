//! A takt that was exchanged for another version while a policy is in force: what the version
//! before left is taken over, and what cannot be is named, and reverted.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use serde_json::{Value, json};

use crate::{
    crowd::congestion,
    everything::{EVERYTHING, assert_only_exchanges_lost, lost_during},
    inventory::Inventory,
    machine::DEFAULT,
    metronome::{MS, US, assert_stands, member, sleep_ms, spin, state},
    rounds,
    shell::{Ran, run, run_command},
    takt::{POLICY, apply, apply_with, assert_no_trace, takt},
    terminals::in_netns,
    wire::Wire,
};

const RECORDS: &str = "/run/takt";

/// The directories of pins.
const PINS: [&str; 3] = [
    "/sys/fs/bpf/takt",
    "/sys/fs/bpf/takt-beats",
    "/sys/fs/bpf/takt-crowd",
];

const CROWD: &str = r#"
[crowd]
group = "lab"
key_file = "/lab/crowd.key"
device = "near1"
"#;

const PLAIN: &str = "[link.near1]\nrate = \"100mbit\"\n";

const HINT: &str = "`takt revert`";

const HANDED_OVER: &str = "handed over from the programs of another version";

/// Every part of takt.
fn all() -> String {
    run("takt crowd key /lab/crowd.key");
    format!("{EVERYTHING}{CROWD}")
}

/// Every record, below the directory.
fn records(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(records(&path));
        } else if path.extension().is_some_and(|ending| ending == "json") {
            found.push(path);
        }
    }
    found
}

/// Changes every record, and returns their number.
fn edit(change: impl Fn(&mut Value)) -> usize {
    let records = records(Path::new(RECORDS));
    for path in &records {
        let mut record = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        change(&mut record);
        fs::write(path, record.to_string()).unwrap();
    }
    records.len()
}

/// Records and pins as takt left them before they had a version.
fn make_old() {
    let edited = edit(|record| {
        let fields = record.as_object_mut().unwrap();
        assert_eq!(fields.remove("version"), Some(json!(1)));
        fields.remove("boot_id").expect("a boot");
    });
    // Of two links, the beats, network processing, the crowd and the radio; the last but one has
    // none if no device can.
    assert!(edited >= 5, "{edited}");
    // The layouts of their pins are others since: see the handovers below.
}

/// The maps of the pins in this directory are of another version.
pub fn set_layout(dir: &str, abi: u32) {
    let map = MapHandle::from_pinned_path(format!("{dir}/takt_abi")).unwrap();
    map.update(&[0; 4], &abi.to_ne_bytes(), MapFlags::ANY)
        .unwrap();
}

/// What is in force, without counters.
fn in_force() -> Value {
    let status = takt("status --output json").ends_with(0).json();
    let of = |list: &str, keys: &[&str]| {
        let one = |one: &Value| keys.iter().map(|key| one[*key].clone()).collect::<Vec<_>>();
        let all: Vec<_> = status[list].as_array().unwrap().iter().map(one).collect();
        json!(all)
    };
    json!({
        "links": of("links", &["device", "policy", "generation", "rate_bps", "attached", "problem"]),
        "tasks": of("tasks", &["name"]),
        "crowd": status["crowd"]["group"],
    })
}

#[track_caller]
fn refused(ran: Ran, layout: &str) {
    ran.says(&["another version of takt", layout, HINT, "other_version"])
        .ends_with(1);
}

#[test]
fn what_the_version_before_left_is_taken_over() {
    DEFAULT.alone().run(|| {
        let nothing = Inventory::take();
        let wires = [1, 2].map(Wire::new);
        let before = Inventory::take();
        let policy = all();
        apply(&policy).ok();
        let found = in_force();
        make_old();
        assert_eq!(in_force(), found);
        assert_eq!(found["links"].as_array().unwrap().len(), 2);
        assert_eq!(found["crowd"], "lab");
        apply(&policy)
            .says(&["near1: unchanged", "near2: unchanged", "crowd: unchanged"])
            .ok();
        assert_eq!(in_force(), found);
        assert_stands();
        // What is written from now on has the new form.
        apply(
            &policy
                .replace("200mbit", "100mbit")
                .replace("budget = \"2ms\"", "budget = \"1ms\""),
        )
        .says(&["near1: updated"])
        .ok();
        let of_near1 = records(Path::new(RECORDS)).into_iter().filter(|path| {
            let text = fs::read_to_string(path).unwrap();
            text.contains("\"version\": 1") && text.contains("boot_id")
        });
        assert!(of_near1.count() >= 2);
        takt("revert").ok();
        assert_no_trace();
        before.assert_is_back();

        // Reverted at once.
        apply(&policy).ok();
        make_old();
        takt("revert")
            .says(&[
                "near1: given back",
                "crowd: left",
                "the scheduler is unloaded",
            ])
            .ok();
        assert_no_trace();
        assert_eq!(congestion(), "cubic");
        drop(wires);
        nothing.assert_is_back();
    });
}

#[test]
fn another_layout_is_named_and_reverted() {
    DEFAULT.alone().run(|| {
        let wires = [1, 2].map(Wire::new);
        run("tc qdisc replace dev near1 root handle 8123: fq").ok();
        let before = Inventory::take();
        let policy = all();
        // Of the scheduler and the congestion control alone: see the maps of another size.
        for others in [vec![PINS[0]], PINS.to_vec()] {
            apply_with("--replace", &policy).ok();
            for dir in &others {
                set_layout(dir, 99);
            }
            for ran in [takt("status"), takt("apply --confirm 9s /lab/policy.toml")] {
                refused(ran, "layout 99");
            }
            takt("apply --dry-run /lab/policy.toml")
                .says(&["would be handed over"])
                .ok();
            run("tc qdisc show dev near1").says(&["qdisc takt"]).ok();
            takt("revert")
                .says(&[
                    "near1: given back",
                    "near2: given back",
                    "the scheduler is unloaded",
                    "crowd: left",
                ])
                .ok();
            assert_no_trace();
            assert_eq!(congestion(), "cubic");
            assert_eq!(state(), "disabled");
            before.assert_is_back();
            wires[0].assert_passes();
        }
        // And then applied again.
        apply_with("--replace", &policy).ok();
        takt("revert").ok();
        before.assert_is_back();
    });
}

/// Each part alone, and all of them: devices never are without takt's qdisc, and beats are late for
/// as long as the kernel needs to exchange schedulers.
#[test]
fn another_layout_is_handed_over_under_load() {
    DEFAULT.alone().run(|| {
        let wires = [1, 2].map(Wire::new);
        run("tc qdisc replace dev near1 root handle 8123: fq").ok();
        let before = Inventory::take();
        let policy = all();
        apply_with("--replace", &policy).ok();
        let found = in_force();
        let every = [PINS.to_vec()];
        let parts = PINS.map(|dir| vec![dir]).into_iter().chain(every);
        for others in rounds::in_turn("parts of another layout", parts, 2) {
            for dir in &others {
                set_layout(dir, 99);
            }
            let beats = member("beat", 1200, |_| spin(500 * US));
            let lost = lost_during(&wires[0], 5001, || {
                sleep_ms(100);
                apply(&policy).says(&[HANDED_OVER]).ok();
                sleep_ms(100);
            });
            assert_only_exchanges_lost(&lost, 1);
            let off = off_beat_ns(&beats.join().unwrap());
            println!(
                "{others:?}: {} packets lost, {off} ns off the beat",
                lost.len()
            );
            assert!(
                off <= if others.contains(&PINS[1]) {
                    100 * MS
                } else {
                    0
                }
            );
            apply(&policy)
                .says(&["near1: unchanged", "near2: unchanged", "crowd: unchanged"])
                .ok();
            assert_eq!(
                without_generations(in_force()),
                without_generations(found.clone())
            );
            assert_eq!(congestion(), "takt");
            assert_stands();
        }
        takt("revert").ok();
        assert_no_trace();
        before.assert_is_back();
    });
}

/// From the first job that did not begin a period after the one before, to the last.
fn off_beat_ns(starts_ns: &[u64]) -> u64 {
    let off: Vec<u64> = { starts_ns[1..].windows(2) }
        .filter(|pair| (pair[1] - pair[0]).abs_diff(10 * MS) > 2 * MS)
        .map(|pair| pair[1])
        .collect();
    match off[..] {
        [] => 0,
        [first, ..] => off[off.len() - 1] - first + 10 * MS,
    }
}

/// A new link counts its policies anew.
fn without_generations(mut in_force: Value) -> Value {
    for link in in_force["links"].as_array_mut().unwrap() {
        link.as_array_mut().unwrap().remove(2);
    }
    in_force
}

#[test]
fn what_cannot_be_handed_over_stays_or_is_taken_back() {
    DEFAULT.alone().run(|| {
        let wire = Wire::new(1);
        let before = Inventory::take();
        apply(PLAIN).ok();
        set_layout(PINS[0], 99);
        apply("[link.missing]\nrate = \"1mbit\"\n").ends_with(5);
        refused(takt("status"), "layout 99");
        run("tc qdisc show dev near1").says(&["qdisc takt"]).ok();
        wire.assert_passes();

        // A record cannot be written, which is found out when the old programs are gone.
        fs::write(POLICY, PLAIN).unwrap();
        let script = format!("trap '' XFSZ; ulimit -f 0; exec takt apply {POLICY}");
        run_command(Command::new("sh").args(["-c", &script]))
            .says(&["everything was reverted", "not_handed_over"])
            .ends_with(1);
        assert_no_trace();
        wire.assert_passes();
        before.assert_is_back();
        apply(PLAIN).says(&["near1: attached"]).ok();
    });
}

/// Without a number it is the first layout, of the scheduler as of the congestion control.
#[test]
fn a_map_of_another_size_is_handed_over_and_reverted() {
    DEFAULT.alone().run(|| {
        let wires = [1, 2].map(Wire::new);
        let before = Inventory::take();
        let policy = all();
        for (dir, name) in [(PINS[1], "takt_members"), (PINS[2], "takt_crowd_groups")] {
            let make_other = || {
                apply(&policy).ok();
                // Any other map, and the number is gone.
                fs::rename(format!("{dir}/takt_abi"), format!("{dir}/{name}")).unwrap();
                refused(takt("status"), "layout 1");
            };
            make_other();
            apply(&policy).says(&[HANDED_OVER]).ok();
            make_other();
            takt("revert").says(&["near1: given back"]).ok();
            assert_no_trace();
            assert_eq!(congestion(), "cubic");
            before.assert_is_back();
        }
        drop(wires);
    });
}

#[test]
fn links_of_each_namespace_are_reverted_there() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        let before = Inventory::take();
        let far = "[link.far1]\nrate = \"50mbit\"\n";
        apply(PLAIN).ok();
        fs::write(POLICY, far).unwrap();
        in_netns("b", &format!("takt apply {POLICY}")).ok();
        set_layout(PINS[0], 4);
        refused(takt("status"), "layout 4");
        let elsewhere = "links of other network namespaces";
        takt("revert").says(&[elsewhere]).ends_with(1);
        run("tc qdisc show dev near1").says(&["noqueue"]).ok();
        in_netns("b", "tc qdisc show dev far1")
            .says(&["qdisc takt"])
            .ok();
        apply(PLAIN).says(&[elsewhere, "far1"]).ends_with(1);
        in_netns("b", "takt revert")
            .says(&["far1: given back"])
            .ok();
        assert_no_trace();
        before.assert_is_back();
        apply(PLAIN).ok();
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn records_that_cannot_be_used_are_named_and_reverted() {
    DEFAULT.alone().run(|| {
        let _wires = [1, 2].map(Wire::new);
        run("tc qdisc replace dev near1 root handle 8123: fq").ok();
        let before = Inventory::take();
        let policy = all();

        // A newer one has all that is needed.
        apply_with("--replace", &policy).ok();
        edit(|record| record["version"] = json!(2));
        let newer = "a newer takt wrote it (version 2";
        for ran in [takt("status"), apply(&policy)] {
            ran.says(&[RECORDS, newer, "`takt revert`"]).ends_with(1);
        }
        takt("revert").says(&["near1: given back"]).ok();
        assert_no_trace();
        before.assert_is_back();

        // Of half a record nothing is known: it is the kernel's default then.
        apply_with("--replace", &policy).ok();
        for path in records(Path::new(RECORDS)) {
            let text = fs::read(&path).unwrap();
            fs::write(&path, &text[..text.len() / 2]).unwrap();
        }
        for ran in [takt("status"), apply(&policy)] {
            ran.says(&[RECORDS, "EOF", "`takt revert`"]).ends_with(1);
        }
        takt("revert").says(&["given back"]).ok();
        assert_no_trace();
        assert_eq!(congestion(), "cubic");
        run("tc qdisc show dev near1").says(&["noqueue"]).ok();
    });
}

/// The kernel knows nothing of them, or means something else by the same numbers.
#[test]
fn records_of_another_boot_do_not_count() {
    DEFAULT.alone().run(|| {
        let _wires = [1, 2].map(Wire::new);
        let before = Inventory::take();
        apply(&all()).ok();
        run(&format!("cp -a {RECORDS} /lab/persistent")).ok();
        takt("revert").ok();
        run(&format!("cp -a /lab/persistent {RECORDS}")).ok();
        edit(|record| record["boot_id"] = json!("another"));
        takt("status").says(&["no links are managed"]).ok();
        takt("revert").says(&["nothing to revert"]).ok();
        assert_no_trace();
        // The numbers are the same again.
        run(&format!("cp -a /lab/persistent {RECORDS}")).ok();
        edit(|record| {
            record["boot_id"] = json!("another");
            record["before"] = json!("nonsense");
        });
        apply(PLAIN).says(&["near1: attached"]).ok();
        takt("status").says(&["near1"]).ok();
        takt("revert").says(&["near1: given back"]).ok();
        assert_no_trace();
        before.assert_is_back();
        run("rm -r /lab/persistent").ok();
    });
}
