//! Marking instead of dropping: what a far host receives with the mark "congestion experienced".

use std::{
    fs,
    net::{Ipv4Addr, TcpListener, UdpSocket},
    thread,
    time::Duration,
};

use nix::sys::socket::{setsockopt, sockopt::Ipv4Tos};

use crate::{
    flow::in_far_namespace,
    inventory::Inventory,
    kernel_bpf::{Held, wait_for},
    machine::{DEFAULT, NEWEST},
    owners::far_receiver,
    shell::{run, run_far},
    takt::{Class, apply, assert_no_trace, link, takt},
    upload::Upload,
    wire::Wire,
};

const PLAIN: &str = r#"
[link.near1]
rate = "10mbit"
"#;

const MARKING: &str = r#"
[link.near1]
rate = "10mbit"
ecn = true
"#;

const ECT_1: i32 = 1;
const ECT_0: i32 = 2;

fn default_class() -> Class {
    link("near1").class("default").clone()
}

/// Packets that the far host received with a mark.
fn marked() -> u64 {
    let text = in_far_namespace(|| fs::read_to_string("/proc/thread-self/net/netstat").unwrap());
    let rows: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("IpExt: "))
        .collect();
    let [names, values] = rows[..] else {
        panic!("no counters in {text}");
    };
    let mut columns = names.split(' ').zip(values.split(' '));
    let column = columns.find(|(name, _)| *name == "InCEPkts");
    column.unwrap().1.parse().unwrap()
}

/// So many that their packets in the queue delay each other, though a socket keeps few there.
const UPLOADS: usize = 16;

/// TCP sends as much as it may for some seconds. Returns what the class sent, dropped and marked, and what
/// the far host received with a mark.
fn upload(wire: &Wire) -> (Class, u64) {
    let (class, before) = (default_class(), marked());
    let address = wire.far_v4().parse::<Ipv4Addr>().unwrap();
    let listener = in_far_namespace(|| TcpListener::bind((address, 0)).unwrap());
    let uploads: Vec<Upload> = (0..UPLOADS)
        .map(|_| Upload::start(&listener, None).unwrap())
        .collect();
    thread::sleep(Duration::from_secs(4));
    drop(uploads);
    // Their sockets send what they were given.
    wait_for(|| link("near1").queued_packets == 0);
    thread::sleep(Duration::from_secs(2));
    let mut after = default_class();
    after.aqm_dropped_packets -= class.aqm_dropped_packets;
    after.aqm_marked_packets -= class.aqm_marked_packets;
    (after, marked() - before)
}

/// So many datagrams with this codepoint, as fast as the socket takes them.
fn send(wire: &Wire, codepoint: i32, count: u32) -> (Class, u64) {
    let (class, before) = (default_class(), marked());
    let far = far_receiver(wire);
    let near = UdpSocket::bind("0.0.0.0:0").unwrap();
    near.connect(far.local_addr().unwrap()).unwrap();
    setsockopt(&near, Ipv4Tos, &codepoint).unwrap();
    for _ in 0..count {
        near.send(&[0; 1000]).unwrap();
    }
    thread::sleep(Duration::from_secs(2));
    let mut after = default_class();
    after.aqm_dropped_packets -= class.aqm_dropped_packets;
    after.aqm_marked_packets -= class.aqm_marked_packets;
    (after, marked() - before)
}

#[test]
fn tcp_slows_down_without_a_loss() {
    for machine in [DEFAULT, NEWEST] {
        machine.run(|| {
            let before = Inventory::take();
            let wire = Wire::new(1);
            run("sysctl -qw net.ipv4.tcp_ecn=1").ok();
            run_far("sysctl -qw net.ipv4.tcp_ecn=1").ok();
            apply(PLAIN).ok();
            let (plain, received) = upload(&wire);
            assert!(plain.aqm_dropped_packets >= 3, "{plain:#?}");
            assert_eq!((plain.aqm_marked_packets, received), (0, 0));

            apply(MARKING).says(&["near1: updated"]).ok();
            let (marking, received) = upload(&wire);
            // Packets that are sent again, and the last ones, carry no ECT codepoint (RFC 3168, section 6.1.5).
            let dropped = [&plain, &marking].map(|class| class.aqm_dropped_packets);
            assert!(4 * dropped[1] < dropped[0], "{dropped:?} of {marking:#?}");
            let due = marking.aqm_marked_packets;
            assert!(due >= 10, "{marking:#?}");
            assert!(
                received >= due / 2 && received <= due,
                "{received} of {due}"
            );

            apply(PLAIN).ok();
            let (plain, received) = upload(&wire);
            assert!(plain.aqm_dropped_packets >= 3, "{plain:#?}");
            assert_eq!(received, 0);
            takt("revert").ok();
            assert_no_trace();
            run("sysctl -qw net.ipv4.tcp_ecn=2").ok();
            run_far("sysctl -qw net.ipv4.tcp_ecn=2").ok();
            drop(wire);
            before.assert_is_back();
        });
    }
}

#[test]
fn packets_of_l4s_senders_are_marked_from_a_fixed_delay_on() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(MARKING).ok();
        // A millisecond is more than one frame at this rate, and less than three.
        let (class, received) = send(&wire, ECT_1, 500);
        assert_eq!(class.aqm_dropped_packets, 0);
        assert!(class.aqm_marked_packets >= 490, "{class:#?}");
        // Those in the queue when the first mark was due have none.
        assert!(received >= 300, "{received}");
        // CoDel marks some of these, and drops some of those that must not be marked.
        let (class, received) = send(&wire, ECT_0, 500);
        assert_eq!(class.aqm_dropped_packets, 0);
        assert!((1..100).contains(&class.aqm_marked_packets), "{class:#?}");
        assert!((1..100).contains(&received), "{received}");
        let (class, received) = send(&wire, 0, 500);
        assert!(class.aqm_dropped_packets > 0);
        assert_eq!((class.aqm_marked_packets, received), (0, 0));
    });
}

#[test]
fn the_program_that_marks_goes_with_the_policy() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(PLAIN).ok();
        let held = Held::now();
        apply(MARKING).ok();
        apply(MARKING).says(&["near1: unchanged"]).ok();
        apply(PLAIN).ok();
        held.wait_until_back();
        apply(MARKING).ok();
        // The device takes it along.
        run("ip link del near1").ok();
        wire.make();
        apply(MARKING).says(&["near1: attached"]).ok();
        assert_eq!(link("near1").problem, None);
        let (class, _) = send(&wire, ECT_1, 100);
        assert!(class.aqm_marked_packets > 50, "{class:#?}");
        takt("revert").ok();
        assert_no_trace();
    });
}
