//! The cases: policies and traffic of the kinds that most links have.

use super::contender::Contender::{
    self, Cake, Fq, TaktDeparture, TaktFlow, TaktQdisc, TaktTree, Tbf, TbfFq, TbfFqCodel,
};

pub struct Case {
    pub name: &'static str,
    pub policy: String,
    pub traffic: String,
    /// Of the link, or of what a peer limits.
    pub rate_bps: u64,
    pub contenders: &'static [Contender],
}

const MBIT: u64 = 1_000_000;
const BACKENDS: &[Contender] = &[TaktQdisc, TaktTree, TaktDeparture];
/// The backends with priorities, and classes that borrow.
const ORDERING: &[Contender] = &[TaktQdisc, TaktTree];

/// A wire that is never the reason to wait, as the pair's is.
const WIRE: &str = "[device]\nrate = \"100gbit\"\n[measure]\nafter = \"500ms\"\n";

impl Case {
    /// Whether packets with delays meet those of connections. These are sent when acknowledgements
    /// come, so the simulator's are not at the kernel's very moments.
    pub fn has_free_phase(&self) -> bool {
        let connections = self.traffic.matches("kind = \"tcp\"").count();
        (1..self.traffic.matches("kind = ").count()).contains(&connections)
    }

    /// The policy on one of Takt's backends.
    pub fn policy_on(&self, contender: Contender) -> String {
        match contender.backend() {
            Some(backend) => {
                let demand = format!("]\nbackend = \"{backend}\"\n");
                self.policy.replacen("]\n", &demand, 1)
            }
            None => self.policy.clone(),
        }
    }
}

/// A link of so many Mbit/s, with classes `(name, keys)` by destination port from 1 on. The simulator's
/// timers are as late as the kernel's are without slack.
fn policy(link_mbit: u64, classes: &[(&str, &str)]) -> String {
    let mut text = format!("[link.va]\nrate = \"{link_mbit}mbit\"\nslack = \"0us\"\n");
    for ((name, keys), port) in classes.iter().zip(1..) {
        text += &format!(
            "[[link.va.class]]\nname = \"{name}\"\n{keys}\nbest_effort = true\n\
             match = {{ dst_port = {port} }}\n"
        );
    }
    // No packet is of this class where there are others.
    text + "[[link.va.class]]\nname = \"default\"\nbest_effort = true\n"
}

/// Sources `(name, port, keys)`.
fn traffic(sources: &[(&str, u16, &str)]) -> String {
    let mut text = WIRE.to_owned();
    for (name, port, keys) in sources {
        text +=
            &format!("[[source]]\nname = \"{name}\"\nheaders = {{ dst_port = {port} }}\n{keys}\n");
    }
    text
}

pub fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "paced",
            policy: policy(
                100,
                &[
                    ("stream", "rate = \"20mbit\""),
                    ("sensor", "rate = \"5mbit\""),
                ],
            ),
            traffic: traffic(&[
                (
                    "poisson",
                    1,
                    "kind = \"poisson\"\nflows = 3\nrate = \"5700kbit\"",
                ),
                (
                    "bursts",
                    2,
                    "kind = \"on-off\"\nrate = \"10mbit\"\non = \"20ms\"\noff = \"40ms\"\n\
                     frame = 614",
                ),
            ]),
            rate_bps: 100 * MBIT,
            contenders: BACKENDS,
        },
        Case {
            name: "shares",
            policy: policy(
                10,
                &[
                    ("a", "rate = \"4mbit\"\naqm = \"off\"\nqueue_packets = 50"),
                    ("b", "rate = \"4mbit\"\naqm = \"off\"\nqueue_packets = 50"),
                    ("c", "rate = \"4mbit\"\naqm = \"off\"\nqueue_packets = 50"),
                    ("d", "rate = \"2mbit\"\naqm = \"off\"\nqueue_packets = 50"),
                    ("e", "rate = \"2mbit\"\naqm = \"off\"\nqueue_packets = 50"),
                ],
            ),
            traffic: traffic(&[
                ("a", 1, "kind = \"poisson\"\nrate = \"5mbit\""),
                ("b", 2, "kind = \"poisson\"\nrate = \"5mbit\""),
                ("c", 3, "kind = \"poisson\"\nrate = \"5mbit\""),
                ("d", 4, "kind = \"poisson\"\nrate = \"5mbit\""),
                ("e", 5, "kind = \"poisson\"\nrate = \"5mbit\""),
            ]),
            rate_bps: 10 * MBIT,
            contenders: BACKENDS,
        },
        Case {
            name: "priorities",
            policy: policy(
                20,
                &[
                    ("calls", "rate = \"2mbit\"\npriority = 0"),
                    ("web", "rate = \"5mbit\"\nceil = \"20mbit\"\npriority = 3"),
                    ("bulk", "priority = 6\nqueue_packets = 100"),
                ],
            ),
            traffic: traffic(&[
                (
                    "calls",
                    1,
                    "kind = \"cbr\"\nflows = 4\nrate = \"200kbit\"\nframe = 214",
                ),
                ("web", 2, "kind = \"poisson\"\nflows = 3\nrate = \"4mbit\""),
                (
                    "bulk",
                    3,
                    "kind = \"on-off\"\nrate = \"30mbit\"\non = \"50ms\"\noff = \"150ms\"",
                ),
            ]),
            rate_bps: 20 * MBIT,
            contenders: ORDERING,
        },
        Case {
            name: "flows",
            policy: policy(20, &[]),
            traffic: traffic(&[
                (
                    "poisson",
                    1,
                    "kind = \"poisson\"\nflows = 2\nrate = \"5mbit\"",
                ),
                (
                    "sparse",
                    2,
                    "kind = \"poisson\"\nrate = \"500kbit\"\nframe = 214",
                ),
                (
                    "bursts",
                    3,
                    "kind = \"on-off\"\nrate = \"40mbit\"\non = \"30ms\"\noff = \"150ms\"",
                ),
            ]),
            rate_bps: 20 * MBIT,
            contenders: &[TaktQdisc, TaktTree, Tbf, TbfFq, TbfFqCodel, Cake],
        },
        Case {
            name: "sockets",
            policy: policy(1000, &[("all", "rate = \"20mbit\"")]),
            traffic: traffic(&[(
                "poisson",
                1,
                "kind = \"poisson\"\nflows = 2\nrate = \"16mbit\"",
            )]),
            rate_bps: 20 * MBIT,
            contenders: &[Fq],
        },
        Case {
            name: "upload",
            policy: policy(100, &[("connections", "rate = \"4mbit\"\nper_flow = true")]),
            traffic: traffic(&[(
                "connections",
                1,
                "kind = \"tcp\"\nflows = 4\nrtt = \"20ms\"",
            )]),
            rate_bps: 100 * MBIT,
            contenders: &[TaktQdisc, TaktFlow],
        },
        Case {
            name: "queue",
            policy: policy(20, &[]),
            traffic: traffic(&[
                (
                    "connections",
                    1,
                    "kind = \"tcp\"\nflows = 4\nrtt = \"20ms\"",
                ),
                (
                    "probe",
                    2,
                    "kind = \"poisson\"\nrate = \"500kbit\"\nframe = 214",
                ),
            ]),
            rate_bps: 20 * MBIT,
            contenders: &[TaktQdisc, TaktTree, TbfFqCodel],
        },
    ]
}
