//! The settings of each scheduler for a case, as an expert would choose them. Nothing here
//! touches the machine.

use std::fmt::Write;

use super::pair::DEVICE;
use super::scheduler::Scheduler;
use super::shape::{Class, Shape, Transport};

/// `tc`'s major number of the root qdisc.
pub(super) const ROOT: u32 = 1;
/// Minor number of HTB's inner class for the link.
pub(super) const LINK: u32 = 0xffff;
/// `prio` has no more bands.
const PRIO_BANDS_MAX: usize = 16;
/// Wide enough for every case without a link rate.
const WIDE_LINK_BPS: u64 = 100_000_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    pub qdisc: Qdisc,
    /// The socket options of each flow.
    pub sockets: Vec<SocketOptions>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Qdisc {
    None,
    /// Lines for `tc -batch`.
    Tc(Vec<String>),
    /// A policy for `takt apply`.
    Takt(String),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// `SO_PRIORITY`. A classid here selects a qdisc's class without a filter.
    pub priority: u32,
    /// `SO_MAX_PACING_RATE`.
    pub pacing_bytes_per_s: Option<u64>,
}

/// `None`: this scheduler cannot express the shape.
pub fn setup(scheduler: Scheduler, shape: &Shape) -> Option<Setup> {
    let by_class = |minor: &dyn Fn(usize) -> u32| {
        (0..shape.classes.len())
            .map(|index| SocketOptions {
                priority: classid(minor(index)),
                ..SocketOptions::default()
            })
            .collect::<Vec<_>>()
    };
    let silent = vec![SocketOptions::default(); shape.sockets().count()];
    let (qdisc, sockets) = match scheduler {
        Scheduler::None if !shape.waits => (Qdisc::None, silent),
        Scheduler::Takt => (Qdisc::Takt(policy(shape)), silent),
        Scheduler::TaktTree if shape.flows_per_class.is_none() => {
            (Qdisc::Takt(on_backend("tree", &policy(shape))), silent)
        }
        Scheduler::TaktDeparture if shape.flows_per_class.is_none() => {
            (Qdisc::Takt(on_backend("departure", &policy(shape))), silent)
        }
        // UDP has no rates there: its packets never wait.
        Scheduler::TaktFlow if has_socket_rates(shape) => {
            (Qdisc::Takt(on_sockets(&policy(shape))), silent)
        }
        Scheduler::Fq => (Qdisc::Tc(vec![fq(shape)]), fq_sockets(shape)),
        // A line of configuration for each flow is unrealistic, and the others share without
        // keeping a rate.
        Scheduler::Htb
        | Scheduler::HtbU32
        | Scheduler::Tbf
        | Scheduler::PrioTbf
        | Scheduler::Cake
            if shape.flows_per_class.is_some() =>
        {
            return None;
        }
        Scheduler::Htb => (Qdisc::Tc(htb(shape)), by_class(&minor)),
        Scheduler::HtbU32 if !shape.waits => {
            let mut lines = htb(shape);
            lines.extend(u32_by_port(shape));
            (Qdisc::Tc(lines), silent)
        }
        Scheduler::Tbf => (Qdisc::Tc(vec![tbf(shape)?]), silent),
        Scheduler::PrioTbf => (Qdisc::Tc(prio_tbf(shape)?), by_class(&minor)),
        Scheduler::Cake => (Qdisc::Tc(vec![cake(shape)?]), silent),
        Scheduler::Pfifo if !shape.waits => {
            let line = format!("qdisc replace dev {DEVICE} root pfifo limit 100000");
            (Qdisc::Tc(vec![line]), silent)
        }
        _ => return None,
    };
    Some(Setup { qdisc, sockets })
}

/// A class for each port, on a link of the case's rate.
fn policy(shape: &Shape) -> String {
    let link_rate_bps = shape.link_rate_bps.unwrap_or(WIDE_LINK_BPS);
    let proto = match shape.transport {
        Transport::Udp => "udp",
        Transport::Tcp => "tcp",
    };
    let mut text = format!("[link.{DEVICE}]\nrate = \"{link_rate_bps}bit\"\n");
    for Class {
        name,
        dst_port,
        rate_bps,
    } in &shape.classes
    {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n[[link.{DEVICE}.class]]\nname = \"{name}\"\n\
             match = [{{ proto = \"{proto}\", dst_port = \"{dst_port}\" }}]\n\
             rate = \"{rate_bps}bit\"\n"
        );
        if shape.flows_per_class.is_some() {
            text.push_str("per_flow = true\n");
        }
    }
    text
}

