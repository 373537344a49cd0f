//! Which packets go to which class, by the classes' counters.

use std::{
    collections::BTreeMap,
    io,
    os::fd::{AsRawFd, RawFd},
    thread,
    time::Duration,
};

use nix::sys::socket::{setsockopt, sockopt::Mark};

use crate::{
    flow::{Flow, send_by_tcp},
    machine::{DEFAULT, on_old_kernels},
    shell::run,
    takt::{apply, link},
    wire::{End, Wire},
};

const POLICY: &str = r#"
[link.near1]
backend = "takt"
rate = "1gbit"

[[link.near1.class]]
name = "ports"
match = { proto = "udp", dst_port = "6000-6098,7001" }

[[link.near1.class]]
name = "source-port"
match = { proto = "udp", src_port = 6500 }

[[link.near1.class]]
name = "tcp"
match = { proto = "tcp", dst_port = "6000-6098" }

[[link.near1.class]]
name = "icmp"
match = { proto = "icmp" }

[[link.near1.class]]
name = "icmp6"
match = { proto = "icmp6" }

[[link.near1.class]]
name = "from"
match = [{ src = "10.1.0.128/25" }, { src = "fd01::8000/113" }]

[[link.near1.class]]
name = "to"
match = [{ dst = "10.1.0.200" }, { dst = "fd01::4000/114" }]

[[link.near1.class]]
name = "urgent"
match = [{ dscp = "ef" }, { dscp = 12 }]

[[link.near1.class]]
name = "marked"
match = { mark = "0x10/0xf0" }
"#;

/// The policy on another backend.
fn on(backend: &str) -> String {
    POLICY.replace("\"takt\"", &format!("\"{backend}\""))
}

/// An idle wire with addresses that the policy tells apart, under the policy.
fn classified_wire(backend: &str) -> Wire {
    let wire = Wire::new(1);
    for (end, address) in [
        (End::Near, "10.1.0.130/24"),
        (End::Near, "fd01::8001/64"),
        (End::Far, "10.1.0.200/24"),
        (End::Far, "fd01::4001/64"),
    ] {
        wire.add_address(end, "", address);
    }
    settle();
    apply(&on(backend)).ok();
    wire
}

/// The kernel reports new addresses to their multicast groups some seconds later. Waiting costs
/// nothing in virtual time.
pub fn settle() {
    thread::sleep(Duration::from_secs(20));
}

/// Assert that the action makes each of these classes send so many packets, and no other class any.
#[track_caller]
fn assert_classes(expected: &[(&str, u64)], act: impl FnOnce()) {
    assert_classes_on("near1", expected, act);
}

#[track_caller]
fn assert_classes_on(device: &str, expected: &[(&str, u64)], act: impl FnOnce()) {
    let before = link(device);
    act();
    let expected: BTreeMap<_, _> = expected
        .iter()
        .map(|(class, packets)| ((*class).to_owned(), *packets))
        .collect();
    assert_eq!(link(device).sent_since(&before), expected);
}

/// Sends three packets and sees them arrive.
fn send(from: &str, to: &str) {
    send_with(from, to, |_| ());
}

fn send_with(from: &str, to: &str, configure: impl FnOnce(&Flow)) {
    let mut flow = Flow::between(from, to);
    configure(&flow);
    flow.send(3, 100);
    assert_eq!(flow.arrivals(), [0, 1, 2]);
}

const ANY_V4: &str = "10.1.0.1:0";
const ANY_V6: &str = "[fd01::1]:0";

#[test]
fn by_protocol_and_ports() {
    DEFAULT.run(|| is_by_protocol_and_ports("takt"));
}

#[test]
fn by_protocol_and_ports_of_a_tree() {
    on_old_kernels(|| is_by_protocol_and_ports("tree"));
}

fn is_by_protocol_and_ports(backend: &str) {
    let _wire = classified_wire(backend);
    for to in ["10.1.0.2:6000", "10.1.0.2:6098", "10.1.0.2:7001"] {
        assert_classes(&[("ports", 3)], || send(ANY_V4, to));
    }
    for to in ["10.1.0.2:5999", "10.1.0.2:6099", "10.1.0.2:7002"] {
        assert_classes(&[("default", 3)], || send(ANY_V4, to));
    }
    assert_classes(&[("ports", 3)], || send(ANY_V6, "[fd01::2]:6050"));
    assert_classes(&[("default", 3)], || send(ANY_V6, "[fd01::2]:6100"));
    assert_classes(&[("source-port", 3)], || {
        send("10.1.0.1:6500", "10.1.0.2:9000");
    });
    assert_classes(&[("source-port", 3)], || {
        send("[fd01::1]:6500", "[fd01::2]:9000");
    });

    for to in ["10.1.0.2:6000", "[fd01::2]:6098"] {
        let before = link("near1");
        send_by_tcp(to, 10_000);
        let sent = link("near1").sent_since(&before);
        assert!(sent.keys().eq(["tcp"]), "{sent:?}");
    }

    assert_classes(&[("icmp", 3)], || drop(run("ping -c 3 10.1.0.2").ok()));
    assert_classes(&[("icmp6", 3)], || drop(run("ping -6 -c 3 fd01::2").ok()));
}

