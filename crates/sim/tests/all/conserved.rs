//! Whatever the traffic and the scheduler: packets come out, or are counted as lost.

use proptest::prelude::*;
use takt_planner::{departure::departure, flow::socket_rates, tree::tree};
use takt_policy::Framing;
use takt_sim::{
    Qdisc, Setup,
    qdisc::{
        Departure, Edt, Fifo, Fq, FqCodel, FqCodelTerms, FqTerms, Htb, PsPacer, SocketRates, Takt,
        Tbf, TbfTerms,
    },
};

use crate::common::{ETHERNET, of, policy, run, setup};

const CASES: u32 = 32;
const NS_PER_S: u64 = 1_000_000_000;

fn all(setup: &Setup) -> Vec<(&'static str, Box<dyn Qdisc>)> {
    let (link, ids) = (&setup.link, &setup.ids);
    let tbf = TbfTerms {
        rate_bps: link.rate_bps,
        framing: Framing {
            overhead_bytes: 24,
            ..Framing::default()
        },
        burst_bytes: 100_000,
        limit_bytes: 1_000_000,
    };
    vec![
        ("takt", Box::new(Takt::new(setup.tables.clone()))),
        ("tree", Box::new(Htb::new(&tree(link, ids, 1500)))),
        (
            "departure",
            Box::new(Departure::new(&departure(link, ids, 1500))),
        ),
        (
            "flow",
            Box::new(SocketRates::new(&socket_rates(link, ids, 14))),
        ),
        ("fifo", Box::new(Fifo::new(100))),
        ("tbf", Box::new(Tbf::new(tbf))),
        ("fq_codel", Box::new(FqCodel::new(FqCodelTerms::default()))),
        ("fq", Box::new(Fq::new(FqTerms::default()))),
        (
            "edt",
            Box::new(Edt::new(&setup.classes, Fq::new(FqTerms::default()))),
        ),
        (
            "pspacer",
            Box::new(PsPacer::new(link.rate_bps, ETHERNET, &setup.classes)),
        ),
    ]
}

fn kind() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&[
        "kind = \"backlog\"\npackets = 40",
        "kind = \"cbr\"\nrate = \"30mbit\"",
        "kind = \"poisson\"\nrate = \"80mbit\"",
        "kind = \"on-off\"\nrate = \"200mbit\"\non = \"5ms\"\noff = \"10ms\"",
        "kind = \"pareto\"\nrate = \"90mbit\"\non = \"5ms\"\noff = \"10ms\"",
        "kind = \"request\"\nrtt = \"3ms\"\nthink = \"1ms\"",
        "kind = \"tcp\"\nrtt = \"5ms\"\necn = \"ect0\"",
        "kind = \"tcp\"\nrtt = \"5ms\"\ncontrol = \"reno\"\nbytes = 30000\nthink = \"2ms\"",
        "kind = \"tcp\"\nrtt = \"5ms\"\ncontrol = \"bbr\"",
    ] as &[&str])
}

fn source() -> impl Strategy<Value = String> {
    (kind(), 1..5u32, 0..4u16, 60..1514u32, any::<bool>()).prop_map(
        |(kind, flows, port, frame, forwarded)| {
            format!(
                "{kind}\nflows = {flows}\nframe = {frame}\nforwarded = {forwarded}\n\
                 stop = \"200ms\"\nheaders = {{ proto = \"udp\", dst_port = {port} }}\n"
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn what_comes_leaves_or_is_lost(
        sources in prop::collection::vec(source(), 1..5), late in 0..3usize, ring in 1..20u32,
    ) {
        let late = ["0ns", "1us", "50us"][late];
        let head = format!(
            "[host]\ntimer_late = [\"0ns\", \"{late}\"]\n[device]\nqueue_packets = {ring}\n"
        );
        let sources = sources.iter().enumerate();
        let sources = sources.map(|(at, text)| format!("[[source]]\nname = \"s{at}\"\n{text}"));
        let traffic = head + &sources.collect::<String>();
        let classes = [("a", "20mbit"), ("b", "50mbit"), ("c", "90mbit")];
        let policy = policy("100mbit", &classes).replacen("overhead", "ecn = true\noverhead", 1);
        let setup = setup(&policy, &traffic);
        for (name, mut qdisc) in all(&setup) {
            let outcome = run(&setup, &mut *qdisc, 8 * NS_PER_S);
            for at in 0..setup.traffic.sources.len() {
                let source = of(&outcome.sources, &format!("s{at}"));
                let gone = source.delivered_packets + source.lost.packets();
                prop_assert_eq!(source.offered_packets, gone, "s{} under {}", at, name);
            }
            let wire_most = 100.0 + 1e-3;
            prop_assert!(outcome.utilisation_percent <= wire_most, "{name}");
        }
    }
}
