//! Incoming background traffic: it goes through a device of takt's own, all other traffic does not,
//! and nothing remains.

use std::{
    io::{self, Write},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};

use crate::{
    flow::in_far_namespace,
    kernel_bpf::{Held, wait_for},
    machine::{DEFAULT, NEWEST, TWO_PROCESSORS},
    shell::run,
    takt::{Link, Received, apply, assert_no_trace, link, status, takt},
    wire::{End, Wire},
};

/// Packets from the far end's port 873 are in the background.
const POLICY: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "backup"
priority = "background"
match = { dst_port = 873 }
"#;

const BYTES: usize = 1000;

/// After so long no packet comes any more. Passes at once in virtual time.
const SILENCE: Duration = Duration::from_secs(2);

/// Numbered packets from a port of the far end to the near one.
struct Incoming {
    sender: UdpSocket,
    receiver: UdpSocket,
    sent: u32,
}

impl Incoming {
    fn new(from: &str, to: &str) -> Self {
        let from: SocketAddr = from.parse().unwrap();
        let receiver = UdpSocket::bind(to).unwrap();
        setsockopt(&receiver, RcvBufForce, &(16 << 20)).unwrap();
        let sender = in_far_namespace(|| UdpSocket::bind(from).unwrap());
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        Self {
            sender,
            receiver,
            sent: 0,
        }
    }

    fn on(wire: &Wire, port: u16) -> Self {
        Self::new(
            &format!("{}:{port}", wire.far_v4()),
            &format!("{}:0", wire.near_v4()),
        )
    }

    fn send(&mut self, packets: u32) {
        let mut payload = vec![0; BYTES];
        for _ in 0..packets {
            payload[..4].copy_from_slice(&self.sent.to_be_bytes());
            self.sender.send(&payload).unwrap();
            self.sent += 1;
        }
    }

    /// How many arrive without a gap and in order, until no more come.
    #[track_caller]
    fn assert_all_arrive(&self) {
        assert_eq!(self.arrivals(), (0..self.sent).collect::<Vec<_>>());
    }

    fn arrivals(&self) -> Vec<u32> {
        let mut numbers = Vec::new();
        let mut payload = [0; 65536];
        self.receiver.set_read_timeout(Some(SILENCE)).unwrap();
        while self.receiver.recv(&mut payload).is_ok() {
            numbers.push(u32::from_be_bytes(payload[..4].try_into().unwrap()));
        }
        numbers
    }
}

fn received(link: &Link) -> Received {
    link.class("backup").receive.clone().expect("it receives")
}

/// Devices made by takt.
fn devices() -> Vec<String> {
    let shown = run("ip -j link show type ifb").json();
    let names = shown.as_array().unwrap().iter();
    names
        .filter_map(|device| device["ifname"].as_str())
        .filter(|name| name.starts_with("takt-rx"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn takes_its_turn_on_the_default_kernel() {
    DEFAULT.run(|| takes_its_turn(&Wire::new(1)));
}

#[test]
fn takes_its_turn_on_the_newest_kernel() {
    NEWEST.run(|| takes_its_turn(&Wire::new(1)));
}

#[test]
fn takes_its_turn_on_two_processors() {
    TWO_PROCESSORS.run(|| takes_its_turn(&Wire::new(1)));
}

fn takes_its_turn(wire: &Wire) {
    let before = Held::now();
    apply(POLICY)
        .says(&["near1: attached, incoming background traffic through takt-rx"])
        .ok();
    let mut backup = Incoming::on(wire, 873);
    let mut other = Incoming::on(wire, 874);
    other.send(300);
    other.assert_all_arrive();
    assert_eq!(received(&link("near1")), Received::default());

    backup.send(300);
    backup.assert_all_arrive();
    let mut backup_v6 = Incoming::new(
        &format!("[{}]:873", wire.far_v6()),
        &format!("[{}]:0", wire.near_v6()),
    );
    backup_v6.send(100);
    backup_v6.assert_all_arrive();
    let all = received(&link("near1"));
    assert_eq!((all.enqueued_packets, all.sent_packets), (400, 400));

    fetch(&format!("{}:873", wire.far_v4()), 1_000_000);
    let after = link("near1");
    assert!(received(&after).sent_packets > all.sent_packets);
    assert_eq!(received(&after).dropped_packets, 0);
    assert_eq!(received(&after).queued_packets, 0);

    takt("revert").ok();
    assert_no_trace();
    assert_eq!(devices(), Vec::<String>::new());
    before.wait_until_back();
    wire.assert_passes();
}

/// Fetches so many bytes from an address and port of the far end.
fn fetch(from: &str, bytes: usize) {
    let listener = in_far_namespace(|| TcpListener::bind(from).unwrap());
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(&vec![0; bytes]).unwrap();
        });
        let mut stream = TcpStream::connect(from).unwrap();
        let got = io::copy(&mut stream, &mut io::sink()).unwrap();
        assert_eq!(got, bytes as u64);
    });
}

