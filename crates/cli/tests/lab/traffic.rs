//! From attaching to detaching: traffic of every kind passes, and every counter agrees with the
//! kernel's and the far end's.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::{
    flow::Flow,
    machine::{DEFAULT, NEWEST, TWO_PROCESSORS},
    shell::run,
    takt::{Link, apply, assert_no_trace, link, takt},
    wire::{Count, Wire},
};

/// Every packet is a frame, as the far end counts them.
const POLICY: &str = r#"
[link.near1]
rate = "100mbit"
packets = "mtu"

[[link.near1.class]]
name = "stream"
rate = "10mbit"
match = { proto = "udp", dst_port = 5201 }

[[link.near1.class]]
name = "narrow"
rate = "50kbit"
queue_packets = 100
match = { proto = "udp", dst_port = 5202 }

[[link.near1.class]]
name = "transfer"
rate = "50mbit"
match = { proto = "tcp", dst_port = 5201 }

[[link.near1.class]]
name = "echo"
rate = "1mbit"
match = { proto = "icmp6" }
"#;

#[test]
fn passes_and_is_counted_on_the_default_kernel() {
    DEFAULT.run(|| passes_and_is_counted(&Wire::new(1)));
}

#[test]
fn passes_and_is_counted_on_the_newest_kernel() {
    NEWEST.run(|| passes_and_is_counted(&Wire::new(1)));
}

#[test]
fn passes_and_is_counted_on_two_processors() {
    TWO_PROCESSORS.run(|| passes_and_is_counted(&Wire::new(1)));
}

fn passes_and_is_counted(wire: &Wire) {
    let default_qdisc = wire.root_qdisc();
    apply(POLICY).says(&["near1: attached"]).ok();
    assert!(wire.root_qdisc().starts_with("qdisc takt 7a00: root"));
    let (before, received_before) = at_rest(wire);

    let udp = iperf3(wire, "-u -b 8M -l 1000 -n 300K");
    let packets = udp["end"]["sum"]["packets"].as_u64().unwrap();
    // iperf3 opens a UDP test with a packet that it does not count.
    assert_eq!(link("near1").class("stream").enqueued_packets, packets + 1);

    let tcp = iperf3(wire, "-n 500K");
    let bytes = tcp["end"]["sum_received"]["bytes"].as_u64().unwrap();
    assert!(link("near1").class("transfer").enqueued_bytes > bytes);

    run(&format!("ping -6 -c 3 {}", wire.far_v6())).ok();
    // Besides these packets, the kernel sends neighbour discovery and multicast reports.
    assert!(link("near1").class("echo").sent_packets >= 3);

    // A host that has forgotten its neighbour asks for it, by ARP.
    run(&format!("ip neigh del {} dev near1", wire.far_v4())).ok();
    wire.assert_passes();
    assert!(link("near1").class("default").sent_packets >= 2);

    let mut flow = Flow::new(wire, 5202);
    flow.send(500, 100);
    assert_adds_up_while_busy();
    let arrived = flow.arrivals().len() as u64;
    let (after, received_after) = at_rest(wire);
    let narrow = after.class("narrow");
    assert_eq!(narrow.sent_packets, arrived);
    assert_eq!(narrow.offered_packets(), 500);
    assert!(narrow.dropped_packets > 0);

    // The far end and the kernel count the same as takt.
    assert!(after.classes.iter().all(|class| class.adds_up()));
    let sent = sent(&after);
    let came = |count: Count| (count.packets, count.bytes);
    let (packets, bytes) = came(received_after);
    let (packets_before, bytes_before) = came(received_before);
    assert_eq!(
        packets - packets_before,
        sent.packets - self::sent(&before).packets
    );
    assert_eq!(bytes - bytes_before, sent.bytes - self::sent(&before).bytes);
    let statistics = wire.root_statistics();
    assert_eq!(statistics["packets"], sent.packets);
    assert_eq!(statistics["bytes"], sent.bytes);
    assert_eq!(
        statistics["drops"],
        after.sum(|class| class.dropped_packets)
    );
    assert_eq!(statistics["backlog"], 0);
    assert_eq!(statistics["qlen"], 0);

    takt("revert").says(&["near1: given back"]).ok();
    assert_eq!(wire.root_qdisc(), default_qdisc);
    assert_no_trace();
    wire.assert_passes();
}

fn sent(link: &Link) -> Count {
    Count {
        packets: link.sum(|class| class.sent_packets),
        bytes: link.sum(|class| class.sent_bytes),
    }
}

/// Takt's counters and the far end's, at an idle moment.
fn at_rest(wire: &Wire) -> (Link, Count) {
    let look = |_| {
        thread::sleep(Duration::from_millis(100));
        let before = link(&wire.near);
        let received = wire.received();
        let after = link(&wire.near);
        let is_idle = after.queued_packets == 0 && before.classes == after.classes;
        is_idle.then_some((after, received))
    };
    (0..1000).find_map(look).expect("an idle moment")
}

/// The kernel may send while the counters are read, so they may disagree; but it sends so rarely
/// that one of ten looks must agree.
fn assert_adds_up_while_busy() {
    let looks: Vec<Link> = (0..10).map(|_| link("near1")).collect();
    assert!(looks[0].class("narrow").queued_packets > 0);
    let add_up = |link: &Link| link.classes.iter().all(|class| class.adds_up());
    assert!(looks.iter().any(add_up), "{looks:#?}");
}

/// An iperf3 test through the wire; returns the client's report.
fn iperf3(wire: &Wire, arguments: &str) -> Value {
    let mut server = Command::new("ip")
        .args("netns exec b iperf3 -s -1 --forceflush".split(' '))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let listening = lines.any(|line| line.unwrap().contains("listening"));
    assert!(listening, "iperf3's server does not start");
    let client = run(&format!("iperf3 -J -c {} {arguments}", wire.far_v4()));
    let account = client.json();
    client.ok();
    lines.for_each(drop);
    server.wait().unwrap();
    account
}
