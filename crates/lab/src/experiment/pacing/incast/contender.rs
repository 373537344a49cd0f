//! How servers send, and how the client asks.

use super::case::{Case, FRAME_BYTES, HEADER_BYTES, PORT_BPS};
use super::network::{Buffer, CLIENT_DEVICE, server_device, wire};
use super::rounds::{PORT, REQUEST_BYTES};
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::Qdisc;

/// What DCTCP's authors recommend at 1 Gbit/s and a tenth of the round trip here, which is as many
/// packets in flight.
const MARKS_BEYOND: u64 = 20;
const GAP_HOSTS_MAX: usize = 4;

/// What is on a server's device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sender {
    /// Its wire's speed alone.
    Wire,
    /// fq with a `maxrate`.
    Fq,
    /// Takt's rates of sockets.
    Sockets,
    /// Takt's own qdisc, with this `pacing`.
    Clocks(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contender {
    /// The name in rows.
    pub name: &'static str,
    sender: Sender,
    /// The client's requests leave as far apart as the answers' frames do, by a rate that Takt gives
    /// them.
    asks_in_turn: bool,
    /// The port marks, and the ends' congestion control heeds that.
    pub dctcp: bool,
}

const fn contender(name: &'static str, sender: Sender) -> Contender {
    Contender {
        name,
        sender,
        asks_in_turn: false,
        dctcp: false,
    }
}

impl Contender {
    /// Takt's first: what others leave on a device, it would keep.
    const ALL: [Self; 8] = [
        contender("takt", Sender::Clocks("timer")),
        Self {
            asks_in_turn: true,
            ..contender("takt-asked", Sender::Clocks("timer"))
        },
        contender("takt-timer+gap", Sender::Clocks("timer+gap")),
        contender("takt-gap", Sender::Clocks("gap")),
        contender("takt-flow", Sender::Sockets),
        contender("fq", Sender::Fq),
        contender("none", Sender::Wire),
        Self {
            dctcp: true,
            ..contender("dctcp", Sender::Wire)
        },
    ];
    /// A short run has these.
    const SHORT: [&str; 5] = ["takt", "takt-flow", "fq", "none", "dctcp"];

    pub fn all(short: bool) -> impl Iterator<Item = Self> {
        let all = Self::ALL.into_iter();
        all.filter(move |one| !short || Self::SHORT.contains(&one.name))
    }

    /// What has to be wanted for this; the kernel's own devices always are.
    pub fn scheduler(self) -> Scheduler {
        match self.sender {
            Sender::Wire => Scheduler::None,
            Sender::Fq => Scheduler::Fq,
            Sender::Sockets => Scheduler::TaktFlow,
            Sender::Clocks(_) => Scheduler::Takt,
        }
    }

    /// One processor is all hosts here, and more cannot fill their wires with gap frames.
    pub fn can(self, case: Case) -> bool {
        self.sender != Sender::Clocks("gap") || case.hosts() <= GAP_HOSTS_MAX
    }

    pub fn buffer(self, case: Case) -> Buffer {
        let packets = case.buffer_packets;
        Buffer {
            packets,
            marks_beyond: self.dctcp.then_some(MARKS_BEYOND.min(packets / 2)),
        }
    }

    /// Of all servers' devices.
    pub fn of_servers(self, case: Case) -> Qdisc {
        let devices = (1..=case.hosts()).map(server_device);
        let rate_bps = case.rate_bps();
        let tc = |of_one: String| {
            let line = |device| format!("qdisc replace dev {device} root {of_one}");
            Qdisc::Tc(devices.clone().map(line).collect())
        };
        let takt = |link: &str| {
            let of_one = |device: String| policy(&device, link, rate_bps);
            Qdisc::Takt(devices.clone().map(of_one).collect())
        };
        match self.sender {
            Sender::Wire => tc(wire(PORT_BPS)),
            Sender::Fq => tc(fq(rate_bps)),
            Sender::Sockets => takt("backend = \"flow\""),
            Sender::Clocks(pacing) => takt(&format!("pacing = \"{pacing}\"")),
        }
    }

    pub fn of_client(self) -> Qdisc {
        if !self.asks_in_turn {
            return Qdisc::None;
        }
        let request_bits = (REQUEST_BYTES as u64 + HEADER_BYTES) * 8;
        let rate_bps = request_bits * 1_000_000_000 / Case::apart_ns();
        Qdisc::Takt(format!(
            "[link.{CLIENT_DEVICE}]\nrate = \"{PORT_BPS}bit\"\n\
             \n[[link.{CLIENT_DEVICE}.class]]\nname = \"requests\"\n\
             match = [{{ proto = \"tcp\", dst_port = {PORT} }}]\n\
             rate = \"{rate_bps}bit\"\naqm = \"off\"\n"
        ))
    }
}

/// Frame by frame, as in [`setup`](crate::experiment::setup).
fn fq(rate_bps: u64) -> String {
    format!(
        "fq limit 100000 flow_limit 1000 quantum {FRAME_BYTES} initial_quantum {FRAME_BYTES} \
         maxrate {rate_bps}bit"
    )
}

/// Each answer has a rate, on a link that is as fast as the port.
fn policy(device: &str, link: &str, rate_bps: u64) -> String {
    format!(
        "[link.{device}]\nrate = \"{PORT_BPS}bit\"\n{link}\n\
         [[link.{device}.class]]\nname = \"answers\"\n\
         match = [{{ proto = \"tcp\", src_port = {PORT} }}]\n\
         rate = \"{rate_bps}bit\"\nper_flow = true\nbest_effort = true\naqm = \"off\"\n\
         [[link.{device}.class]]\nname = \"default\"\nbest_effort = true\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_a_link() {
        let case = Case::ALL[5];
        for contender in Contender::ALL {
            let hosts = match contender.of_servers(case) {
                Qdisc::Tc(lines) => lines.len(),
                Qdisc::Takt(policy) => policy.matches("best_effort = true\naqm").count(),
                Qdisc::None => 0,
            };
            assert_eq!(hosts, 8, "{contender:?}");
        }
    }

    #[test]
    fn only_asked_ones_pace_requests() {
        for contender in Contender::ALL {
            let is_paced = contender.of_client() != Qdisc::None;
            assert_eq!(is_paced, contender.name.ends_with("-asked"));
        }
    }
}
