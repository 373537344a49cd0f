//! Schedulers, each as the kernel's and as the simulator's.

use takt_planner::{departure::departure, flow::socket_rates, tree::tree};
use takt_policy::Framing;
use takt_sim::{
    Setup,
    qdisc::{
        self, CakeTerms, Departure, FqCodel, FqCodelTerms, FqTerms, Htb, SocketRates, Takt,
        TbfTerms,
    },
};

use super::case::Case;
use crate::experiment::pair::DEVICE;
use crate::experiment::setup::Qdisc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    TaktQdisc,
    TaktTree,
    TaktDeparture,
    TaktFlow,
    /// A token bucket with a FIFO.
    Tbf,
    /// Token buckets in front of other queues, since those know no rate.
    TbfFq,
    TbfFqCodel,
    Cake,
    /// With a rate on each socket.
    Fq,
}

const MTU_BYTES: u32 = 1500;
const ETHERNET_BYTES: u32 = 14;
/// Two frames.
const BURST_BYTES: u32 = 2 * (MTU_BYTES + ETHERNET_BYTES);
const LIMIT_BYTES: u64 = 1_000_000;

impl Contender {
    pub fn name(self) -> &'static str {
        match self {
            Self::TaktQdisc => "takt",
            Self::TaktTree => "takt-tree",
            Self::TaktDeparture => "takt-departure",
            Self::TaktFlow => "takt-flow",
            Self::Tbf => "tbf",
            Self::TbfFq => "tbf+fq",
            Self::TbfFqCodel => "tbf+fq_codel",
            Self::Cake => "cake",
            Self::Fq => "fq",
        }
    }

    /// Of Takt.
    pub fn backend(self) -> Option<&'static str> {
        match self {
            Self::TaktQdisc => Some("takt"),
            Self::TaktTree => Some("tree"),
            Self::TaktDeparture => Some("departure"),
            Self::TaktFlow => Some("flow"),
            _ => None,
        }
    }

    /// What the kernel is told.
    pub fn qdisc(self, case: &Case) -> Qdisc {
        if self.backend().is_some() {
            return Qdisc::Takt(case.policy_on(self));
        }
        let rate_bps = case.rate_bps;
        let root = format!("qdisc replace dev {DEVICE} root handle 1:");
        let tbf = format!("{root} tbf rate {rate_bps}bit burst {BURST_BYTES} limit {LIMIT_BYTES}");
        let below = |child: &str| {
            let child = format!("qdisc replace dev {DEVICE} parent 1:1 handle 2: {child}");
            vec![tbf.clone(), child]
        };
        Qdisc::Tc(match self {
            Self::TbfFq => below("fq"),
            Self::TbfFqCodel => below("fq_codel"),
            Self::Cake => vec![format!(
                "{root} cake bandwidth {rate_bps}bit besteffort flows raw"
            )],
            Self::Fq => vec![format!("{root} fq")],
            _ => vec![tbf],
        })
    }

    /// The rates of sockets, of the kernel's and of the simulator's.
    pub fn pace(self, setup: &mut Setup, rate_bps: u64) {
        if self == Self::Fq {
            for flow in &mut setup.flows {
                flow.pacing_bps = rate_bps;
            }
        }
    }

    /// Its model.
    pub fn model(self, setup: &Setup, rate_bps: u64) -> Box<dyn qdisc::Qdisc> {
        let (link, ids) = (&setup.link, &setup.ids);
        let tbf = TbfTerms {
            rate_bps,
            framing: Framing::default(),
            burst_bytes: BURST_BYTES,
            limit_bytes: LIMIT_BYTES,
        };
        let fq = || Box::new(qdisc::Fq::new(FqTerms::default()));
        match self {
            Self::TaktQdisc => Box::new(Takt::new(setup.tables.clone())),
            Self::TaktTree => Box::new(Htb::new(&tree(link, ids, MTU_BYTES))),
            Self::TaktDeparture => Box::new(Departure::new(&departure(link, ids, MTU_BYTES))),
            Self::TaktFlow => Box::new(SocketRates::new(&socket_rates(link, ids, ETHERNET_BYTES))),
            Self::Tbf => Box::new(qdisc::Tbf::new(tbf)),
            Self::TbfFq => Box::new(qdisc::Tbf::over(tbf, fq())),
            Self::Cake => Box::new(qdisc::Cake::new(CakeTerms {
                rate_bps,
                framing: Framing::default(),
            })),
            Self::TbfFqCodel => {
                let below = FqCodel::new(FqCodelTerms::default());
                Box::new(qdisc::Tbf::over(tbf, Box::new(below)))
            }
            Self::Fq => fq(),
        }
    }
}
