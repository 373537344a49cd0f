//! What `takt fleet push` checks before it signs: real processes, the real simulator, and a
//! stand-in for takt.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;

use crate::{common::Server, desk::Desk};

const POLICY: &str = "[link.eth0]\nrate = \"1gbit\"\n[link.eth1]\nrate = \"2gbit\"\n";
/// Without a link there is nothing to simulate.
const TASKS: &str = "[[task]]\nname = \"mixer\"\nperiod = \"40ms\"\nbudget = \"8ms\"\n";
const TRAFFIC: &str = "[[source]]\nname = \"calls\"\nkind = \"cbr\"\nrate = \"1mbit\"\n";
const NO_TRAFFIC: &str = "[[source]]\nname = \"calls\"\nkind = \"talk\"\n";

/// The program that is called takt-sim at the desk.
fn simulate_with(desk: &Desk, program: &Path) {
    let name = desk.folder.join("takt-sim");
    let _ = fs::remove_file(&name);
    symlink(program, name).unwrap();
}

fn push(desk: &Desk, policy: &str, traffic: &str) -> (Option<i32>, Value) {
    let policy = desk.file("policy.toml", policy);
    let traffic = desk.file("traffic.toml", traffic);
    let words = ["--to", "all", "--detach", &policy, "--traffic", &traffic];
    desk.fleet("push", &words, &[])
}

/// Beside takt-fleet, where `cargo test --workspace` has built it.
fn simulator() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_takt-fleet")).with_file_name("takt-sim");
    let told = "`cargo build --release --package takt-sim` builds the simulator";
    assert!(program.exists(), "{told}");
    program
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_simulator_refuses_is_not_sent() {
    let server = Server::start();
    let mut operator = server.operator().await;
    let _host = server.host(0, Duration::from_secs(5)).await;
    while operator
        .fresh_roster()
        .await
        .unwrap()
        .host("host-0")
        .is_none()
    {}
    let desk = Desk::new(&server);

    let refused = [
        // The traffic's mistake, a policy without a packet, a simulator that fails, and none.
        (simulator(), POLICY, NO_TRAFFIC, 2, "talk"),
        (simulator(), TASKS, TRAFFIC, 2, "has no link"),
        ("/bin/false".into(), POLICY, TRAFFIC, 1, "takt sim of eth0"),
        ("/nonexistent".into(), POLICY, TRAFFIC, 1, "takt-sim"),
    ];
    for (program, policy, traffic, code, why) in refused {
        simulate_with(&desk, &program);
        let (found, value) = push(&desk, policy, traffic);
        assert_eq!(found, Some(code), "{value}");
        let told = value["error"].as_str().unwrap();
        assert!(told.contains(why), "{told}");
        assert_eq!(operator.current().await.unwrap().revision.number, 0);
    }

    simulate_with(&desk, &simulator());
    let (found, value) = push(&desk, POLICY, TRAFFIC);
    assert_eq!(found, Some(0), "{value}");
    assert_eq!(value["revision"], 1);
    assert_eq!(operator.current().await.unwrap().revision.number, 1);

    // One who only looks is told which key is missing, and not of a forgery.
    let (found, value) = desk.fleet_without_key("status");
    assert_eq!(found, Some(2), "{value}");
    let told = value["error"].as_str().unwrap();
    assert!(
        told.contains("--pin KEY") && !told.contains("forged"),
        "{told}"
    );
}
