//! Devices that come and go, that are several, or that change.

use std::{
    fs::{self, File},
    os::fd::AsRawFd,
};

use crate::{
    flow::{Flow, send_by_tcp},
    machine::DEFAULT,
    recorder::send_can,
    shell::{run, run_far},
    takt::{apply, assert_no_trace, link, status, takt},
    wire::Wire,
};

const SLOW: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "slow"
rate = "1mbit"
match = { proto = "udp", dst_port = 5001 }
"#;

fn slow_on(device: &str) -> String {
    SLOW.replace("near1", device)
}

#[test]
fn two_links_share_nothing() {
    DEFAULT.run(|| {
        let (one, two) = (Wire::new(1), Wire::new(2));
        let both = format!("{}{}", slow_on("near1"), slow_on("near2"));
        apply(&both)
            .says(&["near1: attached", "near2: attached"])
            .ok();
        let mut flows = [Flow::new(&one, 5001), Flow::new(&two, 5001)];
        let [to_one, to_two] = &mut flows;
        to_one.send(300, 200);
        to_two.send(5, 200);
        assert_eq!(to_one.arrivals().len(), 300);
        assert_eq!(to_two.arrivals().len(), 5);
        assert_eq!(link("near1").class("slow").sent_packets, 300);
        assert_eq!(link("near2").class("slow").sent_packets, 5);

        // A policy that no longer names a device gives it back, and no other.
        apply(&slow_on("near1"))
            .says(&["near1: updated", "near2: given back"])
            .ok();
        assert!(two.root_qdisc().starts_with("qdisc noqueue"));
        assert_eq!(two.gso_max_segs(), 65535);
        assert_eq!(link("near1").class("slow").sent_packets, 300);
        assert_eq!(status().0.len(), 1);
    });
}

#[test]
fn no_other_device_can_carry_a_links_qdisc() {
    DEFAULT.run(|| {
        let _wires = [Wire::new(1), Wire::new(2)];
        apply(SLOW).ok();
        let refused = |line: &str| assert_ne!(run(line).status, Some(0), "{line}");
        refused("tc qdisc add dev near2 root handle 7a00: takt");
        refused("tc qdisc add dev near2 root handle 7a01: takt");
        refused("tc qdisc add dev near2 root takt");
        run("tc qdisc add dev near2 root handle 1: prio").ok();
        refused("tc qdisc add dev near2 parent 1:1 handle 7a00: takt");
        takt("status").ok();
    });
}

#[test]
fn a_device_that_went_away_is_forgotten_by_revert() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(SLOW).ok();
        run("ip link del near1").ok();
        let (links, code) = status();
        assert_eq!(code, Some(4));
        assert_eq!(links[0].device, "near1");
        assert!(links[0].problem.as_ref().unwrap().contains("gone"));
        takt("revert").ok();
        assert_no_trace();

        // A device of the same name is another one, and can be taken over.
        wire.make();
        apply(SLOW).ok();
        run("ip link del near1").ok();
        wire.make();
        apply(SLOW).says(&["near1: attached"]).ok();
        assert!(link("near1").attached);
        wire.assert_passes();
    });
}

/// For a tun: from 10.77.0.2, port 9, to 10.77.0.1, port 5001, with four bytes and no checksum of UDP.
pub fn datagram() -> Vec<u8> {
    let mut header: [u8; 20] = [
        0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 77, 0, 2, 10, 77, 0, 1,
    ];
    let sum: u32 = { header.chunks(2) }
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    let folded = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&folded.to_be_bytes());
    let udp = [0, 9, 0x13, 0x89, 0, 12, 0, 0, 1, 2, 3, 4];
    [&header[..], &udp].concat()
}

/// A device without Ethernet headers, as long as the file lives, and not up yet.
pub fn tun(name: &str) -> File {
    let mut open = File::options();
    let tun = open.read(true).write(true).open("/dev/net/tun").unwrap();
    // SAFETY: zeroes are a valid request, and the kernel reads no more than it.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        let done = libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF, &raw const request);
        assert_eq!(done, 0);
    }
    tun
}

/// One of CAN's type: kernels for virtual machines have no other.
fn can_device(name: &str) -> File {
    const ARPHRD_CAN: libc::c_ulong = 280;
    let tun = tun(name);
    // SAFETY: the request takes a number.
    let done = unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETLINK, ARPHRD_CAN) };
    assert_eq!(done, 0);
    run(&format!("ip link set {name} up")).ok();
    tun
}

/// CAN, whose frames have no header that takt reads.
#[test]
fn on_a_device_without_ip_nothing_is_classified() {
    const POLICY: &str = r#"
[link.can7]
rate = "1mbit"

[[link.can7.class]]
name = "slow"
rate = "100kbit"
match = { proto = "udp" }
"#;
    DEFAULT.run(|| {
        let can = can_device("can7");
        for backend in ["takt", "tree"] {
            let policy =
                POLICY.replacen("1mbit\"", &format!("1mbit\"\nbackend = \"{backend}\""), 1);
            apply(&policy)
                .says(&["can7: attached", "can7: its packets are not IP"])
                .ok();
            for _ in 0..20 {
                send_can("can7");
            }
            let told = takt("status --output json").json();
            let link = &told["links"][0];
            assert_eq!(link["without_ip"], true, "{told:#}");
            let classes = link["classes"].as_array().unwrap();
            assert!(
                classes.iter().all(|class| class["aqm"].is_null()),
                "{told:#}"
            );
            let all = classes.iter().find(|class| class["name"] == "default");
            assert_eq!(all.unwrap()["enqueued_packets"], 20, "{told:#}");
            takt("status").says(&["so they cannot be classified"]).ok();
            takt("revert").ok();
        }
        drop(can);
        assert_no_trace();
    });
}

