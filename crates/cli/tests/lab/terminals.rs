//! Terminals on a bridge: network namespaces with a policy and a taktd each, and a server that they
//! upload to over a bottleneck.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::{
    flow::in_namespace,
    reporting::Daemon,
    shell::{Ran, run},
    takt::takt,
};

pub const KEY: &str = "/lab/crowd.key";
/// The server's address; terminals are 10.9.0.1 and so on.
pub const SERVER: &str = "10.9.0.100";
pub const AGGREGATOR: &str = "10.9.0.50";

/// A group of three on a bridge, and the processes that they started.
pub struct Terminals {
    server: Vec<Child>,
}

pub fn name(n: u8) -> String {
    format!("t{n}")
}

pub fn address(n: u8) -> String {
    format!("10.9.0.{n}")
}

pub fn mac(n: u8) -> String {
    format!("02:00:00:00:09:{n:02x}")
}

impl Terminals {
    pub const COUNT: u8 = 3;

    pub fn new() -> Self {
        run("ip netns add hub").ok();
        run("ip -n hub link add bridge type bridge").ok();
        run("ip -n hub link set bridge up").ok();
        for n in 1..=Self::COUNT {
            run(&format!("ip netns add {}", name(n))).ok();
            plug(&name(n), "air", &address(n), &mac(n));
        }
        run("ip netns add server").ok();
        plug("server", "wire", SERVER, "02:00:00:00:09:64");
        narrow("server", "wire", "20mbit");
        let listening = (1..=Self::COUNT).map(|n| {
            Command::new("ip")
                .args(["netns", "exec", "server", "iperf3", "-s", "-p"])
                .arg(format!("520{n}"))
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        });
        let server = listening.collect();
        let _ = fs::remove_file(KEY);
        takt(&format!("crowd key {KEY}")).ok();
        Self { server }
    }

    /// Apply a policy with these keys, beside the group's, and with this tail, in a namespace, and
    /// start a taktd for it.
    pub fn join(netns: &str, device: &str, crowd: &str) -> Daemon {
        let policy = format!("/lab/{netns}.toml");
        let text = format!(
            "[crowd]\ngroup = \"test\"\nkey_file = {KEY:?}\ndevice = \"{device}\"\n{crowd}\n"
        );
        fs::write(&policy, text).unwrap();
        in_netns(netns, &format!("takt apply {policy}")).ok();
        Daemon::start_alone(netns)
    }

    pub fn join_as(n: u8, crowd: &str) -> Daemon {
        Self::join(&name(n), "air", crowd)
    }
}

impl Drop for Terminals {
    fn drop(&mut self) {
        for child in &mut self.server {
            let _ = child.kill();
            let _ = child.wait();
        }
        for netns in (1..=Self::COUNT).map(name).chain(["server".to_owned()]) {
            let _ = in_netns(&netns, "takt revert");
            let _ = run(&format!("ip netns del {netns}"));
        }
        let _ = run("ip netns del hub");
    }
}

/// A device in a namespace, on the bridge.
pub fn plug(netns: &str, device: &str, address: &str, mac: &str) {
    run(&format!(
        "ip -n hub link add {netns}-{device} type veth peer name {device} netns {netns} address {mac}"
    ))
    .ok();
    run(&format!(
        "ip -n hub link set {netns}-{device} master bridge up"
    ))
    .ok();
    run(&format!("ip -n {netns} addr add {address}/24 dev {device}")).ok();
    run(&format!(
        "ip -n {netns} link set {device} addrgenmode none up"
    ))
    .ok();
}

/// The shared bottleneck on the way to this device; and a delay, so that there is a window to
/// bound.
pub fn narrow(netns: &str, device: &str, rate: &str) {
    let qdisc = format!("root netem delay 16ms rate {rate}");
    run(&format!(
        "ip netns exec hub tc qdisc add dev {netns}-{device} {qdisc}"
    ))
    .ok();
}

/// What it sends are packets as on a wire. A virtual device passes many segments on as one packet,
/// and a bottleneck then sends a part of the window at once.
pub fn split(netns: &str, device: &str) {
    run(&format!("ip -n {netns} link set {device} gso_max_segs 1")).ok();
}

pub fn in_netns(netns: &str, line: &str) -> Ran {
    run(&format!("ip netns exec {netns} {line}"))
}

/// An upload that goes on until it is dropped.
pub struct Upload(Child);

impl Upload {
    /// With a rate, its application sends no faster.
    pub fn start(n: u8, rate: Option<&str>) -> Self {
        let mut command = Command::new("ip");
        command
            .args([
                "netns",
                "exec",
                &name(n),
                "iperf3",
                "-t",
                "600",
                "-c",
                SERVER,
                "-p",
            ])
            .arg(format!("520{n}"))
            .stdout(Stdio::null());
        if let Some(rate) = rate {
            command.args(["-l", "1K", "-b", rate]);
        }
        Self(command.spawn().unwrap())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// taktd's report of its group there; null without one.
pub fn neighbourhood(daemon: &Daemon, netns: &str) -> Value {
    in_namespace(netns, || {
        let Ok(mut stream) = UnixStream::connect(daemon.socket()) else {
            return Value::Null;
        };
        stream.write_all(b"{\"list_crowd\":{}}\n").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        answer["ok"]["neighbourhoods"][0].clone()
    })
}

/// The neighbours, by name.
pub fn heard(neighbourhood: &Value) -> Vec<String> {
    let all = neighbourhood["neighbours"].as_array().into_iter().flatten();
    all.map(|neighbour| neighbour["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Within so many tenths of a second.
#[track_caller]
pub fn assert_soon(
    tenths: u32,
    daemon: &Daemon,
    n: u8,
    what: &str,
    is_so: impl Fn(&Value) -> bool,
) {
    for _ in 0..tenths {
        if is_so(&neighbourhood(daemon, &name(n))) {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{what}: {}", neighbourhood(daemon, &name(n)));
}
