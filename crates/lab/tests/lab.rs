//! What takt-lab says without a machine. What a machine promises is in the tests of `takt`.

use std::process::{Command, Output};

fn takt_lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_takt-lab"))
        .args(arguments)
        .output()
        .expect("takt-lab starts")
}

#[test]
fn wrong_arguments_are_named() {
    for (arguments, status, says) in [
        (&["moon"][..], 2, "moon"),
        (&["exec"], 2, "COMMAND"),
        (&["exec", "--smp", "0", "--", "true"], 2, "--smp"),
        (&["run", "moon"], 2, "pacing"),
        (
            &["exec", "--add", "/no/such/file", "--", "true"],
            1,
            "/no/such/file",
        ),
    ] {
        let output = takt_lab(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
}

#[test]
fn help_is_of_the_command_that_people_type() {
    let output = takt_lab(&["--help"]);
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("Usage: takt lab"), "{said}");
}