#[test]
fn by_address() {
    DEFAULT.run(|| is_by_address("takt"));
}

#[test]
fn by_address_of_a_tree() {
    on_old_kernels(|| is_by_address("tree"));
}

fn is_by_address(backend: &str) {
    let _wire = classified_wire(backend);
    assert_classes(&[("from", 3)], || send("10.1.0.130:0", "10.1.0.2:9000"));
    assert_classes(&[("to", 3)], || send(ANY_V4, "10.1.0.200:9000"));
    assert_classes(&[("default", 3)], || send(ANY_V4, "10.1.0.2:9000"));
    assert_classes(&[("from", 3)], || send("[fd01::8001]:0", "[fd01::2]:9000"));
    assert_classes(&[("to", 3)], || send(ANY_V6, "[fd01::4001]:9000"));
    assert_classes(&[("default", 3)], || send(ANY_V6, "[fd01::2]:9000"));
    // Where several match, the first in the policy wins.
    assert_classes(&[("from", 3)], || send("10.1.0.130:0", "10.1.0.200:9000"));
    assert_classes(&[("ports", 3)], || send("10.1.0.130:0", "10.1.0.200:6000"));
}

#[test]
fn by_dscp_and_mark() {
    DEFAULT.run(|| is_by_dscp_and_mark("takt"));
}

#[test]
fn by_dscp_and_mark_of_a_tree() {
    on_old_kernels(|| is_by_dscp_and_mark("tree"));
}

fn is_by_dscp_and_mark(backend: &str) {
    const EF: i32 = 46;
    const AF12: i32 = 12;
    const CS1: i32 = 8;
    let _wire = classified_wire(backend);
    for (from, to) in [(ANY_V4, "10.1.0.2:9000"), (ANY_V6, "[fd01::2]:9000")] {
        for (dscp, class) in [(EF, "urgent"), (AF12, "urgent"), (CS1, "default")] {
            // Congestion notification, the two lowest bits, is no part of it.
            for ecn in [0, 2] {
                assert_classes(&[(class, 3)], || {
                    send_with(from, to, |flow| set_traffic_class(flow, dscp << 2 | ecn));
                });
            }
        }
        for (mark, class) in [(0x10, "marked"), (0xabc1f, "marked"), (0x20, "default")] {
            assert_classes(&[(class, 3)], || {
                send_with(from, to, |flow| {
                    setsockopt(flow.sender(), Mark, &mark).unwrap();
                });
            });
        }
    }
}

#[test]
fn fragments_go_to_the_default_class() {
    DEFAULT.run(|| fragments_are_of_the_default_class("takt"));
}

#[test]
fn fragments_go_to_the_default_class_of_a_tree() {
    on_old_kernels(|| fragments_are_of_the_default_class("tree"));
}

fn fragments_are_of_the_default_class(backend: &str) {
    let _wire = classified_wire(backend);
    for (from, to) in [(ANY_V4, "10.1.0.2:6000"), (ANY_V6, "[fd01::2]:6000")] {
        assert_classes(&[("default", 3)], || {
            let mut flow = Flow::between(from, to);
            flow.send(1, 4000);
            assert_eq!(flow.arrivals(), [0]);
        });
    }
}

#[test]
fn behind_a_vlan_tag_and_on_a_vlan_device() {
    DEFAULT.run(|| works_behind_a_vlan_tag_and_on_a_vlan_device("takt"));
}

#[test]
fn behind_a_vlan_tag_and_on_a_vlan_device_of_a_tree() {
    on_old_kernels(|| works_behind_a_vlan_tag_and_on_a_vlan_device("tree"));
}

fn works_behind_a_vlan_tag_and_on_a_vlan_device(backend: &str) {
    let wire = classified_wire(backend);
    // Without reorder_hdr the tag is written into the frame, with it it
    // travels beside the frame.
    for (id, options) in [(7, "reorder_hdr off"), (8, "reorder_hdr on")] {
        let vlan = format!(".{id}");
        wire.add_vlan(id, options);
        for (end, host) in [(End::Near, 1), (End::Far, 2)] {
            wire.add_address(end, &vlan, &format!("10.{id}.0.{host}/24"));
            wire.add_address(end, &vlan, &format!("fd{id:02}::{host}/64"));
        }
        settle();
        let send_both = || {
            send("0.0.0.0:0", &format!("10.{id}.0.2:6000"));
            send("[::]:0", &format!("[fd{id:02}::2]:6000"));
        };
        assert_classes(&[("ports", 6)], send_both);

        let device = format!("near1.{id}");
        let on_it = on(backend).replace("near1", &format!("\"{device}\""));
        apply(&on_it).says(&[&format!("{device}: attached")]).ok();
        assert_classes_on(&device, &[("ports", 6)], send_both);
        apply(&on(backend)).ok();
    }
}

/// Sets the byte that IPv4 calls type of service and IPv6 traffic class.
fn set_traffic_class(flow: &Flow, value: i32) {
    let socket = flow.sender();
    let (level, option) = if socket.local_addr().unwrap().is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_TOS)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)
    };
    set_option(socket.as_raw_fd(), level, option, value);
}

fn set_option(socket: RawFd, level: i32, option: i32, value: i32) {
    let size = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel reads `size` bytes of `value`.
    let done = unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), size) };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}
