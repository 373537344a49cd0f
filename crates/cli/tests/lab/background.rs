//! Traffic that is registered as background while programs run: by `takt
//! background`, by `takt run --background`, and over taktd's socket.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    os::unix::{net::UnixStream, process::CommandExt},
    path::Path,
    process::Command,
    thread,
    time::Duration,
};

use nix::sys::signal::Signal;

use crate::{
    daemon::{Daemon, SOCKET, as_alice, say},
    flow::{Flow, in_far_namespace},
    kernel_bpf::{entries, wait_for},
    machine::{DEFAULT, NEWEST, TWO_PROCESSORS},
    owners::{ALICE, Connected, as_user, assert_class, near_listener, quiet_wire, send},
    shell::{run, run_command, run_far},
    takt::{apply, assert_no_trace, link, takt},
    wire::Wire,
};

const POLICY: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "background"
priority = "background"
match = { registered = true }
"#;

const BOB: u32 = 1001;
const REGISTRATIONS: &str = "/sys/fs/bpf/takt/takt_registrations";

#[test]
fn what_a_user_registers_is_background() {
    DEFAULT.run(|| registered(&quiet_wire()));
}

#[test]
fn what_a_user_registers_is_background_on_the_newest_kernel() {
    NEWEST.run(|| registered(&quiet_wire()));
}

#[test]
fn what_a_user_registers_is_background_on_two_processors() {
    TWO_PROCESSORS.run(|| registered(&quiet_wire()));
}

fn registered(wire: &Wire) {
    let _daemon = Daemon::start();
    apply(POLICY).ok();
    let port = 7000;
    let v4 = SocketAddr::new(wire.far_v4().parse().unwrap(), port);
    let v6 = SocketAddr::new(wire.far_v6().parse().unwrap(), port);
    let _far = in_far_namespace(|| [v4, v6].map(|to| UdpSocket::bind(to).unwrap()));
    for to in [v4, v6] {
        let (own, others) = (sender(ALICE, to), sender(BOB, to));
        let connected = sender(ALICE, to);
        as_user(ALICE, || connected.connect(to).unwrap());
        let to_it = |socket: &UdpSocket| send_to(socket, to);
        assert_class("default", || as_user(ALICE, || to_it(&own)));
        assert_class("default", || send(&connected));

        as_alice(&format!("background add {to}")).ok();
        assert_class("background", || as_user(ALICE, || to_it(&own)));
        assert_class("background", || send(&connected));
        assert_class("default", || as_user(BOB, || to_it(&others)));
        // The next port has no registration.
        let next = SocketAddr::new(to.ip(), port + 1);
        assert_class("default", || {
            as_user(ALICE, || send_to(&own, next));
        });

        as_alice(&format!("background remove {to}")).ok();
        assert_class("default", || as_user(ALICE, || to_it(&own)));
        assert_class("default", || send(&connected));

        takt(&format!("background add {to} --everyone")).ok();
        assert_class("background", || as_user(BOB, || to_it(&others)));
        takt(&format!("background remove {to} --everyone")).ok();
        assert_class("default", || as_user(BOB, || to_it(&others)));
    }
}

#[test]
fn connections_that_run_are_reached() {
    DEFAULT.run(|| {
        let _wire = quiet_wire();
        let _daemon = Daemon::start();
        apply(POLICY).ok();
        let listener = near_listener();
        let mut connection = Connected::new(&listener);
        assert_class("default", || connection.talk());
        let to = connection.far_address();
        takt(&format!("background add {to}")).ok();
        assert_class("background", || connection.talk());
        takt(&format!("background remove {to}")).ok();
        assert_class("default", || connection.talk());
        takt(&format!("background add {to} --for 5s")).ok();
        assert_class("background", || connection.talk());
        thread::sleep(Duration::from_secs(8));
        assert_class("default", || connection.talk());
    });
}

