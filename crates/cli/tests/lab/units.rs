//! Takt's units, in a machine that runs systemd: their restrictions leave takt and taktd everything
//! that they need.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use nix::sys::signal::Signal;

use crate::{
    daemon::{Daemon, as_alice, say},
    everything::EVERYTHING,
    helper::{assert_helpers, assert_no_helper},
    inventory::Inventory,
    kernel_bpf::{entries, wait_for},
    machine::{SYSTEMD, SYSTEMD_FOR_DAEMON},
    shell::run,
    systemd::{self, property, said_by, start, systemctl},
    takt::{assert_no_trace, takt},
    wire::Wire,
};

/// Together with every other feature: incoming packets, questions about owners, gap frames,
/// threaded NAPI, and a crowd.
const MORE: &str = r#"
[[link.near1.class]]
name = "player"
match = { app = "player", user = 1000 }

[[link.near1.class]]
name = "registered"
priority = "background"
match = { registered = true }

[link.near3]
rate = "100mbit"
overhead = 24
pacing = "gap"

[[link.near3.class]]
name = "even"
rate = "7mbit"
match = { proto = "udp", dst_port = 5001 }

[beats]
join = "all"
batch = 8

[crowd]
group = "units"
key_file = "crowd.key"
device = "near3"
"#;

#[test]
fn all_of_a_policy_comes_and_goes_with_its_unit() {
    SYSTEMD.run(|| {
        // The objects that systemd makes for its first service stay.
        drop(Daemon::start());
        let said_before = fs::read_to_string(said_by("taktd")).unwrap().len();
        let before = Inventory::take();
        let settings = settings();
        let wires = [1, 2, 3].map(Wire::new);
        fs::create_dir_all("/etc/takt").unwrap();
        run("takt crowd key /etc/takt/crowd.key").ok();
        let whole = format!("{EVERYTHING}{MORE}");
        fs::write("/etc/takt/policy.toml", &whole).unwrap();
        fs::set_permissions("/etc/takt/policy.toml", Permissions::from_mode(0o600)).unwrap();

        // taktd first, and then the policy that it follows.
        let daemon = Daemon::start();
        start("takt");
        let said = fs::read_to_string(said_by("takt")).unwrap();
        assert_eq!(property("takt", "SubState"), "exited", "{said}");
        let status = takt("status");
        assert_eq!(status.status, Some(0), "{status}");
        assert_helpers(1);
        assert_ne!(
            self::settings(),
            settings,
            "network processing, congestion control"
        );

        as_alice("background add 10.1.0.2:873").ok();
        wait_for(|| entries("/sys/fs/bpf/takt/takt_registrations") == 1);
        as_alice("run --background -- true").ok();
        as_alice("run --period 40ms --budget 1ms -- true").ok();
        wait_for(|| {
            let heard = say(r#"{"list_crowd":{}}"#);
            heard["ok"]["neighbourhoods"][0]["group"] == "units"
        });
        let said = fs::read_to_string(said_by("taktd")).unwrap();
        let said = &said[said_before..];
        assert!(
            said.lines().all(|line| line.contains("listening on")),
            "{said}"
        );

        // Another policy, by the unit's own way, and back.
        fs::write("/etc/takt/policy.toml", EVERYTHING).unwrap();
        systemctl("reload takt").ok();
        fs::write("/etc/takt/policy.toml", &whole).unwrap();
        systemctl("reload takt").ok();
        takt("status").ok();
        assert_helpers(1);

        systemctl("stop takt").ok();
        let said = fs::read_to_string(said_by("takt")).unwrap();
        assert_eq!(property("takt", "Result"), "success", "{said}");
        assert_no_helper();
        daemon.ends_with(Signal::SIGTERM);
        wait_for(|| !Path::new("/run/taktd").exists());
        assert_no_trace();
        assert_eq!(self::settings(), settings);
        drop(wires);
        before.assert_is_back();
    });
}

/// Settings of the host that takt changes.
fn settings() -> Vec<String> {
    [
        "/proc/sys/net/ipv4/tcp_congestion_control",
        "/proc/sys/net/core/netdev_budget",
    ]
    .map(|path| fs::read_to_string(path).unwrap_or_default())
    .into()
}

#[test]
fn taktd_has_the_capabilities_of_its_unit_and_no_others() {
    SYSTEMD.run(|| {
        let capabilities = |pid: u32| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let line = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap_or_default().trim().to_owned()
            };
            [
                "CapEff:",
                "CapPrm:",
                "CapBnd:",
                "CapInh:",
                "CapAmb:",
                "NoNewPrivs:",
            ]
            .map(line)
        };
        let daemon = Daemon::start();
        let [effective, permitted, bounding, inheritable, ambient, no_new] =
            capabilities(daemon.id());
        assert_eq!([&permitted, &bounding], [&effective, &effective]);
        assert_eq!([inheritable, ambient], ["0".repeat(16), "0".repeat(16)]);
        assert_eq!(no_new, "1");
        // As its mount namespace has them, the one directory for what it remembers can be written.
        let seen = |path: &str| format!("/proc/{}/root{path}", daemon.id());
        let kept = seen("/var/lib/takt");
        let mode = fs::metadata(&kept).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o700);
        fs::write(format!("{kept}/test"), "").unwrap();
        fs::remove_file(format!("{kept}/test")).unwrap();
        fs::write(seen("/var/lib/test"), "").expect_err("ProtectSystem=strict");
        daemon.ends_with(Signal::SIGTERM);

        // Started by hand it gives up the same privileges.
        let mut by_hand = Command::new("taktd").stdout(Stdio::null()).spawn().unwrap();
        systemd::wait_until("taktd gives up what it does not need", || {
            capabilities(by_hand.id())[2] == bounding
        });
        systemd::wait_until("taktd listens", || {
            std::os::unix::net::UnixStream::connect(crate::daemon::SOCKET).is_ok()
        });
        assert_eq!(
            capabilities(by_hand.id())[..3],
            [effective, permitted, bounding]
        );
        run(&format!("kill {}", by_hand.id())).ok();
        assert!(by_hand.wait().unwrap().success());
    });
}

#[test]
fn the_daemons_tests_hold_under_its_unit() {
    SYSTEMD_FOR_DAEMON.passes_all(|| ());
}
