//! The contenders and their settings: the defaults but for rates, unless the name says another.

use super::case::{Case, PORT, Pace, Sent};
use crate::experiment::pair::DEVICE;
use crate::experiment::setup::Qdisc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    /// No qdisc and no rate.
    None,
    Takt,
    /// One frame a packet.
    TaktMtu,
    /// Packets as TCP makes them.
    TaktGso,
    TaktTree,
    TaktDeparture,
    TaktFlow,
    /// At rates that sockets ask for.
    Fq,
    /// At a rate that all flows have.
    FqMaxrate,
    Htb,
    CakeSplit,
    CakeWhole,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub qdisc: Qdisc,
    /// `SO_MAX_PACING_RATE` of each socket.
    pub pacing_bytes_per_s: Option<u64>,
}

/// Far more than any class has.
const LINK_RATE: &str = "10gbit";

impl Contender {
    pub const ALL: [Self; 12] = [
        Self::Takt,
        Self::TaktMtu,
        Self::TaktGso,
        Self::TaktTree,
        Self::TaktDeparture,
        Self::TaktFlow,
        Self::Fq,
        Self::FqMaxrate,
        Self::Htb,
        Self::CakeSplit,
        Self::CakeWhole,
        Self::None,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Takt => "takt",
            Self::TaktMtu => "takt-mtu",
            Self::TaktGso => "takt-gso",
            Self::TaktTree => "takt-tree",
            Self::TaktDeparture => "takt-departure",
            Self::TaktFlow => "takt-flow",
            Self::Fq => "fq",
            Self::FqMaxrate => "fq-maxrate",
            Self::Htb => "htb+fq_codel",
            Self::CakeSplit => "cake-split-gso",
            Self::CakeWhole => "cake-no-split-gso",
        }
    }

    /// `None`: it cannot do this.
    pub fn setting(self, case: &Case) -> Option<Setting> {
        let qdisc = match (self, case.pace) {
            (Self::None, Pace::Class { .. }) if case.sent == Sent::Tcp => Qdisc::None,
            (Self::Takt, _) => takt(case, "backend = \"takt\"\n"),
            (Self::TaktMtu, _) => takt(case, "backend = \"takt\"\npackets = \"mtu\"\n"),
            (Self::TaktGso, _) => takt(case, "backend = \"takt\"\npackets = \"gso\"\n"),
            (Self::TaktTree, Pace::Class { .. }) => takt(case, "backend = \"tree\"\n"),
            (Self::TaktDeparture, Pace::Class { .. }) => takt(case, "backend = \"departure\"\n"),
            (Self::TaktFlow, Pace::Flow { .. }) => takt(case, "backend = \"flow\"\n"),
            (Self::Fq, Pace::Flow { .. }) => root("fq"),
            (Self::FqMaxrate, _) => root(&format!("fq maxrate {}bit", case.flow_bps())),
            (Self::Htb, Pace::Class { rate_bps }) => htb(rate_bps),
            (Self::CakeSplit, Pace::Class { rate_bps }) => cake(rate_bps, "split-gso"),
            (Self::CakeWhole, Pace::Class { rate_bps }) => cake(rate_bps, "no-split-gso"),
            _ => return None,
        };
        // TCP paces its payload.
        let pacing_bytes_per_s = case.sent.payload_bps(case.flow_bps()) / 8;
        Some(Setting {
            qdisc,
            pacing_bytes_per_s: (self == Self::Fq).then_some(pacing_bytes_per_s),
        })
    }
}

/// A policy of one class, with these keys of the link. Every backend may carry it out in part: what
/// some of them do not keep plays no role here.
fn takt(case: &Case, keys: &str) -> Qdisc {
    let proto = match case.sent {
        Sent::Tcp => "tcp",
        Sent::Datagrams | Sent::SegmentedDatagrams => "udp",
    };
    let (rate_bps, per_flow) = match case.pace {
        Pace::Flow { rate_bps } => (rate_bps, true),
        Pace::Class { rate_bps } => (rate_bps, false),
    };
    Qdisc::Takt(format!(
        "[link.{DEVICE}]\nrate = \"{LINK_RATE}\"\n{keys}\n\
         [[link.{DEVICE}.class]]\nname = \"bytes\"\n\
         match = [{{ proto = \"{proto}\", dst_port = {PORT} }}]\n\
         rate = \"{rate_bps}bit\"\nper_flow = {per_flow}\nbest_effort = true\n\n\
         [[link.{DEVICE}.class]]\nname = \"default\"\nbest_effort = true\n"
    ))
}

fn root(qdisc: &str) -> Qdisc {
    Qdisc::Tc(vec![format!("qdisc replace dev {DEVICE} root {qdisc}")])
}

fn htb(rate_bps: u64) -> Qdisc {
    Qdisc::Tc(vec![
        format!("qdisc replace dev {DEVICE} root handle 1: htb default 1"),
        // The quantum is for borrowing, and this class has no sibling; HTB warns of the one that it chooses.
        format!(
            "class add dev {DEVICE} parent 1: classid 1:1 htb rate {rate_bps}bit quantum 60000"
        ),
        format!("qdisc add dev {DEVICE} parent 1:1 fq_codel"),
    ])
}

fn cake(rate_bps: u64, split: &str) -> Qdisc {
    root(&format!("cake bandwidth {rate_bps}bit besteffort {split}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str) -> &'static Case {
        const CASES: &[Case] = &Case::ALL;
        CASES.iter().find(|case| case.name == name).expect("a case")
    }

    #[test]
    fn a_policy_is_as_it_would_be_written() {
        let setting = Contender::TaktGso.setting(case("20mbit-a-flow"));
        let Some(Qdisc::Takt(policy)) = setting.map(|setting| setting.qdisc) else {
            panic!("Takt can do this");
        };
        assert_eq!(
            policy,
            "[link.va]\nrate = \"10gbit\"\nbackend = \"takt\"\npackets = \"gso\"\n\n\
             [[link.va.class]]\nname = \"bytes\"\n\
             match = [{ proto = \"tcp\", dst_port = 5001 }]\n\
             rate = \"20000000bit\"\nper_flow = true\nbest_effort = true\n\n\
             [[link.va.class]]\nname = \"default\"\nbest_effort = true\n"
        );
    }

    #[test]
    fn rates_of_flows_are_for_those_that_have_them() {
        let who = |name: &str| -> Vec<&str> {
            let able = Contender::ALL.into_iter();
            let able = able.filter(|one| one.setting(case(name)).is_some());
            able.map(Contender::name).collect()
        };
        let takt = ["takt", "takt-mtu", "takt-gso"];
        assert_eq!(
            who("20mbit-a-flow"),
            [&takt[..], &["takt-flow", "fq", "fq-maxrate"]].concat()
        );
        let classes = ["takt-tree", "takt-departure", "fq-maxrate", "htb+fq_codel"];
        let classes = [
            &takt[..],
            &classes,
            &["cake-split-gso", "cake-no-split-gso"],
        ]
        .concat();
        assert_eq!(who("100mbit-udp"), classes);
        assert_eq!(who("400mbit"), [&classes[..], &["none"]].concat());
    }

    #[test]
    fn sockets_ask_for_payload() {
        let setting = Contender::Fq
            .setting(case("20mbit-a-flow"))
            .expect("fq can do this");
        // 1,448 of 1,514 bytes.
        assert_eq!(setting.pacing_bytes_per_s, Some(2_391_017));
    }
}