#[test]
fn registering_reorders_nothing() {
    DEFAULT.run(|| {
        let wire = quiet_wire();
        let _daemon = Daemon::start();
        for per_flow in ["", "per_flow = true\nqueue_packets = 1000"] {
            let slow = POLICY.replace("100mbit", "2mbit");
            // A local sender's packets are dropped from standing queues of the default class.
            let rest = "[[link.near1.class]]\nname = \"default\"\naqm = \"off\"";
            apply(&format!("{slow}{per_flow}\n{rest}\n")).ok();
            let mut flow = Flow::new(&wire, 7100);
            let mut beside = Flow::new(&wire, 7101);
            let to = format!("{}:7100", wire.far_v4());
            for _ in 0..3 {
                flow.send(40, 1000);
                beside.send(10, 1000);
                takt(&format!("background add {to}")).ok();
                flow.send(40, 1000);
                beside.send(10, 1000);
                takt(&format!("background remove {to}")).ok();
            }
            flow.send(40, 1000);
            assert_eq!(flow.arrivals(), (0..280).collect::<Vec<_>>());
            assert_eq!(beside.arrivals(), (0..60).collect::<Vec<_>>());
            let after = link("near1");
            assert!(after.class("background").sent_packets > 0, "{after:#?}");
            assert!(after.classes.iter().all(|class| class.adds_up()));
        }
    });
}