#[test]
fn waits_while_a_more_important_task_runs() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        // Made by a thread with a higher nice value than this one.
        let mut backup = thread::scope(|scope| {
            let nicer = scope.spawn(|| {
                nice(10);
                Incoming::on(&wire, 873)
            });
            nicer.join().unwrap()
        });
        backup.send(50);
        // No less important task has run in between.
        backup.receiver.set_nonblocking(true).unwrap();
        let early = backup.receiver.recv(&mut [0; 2000]);
        assert!(early.is_err(), "not held: {}", takt("status"));
        backup.receiver.set_nonblocking(false).unwrap();
        backup.assert_all_arrive();
        drop(backup);

        // Packets for a task that is as important as the running one are not blocked.
        let mut equal = Incoming::on(&wire, 873);
        equal.send(1);
        equal.receiver.set_nonblocking(true).unwrap();
        assert!(equal.receiver.recv(&mut [0; 2000]).is_ok());
    });
}

/// Of this thread, from now on.
fn nice(value: i32) {
    // SAFETY: a system call without memory.
    let done = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) };
    assert_eq!(done, 0);
}

#[test]
fn is_left_alone_if_the_policy_says_so() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(&POLICY.replace("match", "receive = false\nmatch")).ok();
        assert_eq!(devices(), Vec::<String>::new());
        let left = link("near1");
        assert!(left.receive.is_none() && left.class("backup").receive.is_none());
        let mut backup = Incoming::on(&wire, 873);
        backup.send(10);
        backup.assert_all_arrive();
    });
}

#[test]
fn follows_policies_under_traffic() {
    TWO_PROCESSORS.run(|| {
        let wire = Wire::new(1);
        let without = POLICY.replace("match", "receive = false\nmatch");
        let renamed = POLICY.replace("backup", "later");
        apply(POLICY).ok();
        let mut backup = Incoming::on(&wire, 873);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    backup.send(1);
                    thread::sleep(Duration::from_millis(1));
                }
            });
            for policy in [&without, POLICY, &renamed, POLICY, &without, &renamed] {
                apply(policy).says(&["near1: updated"]).ok();
                let expected = usize::from(policy != without);
                assert_eq!(devices().len(), expected);
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut numbers = backup.arrivals();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..backup.sent).collect::<Vec<_>>());
    });
}

#[test]
fn goes_straight_on_if_somebody_deletes_the_device() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        let mut backup = Incoming::on(&wire, 873);
        let device = devices().remove(0);
        for command in ["ip link set DEV down", "ip link del DEV"] {
            run(&command.replace("DEV", &device)).ok();
            let (links, code) = status();
            assert_eq!(code, Some(4));
            assert!(links[0].problem.as_ref().unwrap().contains("straight on"));
            assert!(!links[0].receive.as_ref().unwrap().works);
            let before = backup.sent;
            backup.send(10);
            assert_eq!(backup.arrivals(), (before..before + 10).collect::<Vec<_>>());

            apply(POLICY).says(&["near1: updated"]).ok();
            assert!(link("near1").receive.unwrap().works);
            let before = backup.sent;
            backup.send(10);
            assert_eq!(backup.arrivals(), (before..before + 10).collect::<Vec<_>>());
            assert_eq!(received(&link("near1")).sent_packets, 10);
        }
        assert_eq!(devices(), [device]);
    });
}

