//! A pod's limit by the real takt, in a real kernel: the lab's machine. Not in CI.
//!
//!     make build
//!     cargo test --release -p takt-kubernetes --test cluster -- --ignored a_pod_in_the_lab

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use takt_kubernetes::{
    bandwidth::{Config, Limiter},
    health::Pulse,
};
use tokio::sync::oneshot;

use crate::played::{Api, recorded};

const PATIENCE: Duration = Duration::from_secs(60);
const ADDRESS: &str = "10.9.8.7";

#[test]
#[ignore = "boots a machine, with the takt that make build leaves"]
fn a_pod_in_the_lab() {
    let own = std::env::current_exe().unwrap();
    let takt = own.ancestors().nth(2).unwrap().join("takt");
    assert!(takt.exists(), "{}: make build", takt.display());
    let name = own.file_name().unwrap().to_str().unwrap();
    let recordings =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/recordings/pods.json");
    let ran = Command::new(takt)
        .args(["lab", "exec", "--add"])
        .arg(&own)
        .arg("--add")
        .arg(recordings)
        .args([
            "--",
            &format!("/add/{name}"),
            "--ignored",
            "--exact",
            "lab::in_the_machine",
        ])
        .arg("--nocapture")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{told}\n{errors}");
    assert!(told.contains("1 passed"), "{told}");
    print!("{told}");
}

fn run(words: &str) -> String {
    let mut words = words.split(' ');
    let ran = Command::new(words.next().unwrap())
        .args(words)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(
        ran.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    text
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Bits per second that arrive, of one TCP connection out of the pod.
fn throughput_bps() -> f64 {
    let told = run("ip netns exec pod iperf3 --json --time 4 --client 10.9.8.1");
    let told: Value = serde_json::from_str(&told).unwrap();
    told["end"]["sum_received"]["bits_per_second"]
        .as_f64()
        .unwrap()
}

/// The first pod of the recording, as a process in a network namespace.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "runs in the lab's machine, which the other test boots"]
async fn in_the_machine() {
    run("ip netns add pod");
    run("ip link add name pod0 type veth peer name eth0 netns pod");
    run("ip address add 10.9.8.1/24 dev pod0");
    run("ip link set pod0 up");
    run(&format!("ip -n pod address add {ADDRESS}/24 dev eth0"));
    run("ip -n pod link set eth0 up");
    let mut process = Command::new("ip")
        .args(["netns", "exec", "pod", "sleep", "600"])
        .spawn()
        .unwrap();
    let mut server = Command::new("iperf3")
        .arg("--server")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let free_bps = throughput_bps();

    let list = fs::read_to_string("/add/pods.json").unwrap_or_else(|_| recorded("pods.json"));
    let mut list: Value = serde_json::from_str(&list).unwrap();
    let pods = list["items"].as_array_mut().unwrap();
    pods.retain(|pod| pod["metadata"]["name"] == "web");
    let mut pod = pods[0].clone();
    let uid = pod["metadata"]["uid"].as_str().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let proc = folder.path().join("proc");
    let pid = process.id().to_string();
    fs::create_dir_all(proc.join("self/ns")).unwrap();
    fs::create_dir_all(proc.join(&pid).join("ns")).unwrap();
    symlink("/proc/self/ns/net", proc.join("self/ns/net")).unwrap();
    symlink(
        format!("/proc/{pid}/ns/net"),
        proc.join(&pid).join("ns/net"),
    )
    .unwrap();
    fs::write(
        proc.join(&pid).join("cgroup"),
        format!("0::/kubepods/pod{uid}/0\n"),
    )
    .unwrap();

    let api = Api::new(list.to_string(), &[]);
    let config = Config {
        node: "node-1".to_owned(),
        takt: "takt".into(),
        proc,
        directory: folder.path().to_owned(),
    };
    let limiter = Limiter::new(api.client(), config, Pulse::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(limiter.run(Box::pin(async move {
        let _ = stopped.await;
    })));
    let status = || {
        let ran = Command::new("ip")
            .args(["netns", "exec", "pod", "takt", "--output", "json", "status"])
            .output();
        let value: Value = serde_json::from_slice(&ran.unwrap().stdout).unwrap_or_default();
        value
    };
    until("the pod is limited", || {
        status()["links"][0]["device"] == "eth0"
    })
    .await;
    let limited_bps = throughput_bps();
    println!("{}", run("ip netns exec pod tc qdisc show dev eth0"));
    println!("without a limit {free_bps:.0} bit/s, with 10M {limited_bps:.0} bit/s");
    assert!(limited_bps < 10e6 && free_bps > 2.0 * limited_bps);
    assert!(
        !run("tc qdisc show dev pod0").contains("takt"),
        "the node's end is left alone"
    );

    // The annotation goes, and the limit with it.
    until("it watches", || api.is_watched()).await;
    pod["metadata"]["annotations"] = json!({});
    api.event(&json!({ "type": "MODIFIED", "object": pod }).to_string());
    until("the pod is limited no more", || {
        status()["links"][0].is_null()
    })
    .await;
    assert!(api.written().is_empty(), "{:?}", api.written());
    let _ = stop.send(());
    running.await.unwrap().unwrap();
    let _ = (process.kill(), server.kill(), process.wait(), server.wait());
}