#[test]
fn a_renamed_device_stays_managed() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(SLOW).ok();
        run("ip link set near1 down").ok();
        run("ip link set near1 name other1").ok();
        let renamed = link("other1");
        assert!(renamed.attached);
        apply(SLOW).says(&["there is no device near1"]).ends_with(5);
        takt("revert").ok();
        assert_no_trace();
        run("ip link set other1 name near1").ok();
        assert!(!wire.root_qdisc().contains("takt"));
        assert_eq!(wire.gso_max_segs(), 65535);
    });
}

#[test]
fn what_waits_when_the_device_goes_down_is_counted() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(SLOW).ok();
        let mut flow = Flow::new(&wire, 5001);
        flow.send(300, 1000);
        run("ip link set near1 down").ok();
        let down = link("near1");
        let slow = down.class("slow");
        assert_eq!(down.queued_packets, 0);
        assert!(slow.flushed_packets > 200, "{slow:#?}");
        assert!(slow.adds_up(), "{slow:#?}");
        assert_eq!(slow.enqueued_packets, 300);
        assert_eq!(flow.arrivals().len() as u64, slow.sent_packets);

        run("ip link set near1 up").ok();
        flow.send(100, 100);
        assert_eq!(flow.arrivals().len(), 100);
        let up = link("near1");
        assert_eq!(up.class("slow").enqueued_packets, 400);
        assert!(up.class("slow").adds_up());
    });
}

#[test]
fn what_waits_when_takt_leaves_is_let_go() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(SLOW).ok();
        let mut flow = Flow::new(&wire, 5001);
        flow.send(300, 1000);
        takt("revert").ok();
        // A packet that leaked would keep its socket's memory for ever.
        let sockets = fs::read_to_string("/proc/net/udp").unwrap();
        let port = flow.sender().local_addr().unwrap().port();
        let mine = format!(":{port:04X} ");
        let line = sockets.lines().find(|line| line.contains(&mine)).unwrap();
        assert!(line.contains(" 00000000:00000000 "), "{line}");
        wire.assert_passes();
    });
}

#[test]
fn every_namespace_has_its_own_links() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        apply(SLOW).ok();
        fs::write("/lab/far.toml", slow_on("far1")).unwrap();
        run_far("takt apply /lab/far.toml")
            .says(&["far1: attached"])
            .ok();
        let (links, _) = status();
        assert_eq!(links.len(), 1);
        assert_eq!(links[0].device, "near1");

        takt("revert").says(&["near1: given back"]).ok();
        run_far("tc qdisc show dev far1").says(&["qdisc takt"]).ok();
        run_far("takt status").says(&["far1"]).ok();
        run_far("takt revert").says(&["far1: given back"]).ok();
        assert_no_trace();
    });
}

#[test]
fn segments_are_split_or_kept_as_the_policy_says() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        run("ethtool -K near1 tx on sg on tso on gso on").ok();
        let [keep, split, bound] = ["gso", "mtu", "auto"].map(|packets| {
            let keys = format!("rate = \"100mbit\"\npackets = \"{packets}\"");
            SLOW.replace("rate = \"100mbit\"", &keys)
        });
        apply(&keep).ok();
        assert_eq!(wire.gso_max_segs(), 65535);
        send_by_tcp(&format!("{}:5000", wire.far_v4()), 200_000);
        let kept = link("near1").class("default").clone();
        assert!(kept.gso_packets > 0, "{kept:#?}");

        apply(&split).says(&["near1: updated"]).ok();
        assert_eq!(wire.gso_max_segs(), 1);
        send_by_tcp(&format!("{}:5000", wire.far_v4()), 200_000);
        let split = link("near1").class("default").clone();
        assert_eq!(split.gso_packets, kept.gso_packets);
        let packets = split.sent_packets - kept.sent_packets;
        let bytes = split.sent_bytes - kept.sent_bytes;
        assert!(bytes / packets <= 1514, "{split:#?}");

        // They take the link for a millisecond: eight frames.
        apply(&bound).says(&["near1: updated"]).ok();
        assert_eq!(wire.gso_max_segs(), 8);
        send_by_tcp(&format!("{}:5000", wire.far_v4()), 200_000);
        let bursts = link("near1").class("default").clone();
        let packets = bursts.sent_packets - split.sent_packets;
        let bytes = bursts.sent_bytes - split.sent_bytes;
        let longest = 8 * 1514;
        assert!(
            (longest / 4..=longest).contains(&(bytes / packets)),
            "{bursts:#?}"
        );

        apply(&keep).ok();
        assert_eq!(wire.gso_max_segs(), 65535);
    });
}

#[test]
fn the_kernels_own_default_comes_back() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        run("ip tuntap add dev tap1 mode tap").ok();
        run("ip link set tap1 up").ok();
        let default = run("tc qdisc show dev tap1").ok();
        apply(&slow_on("tap1")).says(&["tap1: attached"]).ok();
        takt("revert").ok();
        assert_eq!(run("tc qdisc show dev tap1").ok(), default);
        run("ip link del tap1").ok();
    });
}
