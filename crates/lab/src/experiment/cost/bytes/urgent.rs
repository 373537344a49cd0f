//! How long urgent datagrams wait beside bulk transfers on a link that is full: a segment that is on its
//! way is not interrupted.

use std::net::UdpSocket;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::socket::{setsockopt, sockopt};
use serde_json::json;
use takt_report::{Row, nearest_rank};

use super::case::{Case, URGENT_PORT};
use super::contender::Contender;
use super::flows::Flows;
use super::leaving;
use super::{ROUND_TRIP, WARM_UP};
use crate::experiment::bench::Bench;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair::{A, DEVICE, RECEIVER};
use crate::experiment::root::Root;
use crate::experiment::round_trip::RoundTrip;
use crate::experiment::setup::Qdisc;

/// The rates of links, in Mbit/s.
const LINKS: [u64; 3] = [20, 100, 1_000];
const PAYLOAD_BYTES: usize = 160;
/// DSCP EF, which is what CAKE knows urgent packets by.
const TOS: i32 = 46 << 2;
/// No multiple of what the transfers do.
const INTERVAL: Duration = Duration::from_micros(7_130);
const COUNT_SHORT: u32 = 200;
const COUNT: u32 = 1_000;
/// The record has begun.
const BEFORE: Duration = Duration::from_millis(100);
/// The last one has left, though each was sent a little late.
const AFTER: Duration = Duration::from_secs(1);

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for rate_mbps in LINKS {
        for contender in Contender::ALL {
            let Some(qdisc) = qdisc(contender, rate_mbps) else {
                continue;
            };
            let case = format!("urgent-{rate_mbps}mbit-10ms");
            eprintln!("cost: {}, {case}", contender.name());
            match measure(bench, contender, rate_mbps, &qdisc) {
                Ok(metrics) => rows.push(Row {
                    scheduler: contender.name().to_owned(),
                    case,
                    metrics,
                }),
                Err(missing @ ExperimentError::Unsupported { .. }) => {
                    eprintln!("{} is left out: {missing}", contender.name());
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(rows)
}

fn measure(bench: &Bench, contender: Contender, rate_mbps: u64, qdisc: &Qdisc) -> Result<Metrics> {
    let mut root = Root::new(bench.takt());
    root.attach(contender.name(), qdisc)?;
    let _far = RoundTrip::of(ROUND_TRIP)?;
    let flows = Flows::start(&Case::class("", rate_mbps), None)?;
    sleep(WARM_UP);
    let count = if bench.short { COUNT_SHORT } else { COUNT };
    let delivered = flows.delivered_bytes();
    let sender = std::thread::spawn(move || send(count));
    let lasts = count * INTERVAL * 5 / 4 + AFTER;
    let left = leaving::during(lasts, URGENT_PORT)?;
    let delivered_bytes = flows.delivered_bytes() - delivered;
    let sent = match sender.join() {
        Ok(sent) => sent?,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    flows.stop()?;
    root.detach()?;
    if left.len() != sent.len() {
        return Err(ExperimentError::Lost {
            scheduler: contender.name(),
            sent: sent.len() as u64,
            arrived: left.len() as u64,
        });
    }
    // One flow stays in order.
    let mut waits_ns: Vec<u64> = { sent.iter().zip(&left) }
        .map(|(sent_ns, left)| left.at_ns.saturating_sub(*sent_ns))
        .collect();
    waits_ns.sort_unstable();
    let wait = |per_mille| json!(nearest_rank(&waits_ns, per_mille));
    let goodput_bps = 8.0 * delivered_bytes as f64 / lasts.as_secs_f64();
    Ok(metrics([
        ("wait_p50_ns", wait(500)),
        ("wait_p99_ns", wait(990)),
        ("wait_max_ns", wait(1000)),
        ("urgent_count", json!(waits_ns.len())),
        ("goodput_bps", json!(goodput_bps.round())),
        ("link_bps", json!(rate_mbps * 1_000_000)),
    ]))
}

/// When each was sent, by the clock that stamps packets.
fn send(count: u32) -> Result<Vec<u64>> {
    let socket = A.run(|| UdpSocket::bind(("0.0.0.0", 0)).doing("bind a sending socket"))?;
    setsockopt(&socket, sockopt::Ipv4Tos, &TOS).doing("set IP_TOS")?;
    let mut sent = Vec::new();
    sleep(BEFORE);
    for _ in 0..count {
        sleep(INTERVAL);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        sent.push(now.unwrap_or_default().as_nanos() as u64);
        // Nothing listens there. A socket that is not connected is not told.
        socket
            .send_to(&[0; PAYLOAD_BYTES], (RECEIVER, URGENT_PORT))
            .doing("send an urgent datagram")?;
    }
    Ok(sent)
}

/// What each contender's experts would set; `None`: it has no priorities.
fn qdisc(contender: Contender, rate_mbps: u64) -> Option<Qdisc> {
    let takt = |keys: &str| {
        Some(Qdisc::Takt(format!(
            "[link.{DEVICE}]\nrate = \"{rate_mbps}mbit\"\n{keys}\n\
             [[link.{DEVICE}.class]]\nname = \"urgent\"\npriority = 0\nbest_effort = true\n\
             match = {{ proto = \"udp\", dst_port = {URGENT_PORT} }}\n\n\
             [[link.{DEVICE}.class]]\nname = \"default\"\nbest_effort = true\n"
        )))
    };
    let cake = |split: &str| {
        Some(Qdisc::Tc(vec![format!(
            "qdisc replace dev {DEVICE} root cake bandwidth {rate_mbps}mbit diffserv4 {split}"
        )]))
    };
    match contender {
        Contender::Takt => takt("backend = \"takt\""),
        Contender::TaktMtu => takt("backend = \"takt\"\npackets = \"mtu\""),
        Contender::TaktGso => takt("backend = \"takt\"\npackets = \"gso\""),
        Contender::TaktTree => takt("backend = \"tree\""),
        Contender::Htb => Some(Qdisc::Tc(htb(rate_mbps))),
        Contender::CakeSplit => cake("split-gso"),
        Contender::CakeWhole => cake("no-split-gso"),
        _ => None,
    }
}

/// Two classes that borrow; urgent datagrams are told by their port.
fn htb(rate_mbps: u64) -> Vec<String> {
    let class = |parent: &str, minor: u32, rate_mbps: u64, ceil_mbps: u64, prio: u32| {
        format!(
            "class add dev {DEVICE} parent {parent} classid 1:{minor} htb rate {rate_mbps}mbit \
             ceil {ceil_mbps}mbit burst 3028 cburst 3028 quantum 1514 prio {prio}"
        )
    };
    let urgent_mbps = (rate_mbps / 10).max(1);
    vec![
        format!("qdisc replace dev {DEVICE} root handle 1: htb default 3"),
        class("1:", 1, rate_mbps, rate_mbps, 0),
        class("1:1", 2, urgent_mbps, rate_mbps, 0),
        class("1:1", 3, rate_mbps - urgent_mbps, rate_mbps, 1),
        format!("qdisc add dev {DEVICE} parent 1:2 pfifo"),
        format!("qdisc add dev {DEVICE} parent 1:3 fq_codel"),
        format!(
            "filter add dev {DEVICE} parent 1: protocol ip u32 match ip protocol 17 0xff \
             match ip dport {URGENT_PORT} 0xffff flowid 1:2"
        ),
    ]
}
