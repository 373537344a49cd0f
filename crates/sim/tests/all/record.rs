//! Recording, in a network namespace of its own: what goes over its loopback device is kept and
//! replays, SIGINT ends it, and nothing is written over.
//!
//! Where user namespaces are not allowed, these tests say so and do nothing.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;
use tempfile::TempDir;

/// Runs a script in a new namespace whose loopback device is up; `takt_sim` is the program. `None`
/// where that is not allowed.
fn in_namespace(folder: &Path, script: &str) -> Option<Output> {
    let alone = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "bash", "-c", script]);
        command.current_dir(folder);
        command
            .env("takt_sim", env!("CARGO_BIN_EXE_takt-sim"))
            .output()
    };
    match alone("ip link set lo up") {
        Ok(output) if output.status.success() => {}
        refused => {
            eprintln!("not tested: no network namespace for this user: {refused:?}");
            return None;
        }
    }
    let script = format!("ip link set lo up\n{script}");
    Some(alone(&script).expect("it ran before"))
}

/// A datagram of 1,000 bytes to port 9 every 10 ms, for so many.
const SEND: &str = "send() { for ((i = 0; i < $1; i++)); do \
                    head -c 1000 /dev/zero >/dev/udp/127.0.0.1/9; sleep 0.01; done; }\n";

fn said(output: &Output) -> String {
    let (out, error) = (&output.stdout, &output.stderr);
    String::from_utf8_lossy(out).into_owned() + &String::from_utf8_lossy(error)
}

fn recorded(output: &Output) -> Value {
    assert!(output.status.success(), "{}", said(output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn what_is_recorded_replays() {
    let folder = TempDir::new().expect("a folder");
    let script = format!(
        "{SEND}send 50 &\n\
         \"$takt_sim\" --record lo 2s --to one.toml --hash-addresses --output json"
    );
    let Some(output) = in_namespace(folder.path(), &script) else {
        return;
    };
    let value = recorded(&output);
    // Some may come before it listens; answers of ICMP come, too.
    let packets = value["packets"].as_u64().expect("a number");
    assert!((40..=110).contains(&packets), "{value}");
    assert_eq!(
        (&value["end"], &value["missed_packets"]),
        (&"time".into(), &0.into())
    );
    for name in ["one.toml", "one.pcap"] {
        let mode = fs::metadata(folder.path().join(name))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let capture = fs::read(folder.path().join("one.pcap")).expect("a capture");
    let loopback = [127, 0, 0, 1];
    assert!(
        !capture.windows(4).any(|bytes| bytes == loopback),
        "a true address"
    );
    assert!(capture.len() as u64 <= 24 + packets * (16 + 42), "payload");

    let policy = "[link.a]\nrate = \"10mbit\"\n[[link.a.class]]\nname = \"c\"\n\
                  match = { proto = \"udp\", dst_port = 9 }\n";
    fs::write(folder.path().join("policy.toml"), policy).expect("a policy");
    let replayed = Command::new(env!("CARGO_BIN_EXE_takt-sim"))
        .current_dir(folder.path())
        .args(["policy.toml", "--traffic", "one.toml", "--output", "json"])
        .output()
        .expect("takt-sim starts");
    let value = recorded(&replayed);
    let run = &value["variants"][0]["runs"][0];
    assert_eq!(run["delivered_packets"], packets, "{run}");
    assert_eq!(run["classes"][0]["name"], "c");
}

#[test]
fn an_interrupt_ends_it_and_no_file_is_written_over() {
    let folder = TempDir::new().expect("a folder");
    let script = format!(
        "{SEND}send 300 &\n\
         timeout --signal=INT 20 \"$takt_sim\" --record lo 1h --output json >early 2>&1\n\
         timeout --signal=INT --preserve-status 6 \"$takt_sim\" --record lo 600s --output json\n\
         \"$takt_sim\" --record lo 1s >again 2>&1\n\
         \"$takt_sim\" --record lo 100ms --to none.toml >none 2>&1\n\
         \"$takt_sim\" --record nothing 1s >unknown 2>&1\n\
         true"
    );
    let Some(output) = in_namespace(folder.path(), &script) else {
        return;
    };
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    assert!(
        read("early").contains("is not a unit of time"),
        "{}",
        read("early")
    );
    let value = recorded(&output);
    assert_eq!(value["end"], "signal");
    // How many there are by then is up to the machine.
    assert!(value["packets"].as_u64() > Some(0), "{value}");
    assert!(
        read("again").contains("say another place with --to"),
        "{}",
        read("again")
    );
    assert!(
        read("unknown").contains("there is no device nothing"),
        "{}",
        read("unknown")
    );
    if read("none").contains("no packet left lo") {
        assert!(!folder.path().join("none.toml").exists());
        assert!(!folder.path().join("none.pcap").exists());
    }
    assert!(read("recorded.toml").contains("kind = \"capture\""));
}

/// /sys shows the devices of the network namespace in which it was mounted.
#[test]
fn devices_of_another_namespace_than_sysfs_are_recorded() {
    let folder = TempDir::new().expect("a folder");
    let script = format!(
        "ip link add inner0 type dummy && ip link set inner0 up || exit 77\n\
         {SEND}send 5 &\n\
         \"$takt_sim\" --record inner0 200ms --to one.toml --output json"
    );
    let Some(output) = in_namespace(folder.path(), &script) else {
        return;
    };
    match output.status.code() {
        Some(77) => eprintln!("not tested: no device can be made: {}", said(&output)),
        _ => assert!(
            !said(&output).contains("there is no device"),
            "{}",
            said(&output)
        ),
    }
}