#[test]
fn of_two_devices_is_kept_apart() {
    DEFAULT.run(|| {
        let wires = [Wire::new(1), Wire::new(2)];
        let second = POLICY.replace("near1", "near2");
        apply(&format!("{POLICY}{second}")).ok();
        assert_eq!(devices().len(), 2);
        for (wire, packets) in wires.iter().zip([20, 30]) {
            let mut backup = Incoming::on(wire, 873);
            backup.send(packets);
            backup.assert_all_arrive();
            assert_eq!(received(&link(&wire.near)).sent_packets, u64::from(packets));
        }
        apply(&second).says(&["near1: given back"]).ok();
        assert_eq!(devices().len(), 1);
        let mut backup = Incoming::on(&wires[1], 873);
        backup.send(5);
        backup.assert_all_arrive();
        assert_eq!(received(&link("near2")).sent_packets, 35);
    });
}

#[test]
fn ends_with_its_device_or_qdisc() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        run("ip link del near1").ok();
        takt("revert").ok();
        assert_no_trace();
        assert_eq!(devices(), Vec::<String>::new());

        wire.make();
        apply(POLICY).ok();
        run("tc qdisc del dev near1 root").ok();
        let mut backup = Incoming::on(&wire, 873);
        backup.send(10);
        backup.assert_all_arrive();
        takt("revert").ends_with(4);
        assert_no_trace();
        assert_eq!(devices(), Vec::<String>::new());
    });
}

#[test]
fn ends_with_its_namespace() {
    DEFAULT.run(|| {
        let before = Held::now();
        run("ip netns add c").ok();
        run("ip -n c link add near1 type veth peer name far1").ok();
        // A gate's helper runs in the namespace, which therefore stays.
        let open = POLICY.replace("match", "gate = \"open\"\nmatch");
        std::fs::write("/lab/c.toml", open).unwrap();
        run("ip netns exec c takt apply /lab/c.toml").ok();
        run("ip netns del c").ok();
        wait_for(|| {
            takt("revert").ok();
            before.is_back()
        });
        assert_no_trace();
    });
}

#[test]
fn is_told_by_who_receives_it_and_by_its_vlan() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        wire.add_vlan(7, "");
        wire.add_address(End::Near, ".7", "10.7.0.1/24");
        wire.add_address(End::Far, ".7", "10.7.0.2/24");
        apply(&POLICY.replace(
            "match = { dst_port = 873 }",
            "match = [{ user = 1000 }, { dst = \"10.7.0.2\" }]",
        ))
        .ok();
        let mut nobodys = Incoming::on(&wire, 873);
        nobodys.send(10);
        nobodys.assert_all_arrive();
        assert_eq!(received(&link("near1")), Received::default());

        let mut alices = thread::scope(|scope| {
            let alice = scope.spawn(|| {
                let sender = Incoming::on(&wire, 874);
                let receiver = as_user(1000, || UdpSocket::bind("10.1.0.1:0").unwrap());
                sender
                    .sender
                    .connect(receiver.local_addr().unwrap())
                    .unwrap();
                Incoming { receiver, ..sender }
            });
            alice.join().unwrap()
        });
        alices.send(20);
        alices.assert_all_arrive();
        assert_eq!(received(&link("near1")).sent_packets, 20);

        let mut tagged = Incoming::new("10.7.0.2:1", "10.7.0.1:0");
        tagged.send(30);
        tagged.assert_all_arrive();
        assert_eq!(received(&link("near1")).sent_packets, 50);
    });
}

/// As this thread's effective user.
fn as_user<T>(user: libc::c_long, f: impl FnOnce() -> T) -> T {
    let set = |user: libc::c_long| {
        // SAFETY: a system call without memory; the plain one is this thread's alone.
        let done = unsafe { libc::syscall(libc::SYS_setresuid, -1, user, -1) };
        assert_eq!(done, 0);
    };
    set(user);
    let made = f();
    set(0);
    made
}

#[test]
fn needs_an_ethernet_header() {
    DEFAULT.run(|| {
        run("ip tuntap add dev near9 mode tun").ok();
        let policy = POLICY.replace("near1", "near9");
        apply(&policy)
            .says(&["takt::device::no_receive", "receive = false"])
            .ends_with(2);
        apply(&policy.replace("match", "receive = false\nmatch")).ok();
        takt("revert").ok();
        assert_no_trace();
        run("ip link del near9").ok();
    });
}