/// A policy on a backend whose queues do not spare local senders: they are not managed here, as
/// those of HTB and fq are not.
pub fn on_backend(backend: &str, policy: &str) -> String {
    let policy = policy.replacen("]\n", &format!("]\nbackend = \"{backend}\"\n"), 1);
    let policy = policy.replace("\nmatch = ", "\naqm = \"off\"\nmatch = ");
    // No packet is of this class.
    let default = format!("[[link.{DEVICE}.class]]\nname = \"default\"\nbest_effort = true\n");
    format!("{policy}\n{default}")
}

/// Whether rates of sockets can express it, or leave it alone.
fn has_socket_rates(shape: &Shape) -> bool {
    match shape.transport {
        Transport::Tcp => true,
        Transport::Udp => shape.flows_per_class.is_some() && !shape.waits,
    }
}

/// A policy of whose classes each connection has a rate. A class with one connection is such a class.
fn on_sockets(policy: &str) -> String {
    let policy = policy.replace("per_flow = true\n", "");
    let policy = policy.replace(
        "\nmatch = ",
        "\nper_flow = true\nbest_effort = true\nmatch = ",
    );
    on_backend("flow", &policy)
}

/// The rate of each of a server's connections from one port, set without changing the server:
/// for Takt a rule, for fq its `maxrate`, which applies to every flow on the device.
pub fn server_setup(scheduler: Scheduler, src_port: u16, rate_bps: u64) -> Option<Qdisc> {
    let policy = format!(
        "[link.{DEVICE}]\nrate = \"{WIDE_LINK_BPS}bit\"\n\
         \n[[link.{DEVICE}.class]]\nname = \"downloads\"\n\
         match = [{{ proto = \"tcp\", src_port = {src_port} }}]\n\
         rate = \"{rate_bps}bit\"\nper_flow = true\n"
    );
    match scheduler {
        Scheduler::Takt => Some(Qdisc::Takt(policy)),
        Scheduler::TaktFlow => Some(Qdisc::Takt(on_sockets(&policy))),
        Scheduler::Fq => {
            let line = fq(&Shape::tcp("downloads", src_port, rate_bps));
            Some(Qdisc::Tc(vec![format!("{line} maxrate {rate_bps}bit")]))
        }
        _ => None,
    }
}

/// fq paces each socket at the rate that the socket itself sets.
///
/// - `quantum`: fq lets a flow send one quantum, then makes it wait for all of it at once; one
///   frame instead of two, or packets leave in pairs.
/// - `timer_slack`: as late as Takt's timer may be, which is less than fq's 10 µs where packets are
///   close.
/// - `buckets`: one tree of flows for each, so that lookups are short.
/// - limits: no packet of these cases is to be dropped.
fn fq(shape: &Shape) -> String {
    let frame_bytes = shape.frame_bytes();
    let buckets = (2 * shape.sockets().count()).next_power_of_two().max(1024);
    format!(
        "qdisc replace dev {DEVICE} root fq limit 100000 flow_limit 1000 buckets {buckets} \
         quantum {frame_bytes} initial_quantum {frame_bytes} timer_slack {}",
        timer_slack_ns(shape),
    )
}

/// A hundredth of the time between packets of the fastest class, and 10 µs at most.
fn timer_slack_ns(shape: &Shape) -> u64 {
    let fastest_bps = shape.classes.iter().map(|class| class.rate_bps).max();
    let spacing_ns = u64::from(shape.frame_bytes()) * 8 * 1_000_000_000 / fastest_bps.unwrap_or(1);
    (spacing_ns / 100).min(10_000)
}

fn fq_sockets(shape: &Shape) -> Vec<SocketOptions> {
    shape
        .sockets()
        .map(|(class, _)| SocketOptions {
            pacing_bytes_per_s: shape.waits.then_some(class.rate_bps / 8),
            ..SocketOptions::default()
        })
        .collect()
}

