//! The networks of a lab machine.
//!
//! Each is a script for `ip -batch`, in the form that an administrator would type.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::netns::enter_netns;
use super::{Doing, Result};

/// A network by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Net {
    /// Namespaces `a` and `b` joined by a veth pair: `va` 10.0.0.1/24 and
    /// fd00::1/64 in `a`, `vb` 10.0.0.2/24 and fd00::2/64 in `b`.
    #[default]
    Pair,
    /// In addition a cable outside the machine, whose packets come by interrupts: `oa`
    /// 10.0.1.1/24 in `a` and `ob` 10.0.1.2/24 in `b`.
    Outside,
}

/// A namespace, its end of a wire, and its commands.
struct End {
    namespace: &'static str,
    device: &'static str,
    script: &'static str,
}

struct Plan {
    /// For the namespace with which the machine starts.
    script: &'static str,
    /// The command runs in the first one.
    ends: &'static [End],
}

/// Link-layer addresses are fixed and the neighbours permanent: no run starts with ARP, and
/// runs do not differ by a random address.
const PAIR: Plan = Plan {
    script: "link set lo up
netns add a
netns add b
link add va netns a address 02:00:00:00:00:0a type veth peer name vb netns b address 02:00:00:00:00:0b
",
    ends: &[
        End {
            namespace: "a",
            device: "va",
            script: "link set lo up
link set va addrgenmode none up
addr add 10.0.0.1/24 dev va
addr add fd00::1/64 dev va nodad
neigh add 10.0.0.2 lladdr 02:00:00:00:00:0b nud permanent dev va
neigh add fd00::2 lladdr 02:00:00:00:00:0b nud permanent dev va
",
        },
        End {
            namespace: "b",
            device: "vb",
            script: "link set lo up
link set vb addrgenmode none up
addr add 10.0.0.2/24 dev vb
addr add fd00::2/64 dev vb nodad
neigh add 10.0.0.1 lladdr 02:00:00:00:00:0a nud permanent dev vb
neigh add fd00::1 lladdr 02:00:00:00:00:0a nud permanent dev vb
",
        },
    ],
};

/// The machine's own devices, which it names in the order in which it finds them.
const OUTSIDE: Plan = Plan {
    script: "link set eth0 netns a name oa address 02:00:00:00:00:1a
link set eth1 netns b name ob address 02:00:00:00:00:1b
",
    ends: &[
        End {
            namespace: "a",
            device: "oa",
            script: "link set oa addrgenmode none up
addr add 10.0.1.1/24 dev oa
neigh add 10.0.1.2 lladdr 02:00:00:00:00:1b nud permanent dev oa
",
        },
        End {
            namespace: "b",
            device: "ob",
            script: "link set ob addrgenmode none up
addr add 10.0.1.2/24 dev ob
neigh add 10.0.1.1 lladdr 02:00:00:00:00:1a nud permanent dev ob
",
        },
    ],
};

/// One frame on the wire is one packet in the queue.
const OFFLOADS_OFF: &str = "tx off rx off sg off tso off gso off gro off";

/// Set before any namespace is created, which then inherits it: only what a test asks for is
/// sent.
const SYSCTLS: [(&str, &str); 4] = [
    ("net/core/devconf_inherit_init_net", "1"),
    ("net/ipv6/conf/default/accept_dad", "0"),
    ("net/ipv6/conf/default/accept_ra", "0"),
    ("net/ipv6/conf/default/router_solicitations", "0"),
];

/// A complete network.
pub struct Network(());

impl Network {
    /// Builds the network and moves this process into the namespace of the command.
    pub fn build(net: Net) -> Result<Network> {
        let plans: &[&Plan] = match net {
            Net::Pair => &[&PAIR],
            Net::Outside => &[&PAIR, &OUTSIDE],
        };
        for (name, value) in SYSCTLS {
            fs::write(format!("/proc/sys/{name}"), value)
                .doing(|| format!("set sysctl {name} to {value}"))?;
        }
        for plan in plans {
            ip_batch(plan.script)?;
        }
        // In reverse, so that this process ends in the command's namespace.
        for end in plans.iter().flat_map(|plan| plan.ends).rev() {
            end.enter()?;
            ip_batch(end.script)?;
            let arguments = format!("-K {} {OFFLOADS_OFF}", end.device);
            run("ethtool", &arguments, "")?;
        }
        Ok(Network(()))
    }

    /// Removes the cable's devices, and with them every qdisc, and waits until they are gone: a leaked
    /// reference shows here.
    pub fn tear_down(self) -> Result<()> {
        for end in PAIR.ends {
            end.enter()?;
            let present = fs::read_to_string("/proc/self/net/dev")
                .doing(|| "read /proc/self/net/dev".into())?
                .contains(&format!("{}:", end.device));
            // A veth's peer goes with it, and the command may have removed it.
            if present {
                ip_batch(&format!("link del {}\n", end.device))?;
            }
        }
        Ok(())
    }
}

impl End {
    fn enter(&self) -> Result<()> {
        enter_netns(self.namespace).doing(|| format!("enter namespace {}", self.namespace))
    }
}

fn ip_batch(script: &str) -> Result<()> {
    run("ip", "-batch -", script)
}

/// Runs a program of the image; its output goes to the console.
fn run(program: &str, arguments: &str, input: &str) -> Result<()> {
    let what = || format!("{program} {arguments}");
    let mut child = Command::new(program)
        .args(arguments.split_whitespace())
        .env("PATH", super::command::PATH)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .doing(what)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).doing(what)?;
    }
    let status = child.wait().doing(what)?;
    if status.success() {
        Ok(())
    } else {
        Err(std::io::Error::other(format!("{status}"))).doing(what)
    }
}
