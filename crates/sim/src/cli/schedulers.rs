//! The schedulers by their names, with the settings of peers.

use clap::ValueEnum;
use takt_planner::{departure, flow, tree};
use takt_policy::Backend;
use takt_sim::{
    Setup,
    qdisc::{
        Airtime, Cake, CakeTerms, Departure, Edt, Fifo, Fq, FqCodel, FqCodelTerms, FqTerms, Htb,
        PsPacer, Qdisc, SocketRates, Takt, Tbf, TbfTerms,
    },
};

/// A peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// Takt's backend for old kernels: HTB classes made of the policy.
    Tree,
    /// Takt's backend for fixed rates: departure times that fq keeps.
    Departure,
    /// Takt's backend for TCP connections: rates on their sockets, kept by fq.
    Flow,
    /// First in, first out: 1000 packets.
    Fifo,
    /// A token bucket at the link's rate.
    Tbf,
    /// CAKE at the link's rate, with flows in turns.
    Cake,
    /// Flows in turns, with CoDel, at the wire's rate.
    #[value(name = "fq_codel")]
    FqCodel,
    /// Flows in turns, at the wire's rate.
    Fq,
    /// Stations in turns by airtime, as in mac80211.
    Airtime,
    /// The original byte clock, with gap frames.
    Pspacer,
    /// Cilium's departure times for classes, with fq.
    Edt,
}

/// A link's scheduler with its name in outputs.
pub type Named = (String, Box<dyn Qdisc>);

/// Linux's default length of a device's queue (`txqueuelen`).
const FIFO_PACKETS: u32 = 1000;
/// What the tokens of TBF may add up to: a tick of 250 Hz, as tc(8) demands at least.
const TBF_BURST_NS: u64 = 4_000_000;
/// How long its queue may be.
const TBF_QUEUE_NS: u64 = 50_000_000;
/// Ethernet's payload, which the planner counts in.
const MTU_BYTES: u32 = 1500;
/// A frame's header.
const ETHERNET_BYTES: u32 = 14;

/// The backend that the policy demands, or Takt's own qdisc.
pub fn own(setup: &Setup) -> Named {
    match setup.link.backend {
        None | Some(Backend::Takt) => {
            ("takt".to_owned(), Box::new(Takt::new(setup.tables.clone())))
        }
        Some(Backend::Departure) => peer(Name::Departure, setup),
        Some(Backend::Tree) => peer(Name::Tree, setup),
        Some(Backend::Flow) => peer(Name::Flow, setup),
    }
}

/// A peer on the same link.
pub fn peer(name: Name, setup: &Setup) -> Named {
    let (link, ids) = (&setup.link, &setup.ids);
    let qdisc: Box<dyn Qdisc> = match name {
        Name::Tree => Box::new(Htb::new(&tree::tree(link, ids, MTU_BYTES))),
        Name::Departure => Box::new(Departure::new(&departure::departure(link, ids, MTU_BYTES))),
        Name::Flow => {
            let terms = flow::socket_rates(link, ids, ETHERNET_BYTES);
            Box::new(SocketRates::new(&terms))
        }
        Name::Fifo => Box::new(Fifo::new(FIFO_PACKETS)),
        Name::Tbf => Box::new(Tbf::new(tbf_of(setup))),
        Name::Cake => Box::new(Cake::new(CakeTerms {
            rate_bps: link.rate_bps,
            framing: link.framing,
        })),
        Name::FqCodel => Box::new(FqCodel::new(FqCodelTerms::default())),
        Name::Airtime => Box::new(Airtime::new()),
        Name::Fq => Box::new(Fq::new(FqTerms::default())),
        Name::Pspacer => Box::new(PsPacer::new(link.rate_bps, link.framing, &setup.classes)),
        Name::Edt => Box::new(Edt::new(&setup.classes, Fq::new(FqTerms::default()))),
    };
    let value = name.to_possible_value();
    let name = value.map_or_else(String::new, |value| value.get_name().to_owned());
    (name, qdisc)
}

fn tbf_of(setup: &Setup) -> TbfTerms {
    let rate_bps = setup.link.rate_bps;
    let bytes = |ns: u64| u128::from(rate_bps) * u128::from(ns) / 8_000_000_000;
    TbfTerms {
        rate_bps,
        framing: setup.link.framing,
        burst_bytes: bytes(TBF_BURST_NS).max(2 * u128::from(MTU_BYTES)) as u32,
        limit_bytes: bytes(TBF_QUEUE_NS).max(20 * u128::from(MTU_BYTES)) as u64,
    }
}
