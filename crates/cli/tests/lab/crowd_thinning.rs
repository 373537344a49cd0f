//! An access point thins acknowledgements in the queue of its link, and what TCP transfers stays
//! whole.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use crate::{
    flow::{in_far_namespace, in_namespace},
    inventory::Inventory,
    machine::{DEFAULT, NEWEST},
    shell::{run, run_far},
    takt::{Class, apply, assert_no_trace, link, takt},
    wire::Wire,
};

/// So slow that acknowledgements queue.
const LINK: &str = "[link.near1]\nrate = \"200kbit\"\n";
const ACCESS_POINT: &str = "[crowd]\naccess_point = true\ndevice = \"near1\"\n";
const TRANSFER_BYTES: usize = 32 << 20;

fn thinning() -> String {
    format!("{ACCESS_POINT}{LINK}")
}

fn default_class() -> Class {
    link("near1").class("default").clone()
}

/// A namespace whose packets are forwarded through this host.
fn make_client(wire: &Wire) {
    run("ip netns add c").ok();
    run("ip link add mid type veth peer name end netns c").ok();
    run("ip addr add 10.50.0.1/24 dev mid").ok();
    run("ip link set mid up").ok();
    run("ip -n c addr add 10.50.0.2/24 dev end").ok();
    run("ip -n c link set end up").ok();
    run("ip -n c route add default via 10.50.0.1").ok();
    run("sysctl -qw net.ipv4.ip_forward=1").ok();
    run_far(&format!("ip route add 10.50.0.0/24 via {}", wire.near_v4())).ok();
}

fn remove_client() {
    run_far("ip route del 10.50.0.0/24").ok();
    run("sysctl -qw net.ipv4.ip_forward=0").ok();
    run("ip link del mid").ok();
    run("ip netns del c").ok();
}

/// A download to this namespace from the far one. Returns how many acknowledgements were thinned
/// meanwhile.
fn download(wire: &Wire, to: &str) -> u64 {
    let before = default_class().thinned_packets;
    let address: Ipv4Addr = wire.far_v4().parse().unwrap();
    let listener = in_far_namespace(|| TcpListener::bind((address, 0)).unwrap());
    let at = listener.local_addr().unwrap();
    let content: Vec<u8> = (0..TRANSFER_BYTES as u32 / 4)
        .flat_map(|number| number.to_be_bytes())
        .collect();
    let received = thread::scope(|scope| {
        scope.spawn(|| listener.accept().unwrap().0.write_all(&content).unwrap());
        let receive = || {
            let mut received = Vec::new();
            let mut from = TcpStream::connect(at).unwrap();
            from.read_to_end(&mut received).unwrap();
            received
        };
        match to {
            "" => receive(),
            netns => in_namespace(netns, receive),
        }
    });
    assert!(received == content, "{} bytes arrived", received.len());
    // Those of what came last are still queued.
    while link("near1").queued_packets > 0 {
        thread::sleep(Duration::from_millis(100));
    }
    let class = default_class();
    assert!(class.adds_up(), "{class:#?}");
    class.thinned_packets - before
}

#[test]
fn acknowledgements_are_thinned_and_what_is_transferred_stays_whole() {
    for machine in [DEFAULT, NEWEST] {
        machine.run(|| {
            let before = Inventory::take();
            let wire = Wire::new(1);
            make_client(&wire);
            apply(LINK).ok();
            assert_eq!(download(&wire, ""), 0);
            assert_eq!(download(&wire, "c"), 0);

            apply(&thinning()).says(&["near1: updated"]).ok();
            for to in ["", "c"] {
                let thinned = download(&wire, to);
                println!("{thinned} thinned to {to:?}");
                assert!(thinned > 20, "{thinned} to {to:?}");
            }
            run_far("tc qdisc add dev far1 root netem loss 2%").ok();
            for to in ["", "c"] {
                let thinned = download(&wire, to);
                println!("{thinned} thinned to {to:?}, with losses");
                assert!(thinned > 0, "none to {to:?}");
            }
            run_far("tc qdisc del dev far1 root").ok();

            apply(LINK).says(&["near1: updated"]).ok();
            assert_eq!(download(&wire, "c"), 0);
            takt("revert").ok();
            assert_no_trace();
            remove_client();
            drop(wire);
            before.assert_is_back();
        });
    }
}
