//! Each scheduler's settings for sharing a link, as an expert would choose them. Nothing here
//! touches the machine.

use std::fmt::Write;

use super::tree::{Leaf, Tree};
use crate::experiment::pair::DEVICE;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::{
    LINK, Qdisc, ROOT, Setup, SocketOptions, classid, minor, on_backend,
};

/// Minor number of HTB's inner class of the first tenant.
const FIRST_TENANT: u32 = 0x8000;

/// `None`: this scheduler cannot share a link like that.
pub fn tree_setup(scheduler: Scheduler, tree: &Tree) -> Option<Setup> {
    let silent = vec![SocketOptions::default(); tree.leaves.len()];
    let by_class = || {
        (0..tree.leaves.len())
            .map(|index| SocketOptions {
                priority: classid(minor(index)),
                ..SocketOptions::default()
            })
            .collect()
    };
    let (qdisc, sockets) = match scheduler {
        Scheduler::Takt => (Qdisc::Takt(policy(tree)), silent),
        Scheduler::TaktTree => (Qdisc::Takt(on_backend("tree", &policy(tree))), silent),
        Scheduler::TaktDeparture if has_fixed_rates(tree) => {
            (Qdisc::Takt(on_backend("departure", &policy(tree))), silent)
        }
        Scheduler::Htb => (Qdisc::Tc(htb(tree)), by_class()),
        Scheduler::Cake => (Qdisc::Tc(vec![cake(tree)?]), silent),
        _ => return None,
    };
    Some(Setup { qdisc, sockets })
}

/// Whether no class borrows, or goes before another.
fn has_fixed_rates(tree: &Tree) -> bool {
    let is_fixed = |leaf: &Leaf| {
        leaf.rate_bps.is_some()
            && leaf
                .ceil_bps
                .is_none_or(|ceil_bps| Some(ceil_bps) == leaf.rate_bps)
            && leaf.floor_bps.is_none()
            && leaf.priority.is_none()
    };
    tree.tenants.is_empty() && tree.leaves.iter().all(is_fixed)
}

/// The tree.
fn policy(tree: &Tree) -> String {
    let mut text = format!("[link.{DEVICE}]\nrate = \"{}bit\"\n", tree.link_rate_bps);
    let rate = |text: &mut String, key: &str, bps: Option<u64>| {
        if let Some(bps) = bps {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{key} = \"{bps}bit\"");
        }
    };
    for tenant in &tree.tenants {
        let _ = write!(
            text,
            "\n[[link.{DEVICE}.tenant]]\nname = \"{}\"\n",
            tenant.name
        );
        rate(&mut text, "rate", Some(tenant.rate_bps));
        rate(&mut text, "ceil", Some(tenant.ceil_bps));
    }
    for (leaf, class) in tree.leaves.iter().zip(tree.shape().classes) {
        let _ = write!(
            text,
            "\n[[link.{DEVICE}.class]]\nname = \"{}\"\n\
             match = [{{ proto = \"udp\", dst_port = \"{}\" }}]\n",
            leaf.name, class.dst_port
        );
        if let Some(tenant) = leaf.tenant {
            let _ = writeln!(text, "tenant = \"{tenant}\"");
        }
        rate(&mut text, "rate", leaf.rate_bps);
        rate(&mut text, "ceil", leaf.ceil_bps);
        rate(&mut text, "floor", leaf.floor_bps);
        if let Some(priority) = leaf.priority {
            let _ = writeln!(text, "priority = {priority}");
        }
    }
    text
}

