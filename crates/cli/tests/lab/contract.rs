//! The guarantees of `takt lab exec` to scripts.

use std::{fs, process::Command};

use crate::{
    machine::{DEFAULT, TWO_PROCESSORS},
    shell::{Ran, run_command},
};

fn in_lab(command: &mut Command, script: &str) -> Ran {
    run_command(command.args(["--", "sh", "-c", script]))
}

#[test]
fn output_and_status_are_the_commands() {
    let everything = r#"
        i=0; while [ $i -lt 256 ]; do printf "\\x$(printf %02x $i)"; i=$((i + 1)); done
        echo to stderr >&2
        head -c 300000 /dev/zero
        printf 'no line end'
        exit 42
    "#;
    let done = DEFAULT
        .exec()
        .args(["--", "bash", "-c", everything])
        .output()
        .unwrap();
    let mut expected: Vec<u8> = (0..=255).collect();
    expected.resize(256 + 300_000, 0);
    expected.extend(b"no line end");
    assert!(
        done.stdout == expected,
        "standard output is not the command's"
    );
    assert!(String::from_utf8_lossy(&done.stderr).contains("to stderr"));
    assert_eq!(done.status.code(), Some(42));
}

#[test]
fn a_signal_is_told_as_shells_do() {
    in_lab(&mut DEFAULT.exec(), "kill -9 $$").ends_with(128 + 9);
}

#[test]
fn the_machine_is_as_described() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("some text.txt");
    fs::write(&text, "as it was\n").unwrap();
    let script = r#"
        set -e
        id -u
        pwd
        cat '/add/some text.txt'
        /add/true && echo runs
        echo written > /lab/file && cat /lab/file
        for program in takt tc ip iperf3 ethtool sh; do command -v $program > /dev/null || echo no $program; done
        ip netns list | sort | cut -d' ' -f1 | xargs
        ip -br addr show dev va | xargs
        ip netns exec b ip -br addr show dev vb | xargs
        tc qdisc show dev va | cut -d' ' -f2
        ethtool -k va | grep -cE '^(tcp-segmentation-offload|generic-segmentation-offload|generic-receive-offload): on' || true
        ping -c 1 10.0.0.2 > /dev/null && echo pong
        nproc
        uname -r | cut -d. -f1,2
    "#;
    let said = in_lab(
        TWO_PROCESSORS
            .exec()
            .arg("--add")
            .arg(&text)
            .args(["--add", "/bin/true"]),
        script,
    )
    .ok();
    let lines: Vec<&str> = said.lines().collect();
    let expected = [
        "0",
        "/lab",
        "as it was",
        "runs",
        "written",
        "a b",
        "va@if2 UP 10.0.0.1/24 fd00::1/64",
        "vb@if2 UP 10.0.0.2/24 fd00::2/64",
        "noqueue",
        "0",
        "pong",
        "2",
        "6.18",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn what_cannot_be_done_is_said() {
    let lab = || {
        let mut takt = Command::new(env!("CARGO_BIN_EXE_takt"));
        takt.args(["lab", "exec"]);
        takt
    };
    in_lab(lab().args(["--kernel", "1.2.3"]), "true")
        .says(&["no kernel matches", "1.2.3", "6.18"])
        .ends_with(1);
    in_lab(lab().args(["--add", "/no/such/file"]), "true")
        .says(&["/no/such/file"])
        .ends_with(1);
    in_lab(lab().args(["--smp", "0"]), "true").ends_with(2);
    in_lab(lab().args(["--net", "moon"]), "true").ends_with(2);
    run_command(&mut lab()).ends_with(2);
    run_command(DEFAULT.exec().args(["--", "no-such-program"]))
        .says(&["no-such-program"])
        .ends_with(127);
}

#[test]
fn a_kernel_that_complains_fails_the_run() {
    let script = "echo c > /proc/sysrq-trigger";
    in_lab(&mut DEFAULT.exec(), script)
        .says(&["the lab kernel complained", "sysrq triggered crash"])
        .ends_with(1);
}
