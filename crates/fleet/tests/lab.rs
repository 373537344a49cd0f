//! Three hosts with the real takt, in a real kernel: tests/lab.sh, in the lab's machine.

use std::{path::Path, process::Command};

/// From one heading of the script's output to the next.
fn part<'a>(told: &'a str, heading: &str) -> &'a str {
    let begin = told.find(&format!("== {heading}\n"));
    let begin = begin.unwrap_or_else(|| panic!("no {heading:?} in {told}"));
    let rest = &told[begin + 3..];
    &rest[..rest.find("\n== ").unwrap_or(rest.len())]
}

#[test]
fn bad_policies_stay_with_their_canaries() {
    let fleet = Path::new(env!("CARGO_BIN_EXE_takt-fleet"));
    let takt = fleet.with_file_name("takt");
    assert!(
        takt.exists(),
        "takt and takt-lab lie beside takt-fleet: make build"
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab.sh");
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    let server = path
        .split(':')
        .map(|folder| Path::new(folder).join("nats-server"));
    let server = server.into_iter().find(|file| file.exists());
    let server = server.expect("there is a nats-server; scripts/deps installs it");
    let ran = Command::new(takt)
        .args(["lab", "exec", "--add"])
        .arg(server)
        .arg("--add")
        .arg(fleet)
        .arg("--add")
        .arg(script)
        .args(["--", "bash", "/add/lab.sh"])
        .output()
        .expect("it starts");
    let told = String::from_utf8_lossy(&ran.stdout);
    let whole = format!("{told}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{whole}");

    let good = part(&told, "good");
    assert!(
        good.contains("all: every host that is there runs it"),
        "{whole}"
    );
    for host in ["h1", "h2", "h3"] {
        assert!(good.contains(&format!("{host}: qdisc htb")), "{whole}");
    }
    for (heading, why) in [
        ("drops a class", "not healthy: there is no class voice"),
        ("cuts off", "it cut off the engine"),
    ] {
        let bad = part(&told, heading);
        assert!(bad.contains("[   0 s] 1 of 3 hosts released"), "{whole}");
        assert!(!bad.contains("[   0 s] 3 of 3"), "{whole}");
        assert!(bad.contains(why) && bad.contains("exit 1"), "{whole}");
    }
    // All three have the good one again, each with a class for voice.
    let end = part(&told, "end");
    assert_eq!(end.matches("qdisc codel").count(), 3, "{whole}");
    assert!(end.contains("3 of 3 hosts released, 3 keep it"), "{whole}");
}