/// HTB's own tree.
///
/// - `rate`: HTB serves every class that is below its rate before it checks the link, so rates
///   that add up to more than the link has break the link's rate. They are scaled to the link,
///   and the requested rate becomes `ceil`.
/// - a floor is a guaranteed rate at a worse `prio`.
/// - `prio` orders the borrowing.
/// - `quantum` is the share of borrowed capacity: one frame for the smallest class, the others
///   in proportion.
/// - `burst`, `cburst`: two frames, as in [`setup`](crate::experiment::setup).
fn htb(tree: &Tree) -> Vec<String> {
    let frame_bytes = tree.shape().frame_bytes();
    let burst_bytes = 2 * frame_bytes;
    let class = |parent: u32, minor: u32, rate_bps: u64, ceil_bps: u64, rest: &str| {
        let parent = match parent {
            0 => format!("{ROOT:x}:"),
            inner => format!("{ROOT:x}:{inner:x}"),
        };
        format!(
            "class add dev {DEVICE} parent {parent} classid {ROOT:x}:{minor:x} htb \
             rate {rate_bps}bit ceil {ceil_bps}bit burst {burst_bytes} cburst {burst_bytes}{rest}"
        )
    };
    let link_bps = tree.link_rate_bps;
    let quantum = |bytes: u64| format!(" quantum {bytes}");
    let mut lines = vec![
        format!("qdisc replace dev {DEVICE} root handle {ROOT:x}: htb default 0"),
        class(0, LINK, link_bps, link_bps, &quantum(frame_bytes.into())),
    ];
    lines.extend(
        tree.tenants
            .iter()
            .zip(FIRST_TENANT..)
            .map(|(tenant, minor)| {
                let rest = quantum(frame_bytes.into());
                class(LINK, minor, tenant.rate_bps, tenant.ceil_bps, &rest)
            }),
    );
    let parent = |leaf: &Leaf| {
        let place = |name| tree.tenants.iter().position(|tenant| tenant.name == name);
        leaf.tenant
            .and_then(place)
            .map_or(LINK, |place| FIRST_TENANT + place as u32)
    };
    let fitting_bps = tree.entitled_bps(&vec![true; tree.leaves.len()]);
    let smallest_bps = tree.leaves.iter().map(Leaf::guaranteed_bps).min();
    for (index, (leaf, rate_bps)) in tree.leaves.iter().zip(fitting_bps).enumerate() {
        let ceil_bps = leaf.ceil_bps.or(leaf.rate_bps).unwrap_or(link_bps);
        let share = leaf.guaranteed_bps() as f64 / smallest_bps.unwrap_or(1).max(1) as f64;
        let rest = format!(
            " prio {}{}",
            leaf.effective_priority(),
            quantum((f64::from(frame_bytes) * share).round() as u64)
        );
        lines.push(class(
            parent(leaf),
            minor(index),
            rate_bps as u64,
            ceil_bps,
            &rest,
        ));
    }
    lines
}

/// CAKE shapes the link and shares it equally among flows. It knows no rates of classes: its
/// tins are fixed parts of the link, four or eight of them, and the rest of one goes to the
/// others. So it takes part only where there is nothing but shares, and the difference shows
/// what it cannot express.
///
/// `rtt 3600s` (`interplanetary`), `raw`: as in [`setup`](crate::experiment::setup).
fn cake(tree: &Tree) -> Option<String> {
    let only_shares = |leaf: &Leaf| {
        leaf.tenant.is_none()
            && leaf.ceil_bps.is_none()
            && leaf.floor_bps.is_none()
            && leaf.priority.is_none()
    };
    tree.leaves.iter().all(only_shares).then(|| {
        format!(
            "qdisc replace dev {DEVICE} root cake bandwidth {}bit besteffort flows raw \
             interplanetary memlimit 64mb",
            tree.link_rate_bps
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::pacing::tree::Tenant;

    const MBIT: u64 = 1_000_000;

    fn tree() -> Tree {
        Tree {
            link_rate_bps: 100 * MBIT,
            tenants: vec![Tenant {
                name: "acme",
                rate_bps: 60 * MBIT,
                ceil_bps: 80 * MBIT,
            }],
            leaves: vec![
                Leaf {
                    name: "web",
                    tenant: Some("acme"),
                    rate_bps: Some(40 * MBIT),
                    ceil_bps: Some(80 * MBIT),
                    ..Leaf::default()
                },
                Leaf {
                    name: "bulk",
                    floor_bps: Some(5 * MBIT),
                    ..Leaf::default()
                },
            ],
        }
    }

    #[test]
    fn the_policy_says_the_tree() {
        assert_eq!(
            policy(&tree()),
            "[link.va]\nrate = \"100000000bit\"\n\
             \n[[link.va.tenant]]\nname = \"acme\"\nrate = \"60000000bit\"\n\
             ceil = \"80000000bit\"\n\
             \n[[link.va.class]]\nname = \"web\"\n\
             match = [{ proto = \"udp\", dst_port = \"10000\" }]\ntenant = \"acme\"\n\
             rate = \"40000000bit\"\nceil = \"80000000bit\"\n\
             \n[[link.va.class]]\nname = \"bulk\"\n\
             match = [{ proto = \"udp\", dst_port = \"10001\" }]\nfloor = \"5000000bit\"\n"
        );
    }

    #[test]
    fn htb_has_the_tenant_between_link_and_class() {
        let lines = htb(&tree());
        assert_eq!(
            lines[2],
            "class add dev va parent 1:ffff classid 1:8000 htb rate 60000000bit \
             ceil 80000000bit burst 3028 cburst 3028 quantum 1514"
        );
        assert_eq!(
            lines[3],
            "class add dev va parent 1:8000 classid 1:1 htb rate 40000000bit \
             ceil 80000000bit burst 3028 cburst 3028 prio 3 quantum 12112"
        );
        assert_eq!(
            lines[4],
            "class add dev va parent 1:ffff classid 1:2 htb rate 5000000bit \
             ceil 100000000bit burst 3028 cburst 3028 prio 6 quantum 1514"
        );
    }

    #[test]
    fn cake_has_nothing_but_shares() {
        assert_eq!(cake(&tree()), None);
    }
}