#[test]
fn what_is_refused_changes_nothing() {
    DEFAULT.run(|| {
        let _wire = quiet_wire();
        let daemon = Daemon::start();
        apply(POLICY).ok();
        for (arguments, reason) in [
            ("192.0.2.10", "has no port"),
            ("192.0.2.10:0", "not a port"),
            ("192.0.2.10:70000", "not a port"),
            ("backup.example:873", "names are not resolved"),
            ("224.0.0.1:1", "it has many receivers"),
            ("[::]:1", "not the address of one receiver"),
            ("2001:db8::1", "[2001:db8::1]:873"),
            ("192.0.2.10:1 --user 0", "belong to another user"),
            ("192.0.2.10:1 --everyone", "belong to another user"),
            ("192.0.2.10:1 --user nosuchuser", "there is no user"),
            ("192.0.2.10:1 --for 0s", "write a time"),
        ] {
            as_alice(&format!("background add {arguments}"))
                .says(&[reason])
                .ends_with(2);
        }
        as_alice("background remove 192.0.2.10:1")
            .says(&["is not registered"])
            .ends_with(2);
        for line in ["", "{", "{\"add\":{}}", "\0\u{7f}", &"x".repeat(1000)] {
            let answer = say(line);
            assert_eq!(answer["error"]["code"], "malformed", "{line}: {answer}");
        }
        assert_eq!(entries(REGISTRATIONS), 0);
        as_alice("background list")
            .says(&["nothing is registered"])
            .ok();

        // A thousand at once: a few are answered, the others cost little.
        let mut stream = BufReader::new(UnixStream::connect(SOCKET).unwrap());
        let mut refused = 0;
        for port in 1..=1000 {
            let line = format!("{{\"add\":{{\"dst\":\"192.0.2.1\",\"port\":{port}}}}}\n");
            stream.get_mut().write_all(line.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_line(&mut answer).unwrap();
            refused += u32::from(answer.contains("too_fast"));
        }
        assert!(refused > 500, "{refused}");
        assert!(entries(REGISTRATIONS) <= (1000 - refused) as usize);
        drop(stream);
        daemon.ends_with(Signal::SIGINT);
        assert_eq!(entries(REGISTRATIONS), 0);
        assert!(!Path::new("/run/taktd").exists());
    });
}

#[test]
fn a_taktd_that_is_killed_leaves_nothing_to_the_next() {
    DEFAULT.run(|| {
        let _wire = quiet_wire();
        takt("background list")
            .says(&["taktd is not running"])
            .ends_with(3);
        let daemon = Daemon::start();
        run("taktd")
            .says(&["another taktd is running"])
            .ends_with(1);
        run_command(Command::new("taktd").uid(ALICE)).ends_with(3);
        // Without a policy, registrations wait for one.
        takt("background add 192.0.2.10:873")
            .says(&["no link of this network namespace is managed"])
            .ok();
        apply(POLICY).ok();
        wait_for(|| entries(REGISTRATIONS) == 1);
        daemon.ends_with(Signal::SIGKILL);
        takt("background list")
            .says(&["taktd is not running"])
            .ends_with(3);
        assert_eq!(entries(REGISTRATIONS), 1);
        let daemon = Daemon::start();
        takt("background list")
            .says(&["nothing is registered"])
            .ok();
        takt("background add 192.0.2.10:874").ok();
        // The policy is reverted and applied again; registrations stay.
        takt("revert").ok();
        assert_no_trace();
        apply(POLICY).ok();
        wait_for(|| entries(REGISTRATIONS) > 0);
        takt("background list").says(&["192.0.2.10:874"]).ok();
        apply(&POLICY.replace("registered = true", "dscp = \"le\"")).ok();
        takt("background add 192.0.2.10:874")
            .says(&["no class of the policy in force", "registered already"])
            .ok();
        daemon.ends_with(Signal::SIGTERM);
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn programs_run_in_the_background() {
    DEFAULT.alone().run(|| {
        let wire = quiet_wire();
        apply(POLICY).ok();
        let sends = "echo x >/dev/udp/10.1.0.2/7200";
        let script = format!("{sends}; cat /proc/self/cgroup; grep policy /proc/self/sched; exit 7");
        let in_background = |command: &mut Command| {
            let command = command.args(["run", "--background", "--", "bash", "-c", &script]);
            let before = link("near1");
            let ran = run_command(command);
            let after = link("near1");
            let sent = after.sent_since(&before);
            assert!(sent.keys().eq(["background"]), "{sent:?}\n{ran}");
            ran.says(&["/takt-background\n"]).ends_with(7);
        };
        let _far = in_far_namespace(|| {
            let to: Ipv4Addr = wire.far_v4().parse().unwrap();
            UdpSocket::bind((to, 7200)).unwrap()
        });
        // Root can do without taktd, others cannot.
        in_background(&mut Command::new("takt"));
        as_alice("run --background -- true")
            .says(&["taktd is not running"])
            .ends_with(3);
        let daemon = Daemon::start();
        wait_for(|| groups().is_empty());
        in_background(Command::new("takt").uid(ALICE).gid(ALICE));
        as_alice("run --background -- /no/such/program")
            .says(&["starting /no/such/program"])
            .ends_with(2);
        wait_for(|| groups().is_empty());
        // Its group lies below that of its parent, and revert empties it.
        fs::create_dir("/sys/fs/cgroup/session").unwrap();
        let mut sleeper = Command::new("bash")
            .args(["-c", "echo $$ >/sys/fs/cgroup/session/cgroup.procs && exec takt run --background -- sleep 1000"])
            .spawn()
            .unwrap();
        wait_for(|| groups() == ["/sys/fs/cgroup/session/takt-background"]);
        takt("revert").ok();
        assert!(groups().is_empty());
        let group = fs::read_to_string(format!("/proc/{}/cgroup", sleeper.id())).unwrap();
        assert_eq!(group.trim_end(), "0::/session");
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        wait_for(|| fs::remove_dir("/sys/fs/cgroup/session").is_ok());
        daemon.ends_with(Signal::SIGTERM);
        assert_no_trace();
    });
}

#[test]
fn a_namespace_registers_for_itself() {
    DEFAULT.run(|| {
        let wire = quiet_wire();
        let _daemon = Daemon::start();
        apply(POLICY).ok();
        let to = SocketAddr::new(wire.far_v4().parse().unwrap(), 7300);
        let _far = in_far_namespace(|| UdpSocket::bind(to).unwrap());
        let near = UdpSocket::bind("0.0.0.0:0").unwrap();
        near.connect(to).unwrap();
        run_far(&format!("takt background add {to}"))
            .says(&["no link of this network namespace is managed"])
            .ok();
        assert_class("default", || send(&near));
        takt("background list")
            .says(&["nothing is registered"])
            .ok();
        takt(&format!("background add {to}")).ok();
        assert_class("background", || send(&near));
        let listed = run_far("takt background list --output json").json();
        assert_eq!(listed["registrations"].as_array().unwrap().len(), 1);
    });
}

fn send_to(socket: &UdpSocket, to: SocketAddr) {
    socket.send_to(b"x", to).unwrap();
}

/// A socket of this user's.
fn sender(uid: u32, to: SocketAddr) -> UdpSocket {
    let any = match to {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    as_user(uid, || UdpSocket::bind(any).unwrap())
}

/// Every control group of the background.
fn groups() -> Vec<String> {
    let found = run("find /sys/fs/cgroup -name takt-background").ok();
    found.lines().map(str::to_owned).collect()
}
