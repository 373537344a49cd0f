//! A wire whose device pushes back, at speeds that a policy does not know: half and double of what
//! it says, and changing each half second.
//!
//! A background upload runs all the time; foreground uploads start one after the other beside it,
//! at moments that are spread evenly over the period of the speed, the same for every contender.
//! The wire counts for how long it carried frames of either.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use serde_json::json;
use takt_report::Row;

use super::contender::Contender;
use super::program::{Program, Upload, send};
use super::transfer::joined;
use super::upload::{self, Marking, Port, Server, WRITE_BYTES};
use crate::experiment::beats::{now_ns, sleep_until};
use crate::experiment::command;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair::{A, B};
use crate::experiment::root::Root;
use crate::experiment::setup::Qdisc;
use crate::experiment::wired::{DEVICE, PEER_DEVICE, Speed, Way, Wired};

/// What the policies of links with a number say.
const POLICY_BPS: u64 = 5_700_000;
const ROUND_TRIP: Duration = Duration::from_millis(80);
/// As many descriptors as virtio-net mostly has.
const RING: u16 = 256;
const STEP: Duration = Duration::from_millis(500);
const FOREGROUND_BYTES: u64 = 100_000;
/// From here on an emulated processor has much to do.
const FAST_BPS: u64 = 50_000_000;
/// By then the background has filled the wire and what is before it.
const WARM_UP: Duration = Duration::from_secs(3);
const WARM_UP_FAST: Duration = Duration::from_millis(500);
/// Between two foreground uploads.
const PAUSE: Duration = Duration::from_millis(700);

