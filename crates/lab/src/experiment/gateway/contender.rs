//! Takt and its peers at the gateway, each as its own experts set it up for this line: the same
//! rates for all, and nothing else that would depend on the traffic.

use std::path::Path;

use super::line::{Line, Way};
use super::network::{GATEWAY, INCOMING, WAN};
use crate::experiment::command;
use crate::experiment::error::Result;
use crate::experiment::root::Root;
use crate::experiment::setup::Qdisc;

const FRAME_BYTES: u64 = 1514;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    /// The modem's queues alone.
    None,
    HtbFqCodel,
    Cake,
    /// Two lines of policy, on Takt's own qdisc.
    Takt,
    /// The same, as a tree of HTB classes.
    TaktTree,
}

impl Contender {
    pub const ALL: [Self; 5] = [
        Self::None,
        Self::Cake,
        Self::Takt,
        Self::HtbFqCodel,
        Self::TaktTree,
    ];

    /// The name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::HtbFqCodel => "htb+fq_codel",
            Self::Cake => "cake",
            Self::Takt => "takt",
            Self::TaktTree => "takt-tree",
        }
    }

    pub fn attach(self, takt: &Path, line: Line) -> Result<Shaper<'_>> {
        let mut shaper = Shaper {
            up: Root::on(takt, GATEWAY, WAN),
            down: Root::on(takt, GATEWAY, INCOMING),
            redirected: false,
        };
        let [up, down] = self.qdiscs(line);
        shaper.up.attach(self.name(), &up)?;
        if down != Qdisc::None {
            shaper.redirect()?;
            shaper.down.attach(self.name(), &down)?;
        }
        Ok(shaper)
    }

    /// Of the device before the modem, and of what comes in by it.
    fn qdiscs(self, line: Line) -> [Qdisc; 2] {
        match self {
            Self::None => [Qdisc::None, Qdisc::None],
            Self::HtbFqCodel => [
                Qdisc::Tc(htb(WAN, line.up, "noecn")),
                Qdisc::Tc(htb(INCOMING, line.down, "ecn")),
            ],
            Self::Cake => [
                Qdisc::Tc(vec![cake(WAN, line.up)]),
                // Paces what the line brings, dropped packets included.
                Qdisc::Tc(vec![cake(INCOMING, line.down) + " ingress"]),
            ],
            Self::Takt => [Qdisc::Takt(policy(line, "takt")), Qdisc::None],
            Self::TaktTree => [Qdisc::Takt(policy(line, "tree")), Qdisc::None],
        }
    }
}

/// As sqm-scripts' `simplest.qos` has it: bursts of a millisecond, a quantum of 300 bytes, and
/// marks instead of drops for what has already crossed the line.
fn htb(device: &str, way: Way, ecn: &str) -> Vec<String> {
    let bps = way.shaped_bps();
    let burst = (bps / 8 / 1000).max(FRAME_BYTES);
    let target_us = target_us(bps);
    let interval_us = 95_000 + target_us;
    vec![
        format!("qdisc replace dev {device} root handle 1: htb default 1"),
        format!(
            "class add dev {device} parent 1: classid 1:1 htb rate {bps}bit \
             burst {burst} cburst {burst} quantum {FRAME_BYTES}"
        ),
        format!(
            "qdisc add dev {device} parent 1:1 fq_codel limit 1001 target {target_us}us \
             interval {interval_us}us quantum 300 {ecn}"
        ),
    ]
}

/// 5 ms, or one and a half frames.
fn target_us(bps: u64) -> u64 {
    (FRAME_BYTES * 8 * 1_000_000 * 3 / 2 / bps).max(5_000)
}

fn cake(device: &str, way: Way) -> String {
    let bps = way.shaped_bps();
    format!("qdisc replace dev {device} root cake bandwidth {bps}bit besteffort triple-isolate nat")
}

fn policy(line: Line, backend: &str) -> String {
    let [up, down] = [line.up, line.down].map(Way::shaped_bps);
    format!(
        "[link.{WAN}]\nrate = \"{up}bit\"\nbackend = \"{backend}\"\n\
         download = {{ rate = \"{down}bit\", backend = \"{backend}\" }}\n"
    )
}

/// Detached when it is dropped.
pub struct Shaper<'lab> {
    up: Root<'lab>,
    down: Root<'lab>,
    redirected: bool,
}

impl Shaper<'_> {
    pub fn detach(&mut self) -> Result<()> {
        self.unredirect()?;
        self.down.detach()?;
        self.up.detach()
    }

    fn redirect(&mut self) -> Result<()> {
        self.redirected = true;
        GATEWAY.run(|| {
            command::tc_batch(&[
                format!("qdisc add dev {WAN} clsact"),
                format!(
                    "filter add dev {WAN} ingress matchall action mirred egress redirect \
                     dev {INCOMING}"
                ),
            ])
        })
    }

    fn unredirect(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.redirected) {
            return Ok(());
        }
        GATEWAY.run(|| command::run("tc", &["qdisc", "del", "dev", WAN, "clsact"]).map(drop))
    }
}

impl Drop for Shaper<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.unredirect() {
            eprintln!("while cleaning up: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line::named("2/0.5").unwrap()
    }

    #[test]
    fn all_are_shaped_to_the_same_rates() {
        for contender in Contender::ALL {
            let [up, down] = contender.qdiscs(line());
            let settings = format!("{up:?} {down:?}");
            let shapes = contender != Contender::None;
            for rate in ["475000bit", "1900000bit"] {
                assert_eq!(settings.contains(rate), shapes, "{settings}");
            }
        }
    }

    #[test]
    fn a_slow_line_has_a_patient_codel() {
        let lines = htb("wan0", line().up, "noecn");
        assert_eq!(
            lines[2],
            "qdisc add dev wan0 parent 1:1 fq_codel limit 1001 target 38248us \
             interval 133248us quantum 300 noecn"
        );
    }

    #[test]
    fn two_lines_are_a_policy() {
        assert_eq!(
            policy(line(), "tree"),
            "[link.wan0]\nrate = \"475000bit\"\nbackend = \"tree\"\n\
             download = { rate = \"1900000bit\", backend = \"tree\" }\n"
        );
    }
}
