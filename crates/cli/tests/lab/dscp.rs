//! Packets get the DSCP of their class, in either direction: what the receiver sees of it.

use std::{
    io::{IoSliceMut, Read as _, Write as _},
    net::{TcpListener, TcpStream, UdpSocket},
    os::fd::AsRawFd,
    time::Duration,
};

use nix::{
    cmsg_space,
    sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt},
};

use crate::{
    flow::in_far_namespace,
    killed::{killed_after_changes, write},
    machine::{DEFAULT, NEWEST, on_old_kernels},
    shell::run,
    takt::{apply, assert_no_trace, link, status, takt},
    wire::Wire,
};

const CS3: u8 = 24 << 2;
const AF41: u8 = 34 << 2;
const EF: u8 = 46 << 2;
const ECT_1: u8 = 1;
const ECT_0: u8 = 2;
/// So many changes are between two kills.
const APART: usize = 4;

/// Calls are known by the DSCP that they come with.
const UPLOAD: &str = "[link.near1]\nrate = \"100mbit\"\n\
    [[link.near1.class]]\nname = \"calls\"\nrate = \"1mbit\"\nceil = \"1mbit\"\n\
    match = { dscp = \"af41\" }\nset_dscp = \"ef\"\n\
    [[link.near1.class]]\nname = \"default\"\nrate = \"90mbit\"\nceil = \"90mbit\"\n";

fn policy(backend: &str) -> String {
    let of_link = UPLOAD.replacen("rate", &format!("{backend}rate"), 1);
    format!("{of_link}[link.near1.download]\nrate = \"100mbit\"\nwash = true\n{backend}")
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    Upload,
    Download,
}

/// What the receiver of a datagram sees of its traffic class, DSCP and ECN: by IPv4 and by IPv6.
fn seen(wire: &Wire, direction: Direction, sent: u8) -> [u8; 2] {
    let v4 = (wire.near_v4(), wire.far_v4());
    let v6 = (wire.near_v6(), wire.far_v6());
    [v4, v6].map(|(near, far)| {
        let near = UdpSocket::bind((&*near, 0)).unwrap();
        let far = in_far_namespace(|| UdpSocket::bind((&*far, 0)).unwrap());
        let (from, to) = match direction {
            Direction::Upload => (near, far),
            Direction::Download => (far, near),
        };
        setsockopt(&from, sockopt::Ipv4Tos, &sent.into()).unwrap();
        setsockopt(&to, sockopt::IpRecvTos, &true).unwrap();
        if to.local_addr().unwrap().is_ipv6() {
            setsockopt(&from, sockopt::Ipv6TClass, &sent.into()).unwrap();
            setsockopt(&to, sockopt::Ipv6RecvTClass, &true).unwrap();
        }
        to.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        from.send_to(b"takt", to.local_addr().unwrap()).unwrap();
        receive(&to)
    })
}

fn receive(socket: &UdpSocket) -> u8 {
    let mut packet = [0; 16];
    let mut parts = [IoSliceMut::new(&mut packet)];
    let mut space = cmsg_space!(i32, u8);
    let flags = MsgFlags::empty();
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags).unwrap();
    let told = message.cmsgs().unwrap().find_map(|told| match told {
        ControlMessageOwned::Ipv4Tos(tos) => Some(tos),
        ControlMessageOwned::Ipv6TClass(class) => u8::try_from(class).ok(),
        _ => None,
    });
    told.expect("a traffic class")
}

fn assert_unchanged(wire: &Wire) {
    for direction in [Direction::Upload, Direction::Download] {
        let sent = AF41 | ECT_0;
        assert_eq!(seen(wire, direction, sent), [sent; 2], "{direction:?}");
    }
}

fn assert_uploads_are_changed(wire: &Wire) {
    let calls = || link("near1").class("calls").sent_packets;
    let before = calls();
    assert_eq!(seen(wire, Direction::Upload, AF41 | ECT_0), [EF | ECT_0; 2]);
    // Classes are told by what came.
    assert_eq!(calls() - before, 2);
    assert_eq!(seen(wire, Direction::Upload, EF), [EF; 2]);
    assert_eq!(seen(wire, Direction::Upload, CS3 | ECT_1), [CS3 | ECT_1; 2]);
    assert_eq!(calls() - before, 2);
}