/// HTB with a leaf for each class.
///
/// - `burst`, `cburst`: two frames. With one, every late timer would lose rate for good; with
///   more, a late timer would be followed by a burst.
/// - `quantum` (the share when borrowing, unused here): one frame; without it HTB derives one
///   from the rate and complains.
/// - the leaf's queue: HTB's default pfifo of 1,000 packets.
/// - the link gets an inner class where the case gives it a rate.
/// - `default`: packets whose socket cannot name a class, iperf3's.
fn htb(shape: &Shape) -> Vec<String> {
    let frame_bytes = shape.frame_bytes();
    let burst_bytes = 2 * frame_bytes;
    let class = |parent: &str, minor: u32, rate_bps: u64| {
        format!(
            "class add dev {DEVICE} parent {parent} classid {ROOT:x}:{minor:x} htb \
             rate {rate_bps}bit ceil {rate_bps}bit burst {burst_bytes} cburst {burst_bytes} \
             quantum {frame_bytes}"
        )
    };
    let default = match shape.transport {
        Transport::Udp => 0,
        Transport::Tcp => minor(0),
    };
    let mut lines = vec![format!(
        "qdisc replace dev {DEVICE} root handle {ROOT:x}: htb default {default:x}"
    )];
    let parent = match shape.link_rate_bps {
        Some(link_rate_bps) => {
            lines.push(class(&format!("{ROOT:x}:"), LINK, link_rate_bps));
            format!("{ROOT:x}:{LINK:x}")
        }
        None => format!("{ROOT:x}:"),
    };
    lines.extend(
        shape
            .classes
            .iter()
            .enumerate()
            .map(|(index, wanted)| class(&parent, minor(index), wanted.rate_bps)),
    );
    lines
}

/// Classification by destination port with u32's hash tables: one table of 256
/// buckets by the port's low byte, so that 2,000 consecutive ports leave eight
/// comparisons at most.
fn u32_by_port(shape: &Shape) -> Vec<String> {
    const TABLE: u32 = 2;
    let filter = format!("filter add dev {DEVICE} parent {ROOT:x}: protocol ip prio 1");
    let mut lines = vec![format!("{filter} handle {TABLE:x}: u32 divisor 256")];
    lines.extend(shape.classes.iter().enumerate().map(|(index, class)| {
        format!(
            "{filter} u32 ht {TABLE:x}:{:x}: match ip dport {} 0xffff flowid {ROOT:x}:{:x}",
            class.dst_port & 0xff,
            class.dst_port,
            minor(index)
        )
    }));
    // UDP, and a header of five words: the ports are in the word at 20.
    lines.push(format!(
        "{filter} u32 ht 800:: match ip protocol 17 0xff match u8 0x45 0xff at 0 \
         hashkey mask 0x000000ff at 20 link {TABLE:x}:"
    ));
    lines
}

/// TBF is one class. `burst` is two frames, for HTB's reasons.
fn tbf(shape: &Shape) -> Option<String> {
    let [class] = shape.classes.as_slice() else {
        return None;
    };
    Some(format!(
        "qdisc replace dev {DEVICE} root {}",
        tbf_bucket(shape, class)
    ))
}

fn tbf_bucket(shape: &Shape, class: &Class) -> String {
    let frame_bytes = shape.frame_bytes();
    format!(
        "tbf rate {}bit burst {} limit {}",
        class.rate_bps,
        2 * frame_bytes,
        1000 * frame_bytes
    )
}

/// A band with its own TBF for each class; the link's rate cannot be expressed.
fn prio_tbf(shape: &Shape) -> Option<Vec<String>> {
    let bands = shape.classes.len();
    if !(2..=PRIO_BANDS_MAX).contains(&bands) {
        return None;
    }
    let root = format!("qdisc replace dev {DEVICE} root handle {ROOT:x}: prio bands {bands}");
    let leaves = shape.classes.iter().enumerate().map(|(index, class)| {
        let minor = minor(index);
        format!(
            "qdisc add dev {DEVICE} parent {ROOT:x}:{minor:x} {}",
            tbf_bucket(shape, class)
        )
    });
    Some(std::iter::once(root).chain(leaves).collect())
}