/// A case, and its speeds in turn.
const CASES: [(&str, &[u64]); 6] = [
    ("line-5.7mbit", &[5_700_000]),
    ("line-half", &[2_850_000]),
    ("line-double", &[11_400_000]),
    ("line-changing", &[5_700_000, 1_400_000]),
    ("line-10mbit", &[10_000_000]),
    ("line-100mbit", &[100_000_000]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Peer {
    name: &'static str,
    like: Contender,
    setup: Setup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setup {
    /// A qdisc over what the driver takes, with this limit of its bytes.
    Tc(&'static str, Option<u32>),
    /// A policy with this rate and gate.
    Takt(&'static str, &'static str),
}

/// The kernel's limit of bytes on their way, so that one full frame is.
const ONE_FRAME: Option<u32> = Some(1_513);
const FIFO: &str = "pfifo limit 1000";

const PEERS: [Peer; 7] = [
    peer("alone", Contender::Alone, Setup::Tc(FIFO, None)),
    peer("fifo", Contender::Fifo, Setup::Tc(FIFO, None)),
    peer("prio", Contender::Priority, Setup::Tc("prio", None)),
    peer(
        "prio-frame",
        Contender::Priority,
        Setup::Tc("prio", ONE_FRAME),
    ),
    peer(
        "takt-rate",
        Contender::Takt,
        Setup::Takt("5.7mbit", "sender"),
    ),
    peer("takt-open", Contender::Takt, Setup::Takt("line", "open")),
    peer("takt", Contender::Takt, Setup::Takt("line", "sender")),
];

const fn peer(name: &'static str, like: Contender, setup: Setup) -> Peer {
    Peer { name, like, setup }
}

impl Peer {
    fn qdisc(self) -> Qdisc {
        match self.setup {
            Setup::Tc(qdisc, _) => Qdisc::Tc(vec![format!(
                "qdisc replace dev {DEVICE} root handle 1: {qdisc}"
            )]),
            Setup::Takt(rate, gate) => Qdisc::Takt(format!(
                "[link.{DEVICE}]\nrate = \"{rate}\"\n\
                 \n[[link.{DEVICE}.class]]\nname = \"backup\"\n\
                 match = [{{ proto = \"tcp\", dst_port = {} }}]\n\
                 priority = \"background\"\ngate = \"{gate}\"\n",
                Port::Background.number()
            )),
        }
    }

    fn limit_bytes(self) -> Option<u32> {
        match self.setup {
            Setup::Tc(_, limit) => limit,
            Setup::Takt(..) => None,
        }
    }
}

pub fn run(takt: &Path, short: bool) -> Result<Vec<Row>> {
    let runs = if short { 4 } else { 10 };
    let speed = Speed::Fixed(POLICY_BPS);
    let mut wired = Wired::build(takt, RING, speed, Port::Background.number())?;
    delay()?;
    let server = Server::start(None)?;
    let mut alone_ns = BTreeMap::new();
    let mut rows = Vec::new();
    for peer in PEERS {
        let mut root = Root::on(takt, A, DEVICE);
        root.attach(peer.name, &peer.qdisc())?;
        if let Some(bytes) = peer.limit_bytes() {
            limit(bytes)?;
        }
        let cases = CASES
            .into_iter()
            .filter(|(_, bps)| !short || bps[0] < FAST_BPS);
        for (case, bps) in cases {
            eprintln!("background: {}, {case}", peer.name);
            let lab = Lab {
                takt,
                server: &server,
                peer,
            };
            let (runs, warm_up) = if bps[0] < FAST_BPS {
                (runs, WARM_UP)
            } else {
                (2, WARM_UP_FAST)
            };
            let seen = lab.measure(&mut wired, bps, runs, warm_up)?;
            let mean_ns = mean(seen.iter().map(|one| one.took.as_nanos() as f64));
            let alone_ns = *alone_ns.entry(case).or_insert(mean_ns);
            let metrics = figures(&seen, mean_ns, alone_ns);
            eprintln!("  {}", json!(metrics));
            rows.push(Row {
                scheduler: peer.name.to_owned(),
                case: case.to_owned(),
                metrics,
            });
        }
        root.detach()?;
        if peer.limit_bytes().is_some() {
            limit(KERNELS_OWN_BYTES)?;
        }
    }
    Ok(rows)
}

const KERNELS_OWN_BYTES: u32 = 1_879_048_192;

/// Acknowledgements take the whole round trip.
fn delay() -> Result<()> {
    let us = ROUND_TRIP.as_micros();
    B.run(|| {
        command::tc_batch(&[format!(
            "qdisc replace dev {PEER_DEVICE} root netem delay {us}us limit 10000"
        )])
    })
}

/// The most that the driver may have on its way.
fn limit(bytes: u32) -> Result<()> {
    // `ip netns exec` shows the namespace's devices in /sys.
    let file = format!("/sys/class/net/{DEVICE}/queues/tx-0/byte_queue_limits/limit_max");
    let set = format!("echo {bytes} > {file}");
    command::run("ip", &["netns", "exec", A.0, "sh", "-c", &set]).map(drop)
}

/// A foreground upload, and the wire meanwhile.
struct Seen {
    took: Duration,
    watched: Duration,
    way: Way,
}

struct Lab<'lab> {
    takt: &'lab Path,
    server: &'lab Server,
    peer: Peer,
}

impl Lab<'_> {
    fn measure(
        &self,
        wired: &mut Wired,
        bps: &[u64],
        runs: u32,
        warm_up: Duration,
    ) -> Result<Vec<Seen>> {
        let speed = match bps {
            [bps] => Speed::Fixed(*bps),
            several => Speed::Steps(several.to_vec(), STEP),
        };
        wired.set_speed(speed)?;
        let background = if self.peer.like.has_background() {
            Some(self.background()?)
        } else {
            None
        };
        std::thread::sleep(warm_up);
        let period = STEP * bps.len() as u32;
        let seen = (0..runs)
            .map(|run| {
                wait_for_phase(wired.began_ns(), period, run);
                self.foreground(wired)
            })
            .collect::<Result<Vec<_>>>()?;
        drop(background);
        // What was on its way has arrived.
        std::thread::sleep(WARM_UP);
        Ok(seen)
    }

    /// Without an end. What is not sent when it is killed never is.
    fn background(&self) -> Result<Program> {
        let reception = self.server.expect(Port::Background, u64::MAX, 1)?;
        let socket = upload::open(self.peer.like.marking())?;
        let at_once = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        setsockopt(&socket, sockopt::Linger, &at_once).doing("set SO_LINGER")?;
        let port = Port::Background.number();
        let program = Program::start(self.takt, socket, Upload::new(port, u64::MAX, WRITE_BYTES))?;
        reception.wait_early()?;
        Ok(program)
    }

    fn foreground(&self, wired: &mut Wired) -> Result<Seen> {
        let bytes = FOREGROUND_BYTES;
        let reception = self.server.expect(Port::Foreground, bytes, bytes)?;
        let socket = upload::open(Marking::default())?;
        let before = wired.counts()?;
        let sender = std::thread::spawn(move || {
            send(socket, Port::Foreground.number(), bytes, WRITE_BYTES, || ())
        });
        let whole_at = reception.wait_whole()?;
        let after = wired.counts()?;
        let started = joined(sender)?;
        reception.finish()?;
        Ok(Seen {
            took: whole_at - started,
            watched: Duration::from_nanos(after.at_ns - before.at_ns),
            way: after.ways[0].since(&before.ways[0]),
        })
    }
}

/// Runs are spread evenly over the period of the speed: the multiples of the golden ratio are.
fn wait_for_phase(began_ns: u64, period: Duration, run: u32) {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let period_ns = period.as_nanos() as u64;
    let phase_ns = (period_ns as f64 * (f64::from(run) * GOLDEN).fract()) as u64;
    let since_ns = now_ns() - began_ns + PAUSE.as_nanos() as u64;
    let turns = since_ns.saturating_sub(phase_ns).div_ceil(period_ns);
    sleep_until(began_ns + turns * period_ns + phase_ns);
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count() as f64
}

fn figures(seen: &[Seen], mean_ns: f64, alone_ns: f64) -> Metrics {
    let sum = |of: &dyn Fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>() as f64;
    let watched_ns = sum(&|one| one.watched.as_nanos() as u64);
    let (busy_ns, apart_ns) = (sum(&|one| one.way.busy_ns), sum(&|one| one.way.apart_ns));
    let longest_ns = seen.iter().map(|one| one.took.as_nanos() as u64).max();
    metrics([
        ("transfer_mean_ns", json!(mean_ns.round() as u64)),
        ("transfer_max_ns", json!(longest_ns)),
        (
            "over_alone_percent",
            json!((mean_ns / alone_ns - 1.0) * 100.0),
        ),
        // What the foreground left of the wire's time.
        (
            "rest_used_percent",
            json!(100.0 * apart_ns / (watched_ns - busy_ns + apart_ns)),
        ),
        ("lost", json!(sum(&|one| one.way.lost))),
        ("runs", json!(seen.len())),
        ("foreground_bytes", json!(FOREGROUND_BYTES)),
    ])
}
