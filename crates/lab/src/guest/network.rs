//! The networks of a lab machine.
//!
//! Each is a script for `ip -batch`, in the form that an administrator would type.

use std::env;
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
    /// In addition cables outside the machine, whose packets come by interrupts: for n from 1 to
    /// [`FAR_DEVICES`], 10.0.n.2/24 is `obn` in `b` and reaches 10.0.n.1/24, which is `oa` in `a`.
    Outside,
}

/// Those whose frames reach one near device, each at times of its own.
pub const FAR_DEVICES: usize = 8;

/// A namespace, its end of a wire, and its commands.
struct End {
    namespace: &'static str,
    device: String,
    script: String,
}

struct Plan {
    /// For the namespace with which the machine starts.
    script: String,
    /// The command runs in the first one.
    ends: Vec<End>,
}

/// Link-layer addresses are fixed and the neighbours permanent: no run starts with ARP, and
/// runs do not differ by a random address.
fn pair() -> Plan {
    Plan {
        script: "link set lo up
netns add a
netns add b
link add va netns a address 02:00:00:00:00:0a type veth peer name vb netns b address 02:00:00:00:00:0b
"
        .into(),
        ends: vec![
            End {
                namespace: "a",
                device: "va".into(),
                script: "link set lo up
link set va addrgenmode none up
addr add 10.0.0.1/24 dev va
addr add fd00::1/64 dev va nodad
neigh add 10.0.0.2 lladdr 02:00:00:00:00:0b nud permanent dev va
neigh add fd00::2 lladdr 02:00:00:00:00:0b nud permanent dev va
"
                .into(),
            },
            End {
                namespace: "b",
                device: "vb".into(),
                script: "link set lo up
link set vb addrgenmode none up
addr add 10.0.0.2/24 dev vb
addr add fd00::2/64 dev vb nodad
neigh add 10.0.0.1 lladdr 02:00:00:00:00:0a nud permanent dev vb
neigh add fd00::1 lladdr 02:00:00:00:00:0a nud permanent dev vb
"
                .into(),
            },
        ],
    }
}

/// The machine's own devices, which it names in the order in which it finds them: the near one
/// and then the far ones, each of which reaches the near one under an address of its own.
fn outside() -> Plan {
    let mut plan = Plan {
        script: "link set eth0 netns a name oa address 02:00:00:00:01:00\n".into(),
        ends: vec![End {
            namespace: "a",
            device: "oa".into(),
            script: "link set oa addrgenmode none up\n".into(),
        }],
    };
    for far in 1..=FAR_DEVICES {
        plan.script +=
            &format!("link set eth{far} netns b name ob{far} address 02:00:00:00:01:{far:02x}\n");
        plan.ends[0].script += &format!(
            "addr add 10.0.{far}.1/24 dev oa\n\
             neigh add 10.0.{far}.2 lladdr 02:00:00:00:01:{far:02x} nud permanent dev oa\n"
        );
        plan.ends.push(End {
            namespace: "b",
            device: format!("ob{far}"),
            script: format!(
                "link set ob{far} addrgenmode none up\n\
                 addr add 10.0.{far}.2/24 dev ob{far}\n\
                 neigh add 10.0.{far}.1 lladdr 02:00:00:00:01:00 nud permanent dev ob{far}\n"
            ),
        });
    }
    plan
}

/// The offloads that a device has, as `ethtool -K` calls them. They are off at first: one frame on
/// the wire is one packet in the queue.
pub(crate) const OFFLOADS: [&str; 6] = ["tx", "rx", "sg", "tso", "gso", "gro"];

/// Set before any namespace is created, which then inherits it: only what a test asks for is
/// sent.
const SYSCTLS: [(&str, &str); 4] = [
    ("net/core/devconf_inherit_init_net", "1"),
    ("net/ipv6/conf/default/accept_dad", "0"),
    ("net/ipv6/conf/default/accept_ra", "0"),
    ("net/ipv6/conf/default/router_solicitations", "0"),
];

/// The pair alone, on a machine that is no laboratory, whose other devices and settings stay as
/// they are.
pub fn lay_pair() -> Result<()> {
    lay(&[&pair()])
}

/// A complete network.
pub struct Network {
    pair: Plan,
}

impl Network {
    /// Builds the network and moves this process into the namespace of the command.
    pub fn build(net: Net) -> Result<Network> {
        let pair = pair();
        let outside = (net == Net::Outside).then(outside);
        let plans: Vec<&Plan> = std::iter::once(&pair).chain(&outside).collect();
        for (name, value) in SYSCTLS {
            fs::write(format!("/proc/sys/{name}"), value)
                .doing(|| format!("set sysctl {name} to {value}"))?;
        }
        lay(&plans)?;
        Ok(Network { pair })
    }

    /// Removes the pair's devices, and with them every qdisc, and waits until they are gone: a
    /// leaked reference shows here.
    pub fn tear_down(self) -> Result<()> {
        for end in &self.pair.ends {
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

fn lay(plans: &[&Plan]) -> Result<()> {
    for plan in plans {
        ip_batch(&plan.script)?;
    }
    // In reverse, so that this process ends in the command's namespace.
    for end in plans.iter().flat_map(|plan| &plan.ends).rev() {
        end.enter()?;
        ip_batch(&end.script)?;
        let off = OFFLOADS.map(|offload| format!("{offload} off")).join(" ");
        run("ethtool", &format!("-K {} {off}", end.device), "")?;
    }
    Ok(())
}

impl End {
    fn enter(&self) -> Result<()> {
        enter_netns(self.namespace).doing(|| format!("enter namespace {}", self.namespace))
    }
}

fn ip_batch(script: &str) -> Result<()> {
    run("ip", "-batch -", script)
}

/// Runs a program; what it prints on success is of no interest.
fn run(program: &str, arguments: &str, input: &str) -> Result<()> {
    let what = || format!("{program} {arguments}");
    let mut command = Command::new(program);
    // The first process of a machine has none.
    if env::var_os("PATH").is_none() {
        command.env("PATH", super::command::PATH);
    }
    let mut child = command
        .args(arguments.split_whitespace())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_far_device_reaches_an_address_of_the_near_one() {
        let plan = outside();
        let [near, far @ ..] = plan.ends.as_slice() else {
            panic!("no ends");
        };
        assert_eq!(far.len(), FAR_DEVICES);
        for (number, end) in (1..).zip(far) {
            let hardware = format!("address 02:00:00:00:01:{number:02x}\n");
            assert!(plan.script.contains(&hardware));
            assert!(
                near.script
                    .contains(&format!("addr add 10.0.{number}.1/24 "))
            );
            assert!(end.script.contains(&format!("neigh add 10.0.{number}.1 ")));
            assert_eq!((end.namespace, near.namespace), ("b", "a"));
        }
    }
}