/// CAKE shapes all traffic to one rate and shares it equally: one class.
///
/// - `besteffort flowblind`: one queue, nothing to classify.
/// - `rtt 3600s` (`interplanetary`): its AQM never drops, since a standing queue is wanted
///   here. `raw`: frames count as the kernel counts them.
///
/// Without a rate it is the flow scheduler that it was made to be, with one queue for each
/// flow.
fn cake(shape: &Shape) -> Option<String> {
    let root = format!("qdisc replace dev {DEVICE} root cake");
    if !shape.waits {
        return Some(format!(
            "{root} unlimited besteffort flows raw memlimit 64mb"
        ));
    }
    let [class] = shape.classes.as_slice() else {
        return None;
    };
    Some(format!(
        "{root} bandwidth {}bit besteffort flowblind raw interplanetary memlimit 64mb",
        class.rate_bps
    ))
}

pub(super) fn minor(index: usize) -> u32 {
    // Shapes have a few thousand classes, never 2³².
    index as u32 + 1
}

pub(super) fn classid(minor: u32) -> u32 {
    ROOT << 16 | minor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tc(scheduler: Scheduler, shape: &Shape) -> Vec<String> {
        match setup(scheduler, shape).map(|setup| setup.qdisc) {
            Some(Qdisc::Tc(lines)) => lines,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_rate_only_for_those_without_classes() {
        let five = Shape::udp([40_000_000; 5]);
        assert_eq!(setup(Scheduler::Tbf, &five), None);
        assert_eq!(setup(Scheduler::Cake, &five), None);
        assert!(setup(Scheduler::PrioTbf, &five).is_some());
        assert_eq!(setup(Scheduler::PrioTbf, &Shape::udp([1; 17])), None);
    }

    #[test]
    fn nothing_paces_without_a_scheduler() {
        let shape = Shape::udp([1_000_000]);
        assert_eq!(setup(Scheduler::None, &shape), None);
        assert_eq!(setup(Scheduler::Pfifo, &shape), None);
    }

    #[test]
    fn htb_reads_the_class_from_the_socket() {
        let shape = Shape {
            link_rate_bps: Some(1_000_000_000),
            ..Shape::udp([40_000_000, 20_000_000])
        };
        let setup = setup(Scheduler::Htb, &shape).expect("HTB can do this");
        assert_eq!(setup.sockets[1].priority, 0x0001_0002);
        assert_eq!(
            tc(Scheduler::Htb, &shape)[3],
            "class add dev va parent 1:ffff classid 1:2 htb rate 20000000bit ceil 20000000bit \
             burst 3028 cburst 3028 quantum 1514"
        );
    }

    #[test]
    fn fq_is_asked_in_bytes() {
        let setup = setup(Scheduler::Fq, &Shape::udp([1_000_000])).expect("fq can do this");
        assert_eq!(setup.sockets[0].pacing_bytes_per_s, Some(125_000));
    }

    #[test]
    fn rates_of_sockets_are_for_tcp() {
        let udp = Shape::flows(2, 1_000_000);
        assert_eq!(setup(Scheduler::TaktFlow, &udp), None);
        let tcp = setup(Scheduler::TaktFlow, &Shape::tcp("a", 5201, 1_000_000));
        let Some(Qdisc::Takt(policy)) = tcp.map(|setup| setup.qdisc) else {
            panic!("Takt can do this");
        };
        assert!(policy.contains("backend = \"flow\""), "{policy}");
        assert_eq!(policy.matches("per_flow = true").count(), 1);
        assert_eq!(policy.matches("best_effort = true").count(), 2);
    }

    #[test]
    fn ports_spread_over_the_hash_table() {
        let shape = Shape {
            waits: false,
            ..Shape::udp([1_000_000; 2000])
        };
        let lines = tc(Scheduler::HtbU32, &shape);
        let in_bucket_0 = lines.iter().filter(|line| line.contains("ht 2:0:")).count();
        assert!((7..=8).contains(&in_bucket_0), "{in_bucket_0}");
    }

    #[test]
    fn the_policy_names_every_class() {
        let Some(Setup {
            qdisc: Qdisc::Takt(policy),
            ..
        }) = setup(Scheduler::Takt, &Shape::udp([500_000; 2]))
        else {
            panic!("Takt can do this");
        };
        assert_eq!(
            policy,
            "[link.va]\nrate = \"100000000000bit\"\n\
             \n[[link.va.class]]\nname = \"class-1\"\n\
             match = [{ proto = \"udp\", dst_port = \"10000\" }]\nrate = \"500000bit\"\n\
             \n[[link.va.class]]\nname = \"class-2\"\n\
             match = [{ proto = \"udp\", dst_port = \"10001\" }]\nrate = \"500000bit\"\n"
        );
    }
}