fn assert_downloads_are_changed(wire: &Wire) {
    let calls = || link("near1.download").class("calls").sent_packets;
    let before = calls();
    let down = |sent| seen(wire, Direction::Download, sent);
    assert_eq!(down(CS3 | ECT_1), [ECT_1; 2]);
    assert_eq!(down(EF), [0; 2]);
    // What a class sets counts, washed or not.
    assert_eq!(down(AF41 | ECT_0), [EF | ECT_0; 2]);
    assert_eq!(calls() - before, 2);
}

/// Its packets share their data with those that may have to be sent again.
fn assert_tcp_passes(wire: &Wire) {
    let far = in_far_namespace(|| TcpListener::bind((&*wire.far_v4(), 0)).unwrap());
    let mut near = TcpStream::connect(far.local_addr().unwrap()).unwrap();
    setsockopt(&near, sockopt::Ipv4Tos, &AF41.into()).unwrap();
    let (mut far, _) = far.accept().unwrap();
    let sent: Vec<u8> = (0..60_000u32).map(|number| number as u8).collect();
    near.write_all(&sent).unwrap();
    let mut received = vec![0; sent.len()];
    far.read_exact(&mut received).unwrap();
    assert_eq!(received, sent);
}

fn changes(backend: &str) {
    let wire = Wire::new(1);
    apply(&policy(backend)).ok();
    assert_uploads_are_changed(&wire);
    assert_downloads_are_changed(&wire);
    assert_tcp_passes(&wire);
    assert_eq!(status().1, Some(0));
    // Without the keys packets keep it, in the same classes.
    apply(
        &policy(backend)
            .replace("set_dscp = \"ef\"\n", "")
            .replace("wash = true\n", ""),
    )
    .ok();
    assert_unchanged(&wire);
    apply(&policy(backend)).ok();
    assert_uploads_are_changed(&wire);
    takt("revert").ok();
    assert_unchanged(&wire);
    assert_no_trace();
}

#[test]
fn before_takts_qdisc() {
    for machine in [DEFAULT, NEWEST] {
        machine.run(|| changes("backend = \"takt\"\n"));
    }
}

#[test]
fn in_a_tree() {
    DEFAULT.run(|| changes("backend = \"tree\"\n"));
}

#[test]
fn on_old_kernels_in_a_tree() {
    on_old_kernels(|| changes("backend = \"tree\"\n"));
}

#[test]
fn with_departure_times() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(&UPLOAD.replacen("rate", "backend = \"departure\"\nrate", 1)).ok();
        assert_uploads_are_changed(&wire);
        assert_tcp_passes(&wire);
        takt("revert").ok();
        assert_unchanged(&wire);
        assert_no_trace();
    });
}

/// In the packet, as the kernel sends it where the device does not add it.
#[test]
fn behind_the_tag_of_a_vlan() {
    DEFAULT.run(|| {
        for backend in ["takt", "tree"] {
            let wire = Wire::new(1);
            run("ethtool -K near1 tx-vlan-hw-insert off").ok();
            wire.add_vlan(7, "");
            let set = format!("backend = \"{backend}\"\nrate");
            apply(&UPLOAD.replacen("rate", &set, 1)).ok();
            assert_eq!(
                seen(&wire, Direction::Upload, AF41 | ECT_0),
                [EF | ECT_0; 2]
            );
            takt("revert").ok();
            assert_no_trace();
            run("ip link del near1").ok();
        }
    });
}

#[test]
fn another_programs_removal_is_told_and_put_right() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(&policy("backend = \"takt\"\n")).ok();
        run("rm /sys/fs/bpf/takt/dscp/0").ok();
        let (links, code) = status();
        assert_eq!(code, Some(4));
        let problem = links[0].problem.as_deref().unwrap_or_default();
        assert!(problem.contains("packets keep their DSCP"), "{links:#?}");
        apply(&policy("backend = \"takt\"\n")).ok();
        assert_uploads_are_changed(&wire);
        takt("revert").ok();
        assert_no_trace();
    });
}

/// Whatever a takt that died has left: the next one completes it, or gives all of it back.
#[test]
fn packets_keep_theirs_after_a_kill_and_a_revert() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let policy = policy("backend = \"takt\"\n");
        let prepare = || {
            apply("[link.near1]\nrate = \"100mbit\"\n").ok();
            write(&policy);
        };
        let mut completes = false;
        killed_after_changes(APART, prepare, || {
            if completes {
                apply(&policy).ok();
                assert_uploads_are_changed(&wire);
            }
            completes = !completes;
            takt("revert").ok();
            assert_unchanged(&wire);
            assert_no_trace();
        });
    });
}
