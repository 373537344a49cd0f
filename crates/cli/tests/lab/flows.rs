//! Flows that are created by their packets, and flows that a new policy moves.

use std::net::UdpSocket;

use crate::{
    flow::Flow,
    machine::DEFAULT,
    takt::{apply, link},
    wire::Wire,
};

const EACH_1_MBIT: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "clients"
rate = "1mbit"
per_flow = true
match = { proto = "udp" }
"#;

const PACKETS: u32 = 50;
const BYTES: usize = 200;
/// More flows than a link has room for.
const FLOOD: u16 = 13_000;
const FLOWS_MAX: u64 = 12_288;

fn four_flows(wire: &Wire) -> Vec<Flow> {
    let mut flows: Vec<Flow> = (5001..5004).map(|port| Flow::new(wire, port)).collect();
    let v6 = format!("[{}]:5004", wire.far_v6());
    flows.push(Flow::between("[::]:0", &v6));
    flows
}

#[test]
fn have_a_clock_and_a_queue_each() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(EACH_1_MBIT).ok();
        let mut flows = four_flows(&wire);
        // If they were one flow, its queue would not hold them all.
        for flow in &mut flows {
            flow.send(90, BYTES);
        }
        let busy = link("near1");
        assert_eq!(busy.class("clients").flows, 4, "{busy:#?}");
        assert!(busy.class("clients").queued_packets > 300, "{busy:#?}");
        for flow in &flows {
            assert_eq!(flow.arrivals(), numbers(90));
        }
        let end = link("near1");
        assert_eq!(end.class("clients").dropped_packets, 0);
        assert!(end.classes.iter().all(|class| class.adds_up()));
    });
}

#[test]
fn end_with_their_sockets() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(EACH_1_MBIT).ok();
        let mut flows = four_flows(&wire);
        for flow in &mut flows {
            flow.send(1, BYTES);
        }
        assert_eq!(link("near1").class("clients").flows, 4);
        flows.truncate(1);
        let left = link("near1");
        assert_eq!(left.class("clients").flows, 1);
        // Their counters stay.
        assert_eq!(left.class("clients").sent_packets, 4);
    });
}

#[test]
fn are_not_disturbed_by_a_flood_of_others() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        // A frame in 25 ms: the first flows are still there when the last one comes.
        apply(&EACH_1_MBIT.replace("1mbit", "80kbit")).ok();
        let mut flow = Flow::new(&wire, 5001);
        flow.send(PACKETS, BYTES);
        let flood = UdpSocket::bind("0.0.0.0:0").unwrap();
        for port in 0..FLOOD {
            // The far end answers that the port is closed, which does not matter.
            let _ = flood.send_to(&[0; BYTES], (wire.far_v4().as_str(), 10_000 + port));
        }
        let busy = link("near1");
        assert!(busy.flow_totals.live <= FLOWS_MAX, "{busy:#?}");
        assert!(busy.flow_totals.created > FLOWS_MAX / 2, "{busy:#?}");
        assert_eq!(flow.arrivals(), numbers(PACKETS));
        let end = link("near1");
        assert_eq!(end.queued_packets, 0);
        assert!(end.classes.iter().all(|class| class.adds_up()));
    });
}

/// The class of all packets to port 5001, and the other classes.
fn policy(class: &str) -> String {
    format!(
        "[link.near1]\nrate = \"100mbit\"\n\
         [[link.near1.class]]\nname = \"other\"\nrate = \"1mbit\"\nmatch = {{ dst_port = 9 }}\n\
         [[link.near1.class]]\n{class}match = {{ dst_port = 5001 }}\n"
    )
}

#[test]
fn are_not_reordered_by_new_rules() {
    let slow = policy("name = \"slow\"\nrate = \"1mbit\"\n");
    let fast = policy("name = \"fast\"\nrate = \"50mbit\"\n");
    let each = policy("name = \"each\"\nrate = \"20mbit\"\nper_flow = true\n");
    let best_effort = policy("name = \"rest\"\nweight = 3\n");
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        for from in [&slow, &each] {
            for to in [&fast, &each, &best_effort] {
                apply(&slow).ok();
                apply(from).ok();
                let mut flow = Flow::new(&wire, 5001);
                flow.send(PACKETS, BYTES);
                apply(to).ok();
                flow.send(PACKETS, BYTES);
                apply(&slow).ok();
                flow.send(PACKETS, BYTES);
                assert_eq!(flow.arrivals(), numbers(3 * PACKETS), "{from} then {to}");
            }
        }
        let end = link("near1");
        assert_eq!(end.queued_packets, 0);
        assert!(end.classes.iter().all(|class| class.adds_up()), "{end:#?}");
    });
}

fn numbers(packets: u32) -> Vec<u32> {
    (0..packets).collect()
}
