//! `include/takt/beats.h`: compiled as programs do, run without Takt, and run with the test
//! double.

mod double;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use double::{Double, REFUSAL, REFUSAL_TEXT, RESERVATION};

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Compiles the program; returns its path.
fn compile(dir: &Path, compiler: &[&str], socket: &Path) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = dir.join("member");
    let done = Command::new(compiler[0])
        .args(&compiler[1..])
        .args(WARNINGS)
        .arg(format!("-DTAKT_BEAT_SOCKET=\"{}\"", socket.display()))
        .arg("-I")
        .arg(here.join("../../include"))
        .arg("-o")
        .arg(&program)
        .arg(here.join("tests/header/member.c"))
        .output()
        .expect("a compiler");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{compiler:?}: {said}");
    program
}

fn run(program: &Path, arguments: &[&str]) -> String {
    let done = Command::new(program)
        .args(arguments)
        .output()
        .expect("the member runs");
    assert!(done.status.success(), "{:?}", done.status);
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn is_there(compiler: &str) -> bool {
    let asked = Command::new(compiler).arg("--version").output();
    asked.is_ok_and(|done| done.status.success())
}

#[test]
fn it_compiles_as_c11_and_as_cxx_and_works_without_takt() {
    let dir = tempfile::tempdir().unwrap();
    let absent = dir.path().join("absent");
    let compilers: [&[&str]; 7] = [
        &["cc", "-std=c11"],
        &["gcc", "-std=c11", "-O2"],
        &["gcc", "-std=gnu17"],
        &["clang-19", "-std=c11"],
        &["clang", "-std=c11"],
        &["g++", "-x", "c++", "-std=c++11"],
        &["clang++-19", "-x", "c++", "-std=c++17"],
    ];
    let there = |compiler: &&&[&str]| compiler[0] == "cc" || is_there(compiler[0]);
    for compiler in compilers.iter().filter(there) {
        let program = compile(dir.path(), compiler, &absent);
        let said = run(&program, &[]);
        let not_running = "taktd is not running; start it as root: taktd";
        let expected = format!(
            "join {} {not_running}\nslack 1\nread {}\njob 0 deadline 0\noverran 0\nlost 0\nwaited 1\n\
             leave 0 {not_running}\n",
            -libc::ENOTCONN,
            -libc::ENOENT
        );
        assert_eq!(said, expected, "{compiler:?}");
    }
}

#[test]
fn with_a_place_it_reads_its_page_and_waits_for_its_beat() {
    let dir = tempfile::tempdir().unwrap();
    let taktd = Double::start(vec![RESERVATION, r#"{"ok":{"left":true}}"#]);
    let program = compile(dir.path(), &["cc", "-std=c11"], taktd.socket());
    let since = Instant::now();
    taktd.write_page(monotonic_ns() + 30_000_000);
    let said = run(&program, &[]);
    assert!(since.elapsed() >= Duration::from_millis(30));
    assert_eq!(
        said,
        "join 0 \nslack 1\nread 0\njob 11 deadline 8000000\noverran 0\nlost 0\nwaited 1\nleave 0 \n"
    );
    let requests = taktd.requests();
    let (_, terms) = requests[0].split_once(',').expect("terms");
    assert_eq!(
        terms,
        r#""period_ns":40000000,"budget_ns":8000000,"lead_ns":20000,"overrun":"signal","group":{"name":"a\"v","member":2,"of":3,"handoff":"free"}}}"#
    );
    assert!(requests[0].starts_with(r#"{"join_beat":{"tid":"#));
    assert!(requests[1].starts_with(r#"{"leave_beat":{"tid":"#));
}

#[test]
fn a_place_that_is_lost_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    // Its page is not written, as if another thread held the reservation by now.
    let taktd = Double::start(vec![RESERVATION, REFUSAL, r#"{"ok":{"left":true}}"#]);
    let program = compile(dir.path(), &["cc", "-std=c11"], taktd.socket());
    let said = run(&program, &[]);
    assert!(said.contains("\nlost 1\n"), "{said}");
    assert!(
        said.ends_with(&format!("leave 0 {REFUSAL_TEXT}\n")),
        "{said}"
    );
    let requests = taktd.requests();
    assert!(requests[1].starts_with(r#"{"join_beat":{"tid":"#));
    assert!(requests[1].ends_with("}}") && !requests[1].contains(','));
}

#[test]
fn a_refusal_is_in_taktds_words() {
    let dir = tempfile::tempdir().unwrap();
    let taktd = Double::start(vec![REFUSAL]);
    let program = compile(dir.path(), &["cc", "-std=c11"], taktd.socket());
    let said = run(&program, &["what there is"]);
    let expected = format!("join {} {REFUSAL_TEXT}\n", -libc::EPERM);
    assert!(said.starts_with(&expected), "{said}");
    let requests = taktd.requests();
    assert!(requests[0].ends_with("}}") && !requests[0].contains(','));
}

fn monotonic_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists, and the kernel writes to a valid structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
