//! Takt and its peers at a gateway, each as its own experts would set it up.

use super::case::Case;
use crate::experiment::setup::Qdisc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    Takt,
    HtbFqCodel,
    Cake,
    /// HTB with its default queue: what AQM is for.
    HtbPfifo,
}

impl Contender {
    pub const ALL: [Self; 4] = [Self::Takt, Self::HtbFqCodel, Self::Cake, Self::HtbPfifo];

    /// The name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Takt => "takt",
            Self::HtbFqCodel => "htb+fq_codel",
            Self::Cake => "cake",
            Self::HtbPfifo => "htb+pfifo",
        }
    }

    /// Nothing but the rate, for all of them. fq_codel's target is raised below the rate at which
    /// a frame takes longer, as its manual says (sqm-scripts do); CAKE does so by itself.
    pub fn qdisc(self, device: &str, case: &Case) -> Qdisc {
        let rate_bps = case.rate_bps;
        let htb = |leaf: &str| {
            Qdisc::Tc(vec![
                format!("qdisc replace dev {device} root handle 1: htb default 1"),
                format!(
                    "class add dev {device} parent 1: classid 1:1 htb rate {rate_bps}bit \
                     burst 3028 cburst 3028 quantum 1514"
                ),
                format!("qdisc add dev {device} parent 1:1 {leaf}"),
            ])
        };
        match self {
            Self::Takt => Qdisc::Takt(format!("[link.{device}]\nrate = \"{rate_bps}bit\"\n")),
            Self::HtbFqCodel => htb(&format!("fq_codel target {}us", target_us(rate_bps))),
            Self::Cake => Qdisc::Tc(vec![format!(
                "qdisc replace dev {device} root cake bandwidth {rate_bps}bit besteffort"
            )]),
            Self::HtbPfifo => htb("pfifo limit 1000"),
        }
    }
}

/// 5 ms, or one and a half frames.
fn target_us(rate_bps: u64) -> u64 {
    (1514 * 8 * 1_000_000 * 3 / 2 / rate_bps).max(5_000)
}
