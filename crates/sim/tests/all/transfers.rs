//! Transfers of tcp sources: when they end, when the next ones begin, and what marks do to them.

use takt_planner::tree::tree;
use takt_sim::{
    Outcome,
    qdisc::{Edt, Fifo, Fq, FqCodel, FqCodelTerms, FqTerms, Htb},
};

use crate::common::{of, policy, run, setup};

const NS_PER_S: u64 = 1_000_000_000;
const LINK: &str = "[link.eth0]\nrate = \"1gbit\"\noverhead = 24\n";

/// Transfers by this source's other keys, through a FIFO that loses nothing.
fn transfers(keys: &str) -> Outcome {
    let traffic = format!(
        "[[source]]\nname = \"all\"\nkind = \"tcp\"\nrtt = \"200us\"\nforwarded = true\n{keys}"
    );
    run(&setup(LINK, &traffic), &mut Fifo::new(10_000), NS_PER_S)
}

/// Linux acknowledges a segment that ends what an application wrote as soon as the receiver has
/// read it: an odd one waits for no timer.
#[test]
fn transfers_of_an_odd_number_of_segments_wait_for_no_acknowledgement() {
    let [even, odd] = [63_712, 64_000].map(|bytes| {
        let outcome = transfers(&format!("bytes = {bytes}\n"));
        of(&outcome.sources, "all").transfer.unwrap()
    });
    assert!(
        odd.count * 45 > even.count * 44 * 99 / 100,
        "{odd:?}, {even:?}"
    );
    assert!(odd.max_ns < 2_000_000, "{odd:?}");
}

/// Each round takes what all its transfers take on the wire, and a round trip; no flow is ahead by
/// more than a transfer.
#[test]
fn transfers_that_begin_together_wait_for_each_other() {
    const SEGMENTS: u64 = 45;
    const ROUND_NS: u64 = 16 * SEGMENTS * 1538 * 8 + 200_000;
    let outcome = transfers("flows = 16\nbytes = 64000\ntogether = true\n");
    let figures = of(&outcome.sources, "all");
    let rounds = NS_PER_S / ROUND_NS;
    let count = figures.transfer.unwrap().count;
    assert!(count <= (rounds + 1) * 16, "{figures:?}");
    // The last of a round has the port for itself, and may lack the window for it.
    assert!(count >= rounds * 4 / 5 * 16, "{figures:?}");
    let packets = figures.delivered_packets;
    assert!(packets <= (count / 16 + 1) * 16 * SEGMENTS, "{figures:?}");

    let apart = transfers("flows = 16\nbytes = 64000\ntogether = true\napart = \"1ms\"\n");
    let took = of(&apart.sources, "all").transfer.unwrap();
    let of_round = (15_000_000 + took.p50_ns + 200_000).min(ROUND_NS + 15_000_000);
    assert!(
        took.count.abs_diff(NS_PER_S / of_round * 16) <= 32,
        "{took:?}"
    );
}

/// RFC 8257: a queue stays at what it is marked from, where other senders fill it.
#[test]
fn dctcp_keeps_a_queue_short_that_is_marked() {
    let [cubic, dctcp] = ["cubic\"\necn = \"ect0", "dctcp"].map(|control| {
        let traffic = format!(
            "[measure]\nafter = \"200ms\"\n[[source]]\nname = \"all\"\nkind = \"tcp\"\n\
             flows = 2\nrtt = \"1ms\"\nforwarded = true\ncontrol = \"{control}\"\n"
        );
        let setup = setup(LINK, &traffic);
        let mut qdisc = FqCodel::new(FqCodelTerms::default());
        let outcome = run(&setup, &mut qdisc, 2 * NS_PER_S);
        of(&outcome.sources, "all").clone()
    });
    for figures in [&cubic, &dctcp] {
        assert!(figures.marked_packets > 0, "{figures:?}");
        assert_eq!(figures.lost.packets(), 0, "{figures:?}");
    }
    // It answers each mark, and by little.
    assert!(
        dctcp.marked_packets > cubic.marked_packets,
        "{dctcp:?}, {cubic:?}"
    );
    assert!(dctcp.delivered_bps > 0.98e9, "{dctcp:?}");
}

/// fq keeps 100 packets of a flow. A sender that has more is held by that, and does not rest.
#[test]
fn a_queue_that_is_shorter_than_a_backlog_loses_no_rate() {
    let link = policy("10gbit", &[("a", "9gbit")]);
    let traffic = "[measure]\nafter = \"500ms\"\n[[source]]\nname = \"a\"\nkind = \"backlog\"\n\
        packets = 1000\nheaders = { dst_port = 0 }\n";
    let setup = setup(&link, traffic);
    let fq = || Fq::new(FqTerms::default());
    let plain = run(&setup, &mut fq(), 2 * NS_PER_S);
    assert!(plain.utilisation_percent > 99.99, "{plain:?}");
    assert!(of(&plain.sources, "a").lost.packets() < 10, "{plain:?}");
    // It counts layer 2 frames.
    let edt = run(&setup, &mut Edt::new(&setup.classes, fq()), 2 * NS_PER_S);
    let rate_bps = of(&edt.sources, "a").delivered_bps * 1514.0 / 1538.0;
    assert!((rate_bps / 9e9 - 1.0).abs() < 1e-3, "{rate_bps}");
}

/// A burst that covers what its timer is late by keeps HTB's rate.
#[test]
fn htb_keeps_its_rate_with_the_bursts_of_an_expert() {
    let link = policy("10gbit", &[("a", "5gbit")]);
    let traffic = "[host]\ntimer_late = [\"0ns\", \"50us\"]\n[measure]\nafter = \"50ms\"\n\
        [[source]]\nname = \"a\"\nkind = \"backlog\"\npackets = 1000\n\
        headers = { dst_port = 0 }\n";
    let setup = setup(&link, traffic);
    let mut classes = tree(&setup.link, &setup.ids, 1500);
    let [short, long] = [None, Some(1_000_000)].map(|burst_ns: Option<u64>| {
        for node in &mut classes.nodes {
            let expert = burst_ns.map(|ns| (node.ceil_bps * ns / 8 / NS_PER_S) as u32);
            node.burst_bytes = expert.unwrap_or(node.burst_bytes);
        }
        let outcome = run(&setup, &mut Htb::new(&classes), NS_PER_S);
        of(&outcome.classes, "a").rate_error_ppm.unwrap()
    });
    assert!(short < -50_000.0, "{short}");
    assert!(long.abs() < 1_000.0, "{long}");
}
