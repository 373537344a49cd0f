//! Thousands of agents in one process and a real nats-server, on the loopback of a network
//! namespace of their own: how fast a policy reaches all of them, what they send at rest, and what
//! the server needs.
//!
//! cargo run --release -p takt-fleet --example scale -- 10000

#[path = "../tests/fleet/common.rs"]
mod common;

use std::{
    env, fs,
    process::Command,
    time::{Duration, Instant},
};

use common::{Server, push};
use serde_json::json;
use takt_fleet::{
    digest::Digest, operator::Ended, revision::Plan, selector::Selector, stand_in::StandIn,
};
use tokio::time::sleep;

/// What agents have by default.
const PERIOD: Duration = Duration::from_secs(60);
/// How long they are watched at rest.
const REST: Duration = Duration::from_secs(180);
const HOLD: Duration = Duration::from_secs(10);

fn main() {
    let hosts = env::args()
        .nth(1)
        .map_or(1_000, |count| count.parse().expect("a number"));
    own_namespace();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.expect("it is made").block_on(run(hosts));
}

/// So that no other traffic is counted.
fn own_namespace() {
    let flags = nix::sched::CloneFlags::CLONE_NEWNET;
    nix::sched::unshare(flags).expect("root makes a network namespace");
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status();
    assert!(up.expect("there is an ip").success());
    let limit = nix::sys::resource::Resource::RLIMIT_NOFILE;
    let (_, hard) = nix::sys::resource::getrlimit(limit).expect("there is a limit");
    nix::sys::resource::setrlimit(limit, hard, hard).expect("up to the hard one");
}

/// Bytes on the loopback so far, with all headers: each host's sent and received ones.
fn loopback_bytes() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").expect("it is read");
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("lo:"));
    let count = line.and_then(|line| line.split_whitespace().next());
    count.and_then(|count| count.parse().ok()).expect("a count")
}

/// Kilobytes.
fn memory(pid: u32, key: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).expect("a number")
}

async fn run(count: usize) {
    let server = Server::start();
    let mut operator = server.operator().await;
    let began = Instant::now();
    let mut hosts: Vec<StandIn> = Vec::with_capacity(count);
    for host in 0..count {
        hosts.push(server.host(host, PERIOD).await);
    }
    let connected = began.elapsed();
    // Until all of them have reported.
    while operator.roster().await.expect("it is read").hosts().count() < count {
        sleep(Duration::from_secs(1)).await;
    }
    let known = began.elapsed();

    let policy = "[link.eth0]\nrate = \"1gbit\"\n";
    let mut asked = push(policy, "all");
    asked.hold = HOLD;
    asked.plan = Plan {
        canary_ppm: 50_000,
        step_ppm: 500_000,
        grace_ms: 60_000,
        tolerated_ppm: 0,
    };
    let roster = operator.fresh_roster().await.expect("it is read");
    let began = Instant::now();
    operator.push(&asked, &roster).await.expect("it is signed");
    let all = Selector::ALL;
    let ended = operator.drive(&all, |progress, _| {
        eprintln!("[{:5.1} s] {progress:?}", began.elapsed().as_secs_f64());
    });
    let ended = ended.await.expect("it ends");
    let converged = began.elapsed();
    assert!(
        matches!(ended, Ended::Done(progress) if progress.kept == count),
        "{ended:?}"
    );
    let digest = Digest::for_content(policy.as_bytes());
    assert!(
        hosts
            .iter()
            .all(|host| host.host().policy() == Some(digest))
    );
    let most_kb = memory(server.pid(), "VmHWM:");

    // The last reports of the rollout, and then rest.
    sleep(Duration::from_secs(20)).await;
    let before = loopback_bytes();
    sleep(REST).await;
    let bytes = loopback_bytes() - before;
    let per_host_minute = bytes as f64 / count as f64 / REST.as_secs_f64() * 60.0;
    let result = json!({
        "hosts": count,
        "connected_s": connected.as_secs_f64(),
        "known_s": known.as_secs_f64(),
        "waves": 3,
        "hold_s": HOLD.as_secs(),
        "converged_s": converged.as_secs_f64(),
        "both_ways_bytes_per_host_and_minute": per_host_minute,
        "both_ways_bytes_per_host_and_hour": per_host_minute * 60.0,
        "server_memory_kb": memory(server.pid(), "VmRSS:"),
        "server_memory_most_kb": most_kb,
        "agents_memory_kb": memory(std::process::id(), "VmRSS:"),
    });
    println!("{result:#}");
}
