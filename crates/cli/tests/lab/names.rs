//! Devices by their alternative names (`ip link property add`).

use std::{fs, thread, time::Duration};

use nix::sys::signal::Signal;

use crate::{
    daemon::Daemon,
    inventory::Inventory,
    kept::served,
    kernel_bpf::wait_for,
    machine::{DEFAULT, on_old_kernels},
    shell::run,
    takt::{apply, assert_no_trace, link, status, takt},
    wire::{End, Wire},
};

const SHORT: &str = "enp1s0f0np0";
/// A device's own name has 15 bytes at most.
const LONG: &str = "a-name-of-more-than-15-bytes";

fn call(device: &str) {
    run(&format!(
        "ip link property add dev {device} altname {SHORT} altname {LONG}"
    ))
    .ok();
}

fn slow_on(device: &str) -> String {
    format!(
        "[link.{device}]\nrate = \"100mbit\"\n[[link.{device}.class]]\nname = \"slow\"\n\
         rate = \"1mbit\"\nmatch = {{ proto = \"udp\", dst_port = 5001 }}\n"
    )
}

#[test]
fn a_link_by_an_alternative_name() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        call("near1");
        let says = format!("{LONG}: attached");
        apply(&slow_on(LONG)).says(&[&says]).ok();
        // The present name.
        assert!(link("near1").attached);
        let told = takt("status --output json").json();
        assert_eq!(told["links"][0]["named"], LONG, "{told:#}");
        wire.assert_passes();
        // The same device, by its other names.
        for name in [SHORT, "near1"] {
            apply(&slow_on(name))
                .says(&[&format!("{name}: updated")])
                .ok();
            assert_eq!(status().0.len(), 1);
        }
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn on_the_kernels_own_qdiscs_as_well() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        call("near1");
        apply(&slow_on(LONG)).ok();
        assert!(link("near1").attached);
        wire.assert_passes();
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn two_names_of_one_device_are_refused() {
    DEFAULT.run(|| {
        let _wires = [1, 2].map(Wire::new);
        call("near1");
        let before = Inventory::take();
        for policy in [
            slow_on("near1") + &slow_on(LONG),
            slow_on("near2") + &slow_on("near1") + &slow_on(LONG),
        ] {
            apply(&policy)
                .says(&[
                    &format!("{LONG} and near1 are names of one device"),
                    "takt::device::two_names",
                ])
                .ends_with(2);
            before.assert_is_back();
        }
    });
}

/// The kernel calls it otherwise each time, and udev gives it its other names afterwards.
#[test]
fn a_device_that_comes_back_under_another_name() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        call("near1");
        let daemon = Daemon::start();
        apply(&slow_on(LONG)).ok();
        for name in ["other1", "another1"] {
            let now = &status().0[0].device;
            run(&format!("ip link del {now}")).ok();
            run(&format!(
                "ip link add {name} type veth peer name far1 netns b"
            ))
            .ok();
            run(&format!("ip link set {name} up")).ok();
            thread::sleep(Duration::from_secs(1));
            let (links, _) = status();
            let problem = links[0].problem.as_deref();
            assert!(problem.is_some_and(|problem| problem.contains("is gone")));
            call(name);
            served(name);
            assert_eq!(status().0.len(), 1);
        }
        run("ip link del another1").ok();
        wire.make();
        call("near1");
        served("near1");
        wire.assert_passes();
        daemon.ends_with(Signal::SIGTERM);
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn stations_and_a_crowd_by_an_alternative_name() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        call("near1");
        run("takt crowd key /lab/crowd.key");
        let daemon = Daemon::start();
        let crowd = format!(
            "[crowd]\ngroup = \"lab\"\nkey_file = \"/lab/crowd.key\"\ndevice = \"{LONG}\"\n"
        );
        let file = "[radio]\nsource = \"file\"\nfile = \"ap.txt\"\ninterval = \"100ms\"\n\
                    points = [[0, 0.0], [10, 1.0]]\n";
        fs::write("/lab/ap.txt", "").unwrap();
        apply(&format!("{}{file}{crowd}", slow_on(LONG))).ok();
        for device in ["near1", SHORT, LONG] {
            let mac = wire.mac(End::Far);
            takt(&format!("station set {mac} --snr 20 --device {device}")).ok();
            takt(&format!("station list --device {device}"))
                .says(&[&mac])
                .ok();
        }
        // A terminal without traffic reports nothing, but listens.
        let port = format!(":{:04X} ", takt_policy::CROWD_PORT);
        wait_for(|| fs::read_to_string("/proc/net/udp").unwrap().contains(&port));
        let told = takt("status --output json").json();
        assert_eq!(told["crowd"]["device"], "near1", "{told:#}");
        let heard = &told["links"][0]["radio"]["heard"];
        assert_eq!(heard["links"][0], "near1", "{told:#}");
        daemon.ends_with(Signal::SIGTERM);
        takt("revert").ok();
        assert_no_trace();
    });
}
