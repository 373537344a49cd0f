//! What is on the device, and its settings.

use crate::experiment::pair::DEVICE;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::{Qdisc, Setup, SocketOptions, setup};
use crate::experiment::shape::Shape;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    /// No qdisc.
    None,
    /// A fq for each queue: the kernel's own setting for fast devices.
    MqFq,
    /// One of the schedulers of all experiments.
    Scheduler(Scheduler),
    /// CAKE for each queue (Linux 7.0).
    CakeMq,
}

impl Contender {
    pub const ALL: [Self; 8] = [
        Self::MqFq,
        Self::None,
        Self::Scheduler(Scheduler::Takt),
        Self::Scheduler(Scheduler::TaktDeparture),
        Self::Scheduler(Scheduler::TaktFlow),
        Self::Scheduler(Scheduler::Fq),
        Self::Scheduler(Scheduler::Htb),
        Self::CakeMq,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::None => Scheduler::None.name(),
            Self::MqFq => "mq+fq",
            Self::Scheduler(scheduler) => scheduler.name(),
            Self::CakeMq => "cake_mq",
        }
    }

    /// Its settings for a shape of one class; `None` if it cannot express the shape.
    pub fn setup(self, shape: &Shape, queues: usize) -> Option<Setup> {
        let without_rate = |qdisc| {
            (!shape.waits).then(|| Setup {
                qdisc,
                sockets: vec![SocketOptions::default()],
            })
        };
        match self {
            Self::None => without_rate(Qdisc::None),
            Self::MqFq => without_rate(Qdisc::Tc(mq_fq(queues))),
            // UDP has no rates there; its place is mq with fq, as the peer's.
            Self::Scheduler(Scheduler::TaktFlow) => without_rate(flow(shape)?),
            Self::Scheduler(scheduler) => setup(scheduler, shape),
            // A tc that does not know it cannot give it a rate.
            Self::CakeMq => {
                let line = format!("qdisc replace dev {DEVICE} root cake_mq");
                without_rate(Qdisc::Tc(vec![line]))
            }
        }
    }
}

fn mq_fq(queues: usize) -> Vec<String> {
    let root = format!("qdisc replace dev {DEVICE} root handle 1: mq");
    let of_queue = |queue| format!("qdisc replace dev {DEVICE} parent 1:{queue:x} fq");
    std::iter::once(root)
        .chain((1..=queues).map(of_queue))
        .collect()
}

/// The setup of the same class for TCP.
fn flow(shape: &Shape) -> Option<Qdisc> {
    let class = shape.classes.first()?;
    let tcp = Shape::tcp(&class.name, class.dst_port, class.rate_bps);
    setup(Scheduler::TaktFlow, &tcp).map(|setup| setup.qdisc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_keep_one_rate_over_queues_is_left_out() {
        let shape = |waits| Shape {
            waits,
            ..Shape::udp([40_000_000])
        };
        let able = |waits| {
            let all = Contender::ALL.into_iter();
            all.filter(|contender| contender.setup(&shape(waits), 2).is_some())
                .map(Contender::name)
                .collect::<Vec<_>>()
        };
        assert_eq!(able(false).len(), 8);
        assert_eq!(able(true), ["takt", "takt-departure", "fq", "htb"]);
    }

    #[test]
    fn packets_of_htb_are_of_its_class() {
        let htb = Contender::Scheduler(Scheduler::Htb);
        let setup = htb.setup(&Shape::udp([40_000_000]), 2).unwrap();
        assert_ne!(setup.sockets[0].priority, 0);
    }

    #[test]
    fn each_queue_has_a_fq() {
        assert_eq!(
            mq_fq(2),
            [
                "qdisc replace dev va root handle 1: mq",
                "qdisc replace dev va parent 1:1 fq",
                "qdisc replace dev va parent 1:2 fq",
            ]
        );
    }
}
