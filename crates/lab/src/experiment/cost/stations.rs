//! The cost of weighing stations: one class that sends to many receivers, each with its own
//! hardware address, with `[radio]` and without it, and the kernel's fq_codel, which shares
//! among flows without weights.
//!
//! Packets that go at once, and packets that wait for a link that is fully used: then every one
//! is chosen by virtual time.

use takt_report::Row;

use super::at_once::{self, BUFFER_PACKETS, LINK_RATE_BPS, PASSES, Sender};
use super::waiting::{self, BACKLOG_MIN, RATE_BPS};
use crate::experiment::bench::Bench;
use crate::experiment::command;
use crate::experiment::error::Result;
use crate::experiment::pair::{A, DEVICE};
use crate::experiment::root::Root;
use crate::experiment::setup::Qdisc;
use crate::experiment::shape::Shape;
use crate::experiment::source::Source;

/// A short run has only the first.
const CASES: [(&str, &str, usize); 2] = [
    ("8-stations", "8-stations-waiting", 8),
    ("200-stations", "200-stations-waiting", 200),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contender {
    None,
    /// One queue for all.
    Takt,
    /// One for each station, each with a weight.
    TaktRadio,
    FqCodel,
}

impl Contender {
    const ALL: [Self; 4] = [Self::None, Self::Takt, Self::TaktRadio, Self::FqCodel];

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Takt => "takt",
            Self::TaktRadio => "takt+radio",
            Self::FqCodel => "fq_codel",
        }
    }

    /// A link of this rate. fq_codel has no rate: where packets are to wait, HTB delays them.
    /// No AQM drops here, since a standing queue is wanted.
    fn qdisc(self, rate_bps: u64) -> Qdisc {
        let waits = rate_bps < LINK_RATE_BPS;
        let policy = format!(
            "[link.{DEVICE}]\nrate = \"{rate_bps}bit\"\n\
             [[link.{DEVICE}.class]]\nname = \"default\"\nbest_effort = true\naqm = \"off\"\n"
        );
        let leaf = "fq_codel limit 100000 target 10s interval 60s memory_limit 64mb";
        match self {
            Self::None => Qdisc::None,
            Self::Takt => Qdisc::Takt(policy),
            Self::TaktRadio => Qdisc::Takt(format!("{policy}[radio]\nsource = \"none\"\n")),
            Self::FqCodel if waits => Qdisc::Tc(vec![
                format!("qdisc replace dev {DEVICE} root handle 1: htb default 1"),
                format!(
                    "class add dev {DEVICE} parent 1: classid 1:1 htb rate {rate_bps}bit \
                     ceil {rate_bps}bit burst 3028 cburst 3028 quantum 1514"
                ),
                format!("qdisc add dev {DEVICE} parent 1:1 {leaf}"),
            ]),
            Self::FqCodel => Qdisc::Tc(vec![format!("qdisc replace dev {DEVICE} root {leaf}")]),
        }
    }
}

fn receiver(number: u32) -> String {
    format!("10.0.0.{}", 10 + number)
}

fn hardware(number: u32) -> String {
    format!("02:00:00:01:00:{number:02x}")
}

/// Receivers without a host: packets to them are dropped on arrival.
fn neighbours(verb: &str, count: usize) -> Result<()> {
    let line = |number| {
        let (receiver, hardware) = (receiver(number), hardware(number));
        format!("neigh {verb} {receiver} lladdr {hardware} dev {DEVICE} nud permanent\n")
    };
    let script: String = (0..count as u32).map(line).collect();
    A.run(|| command::ip_batch(&script))
}

/// From 1 to 14 dB: each of the default's weights above 0.
fn weigh(bench: &Bench, count: usize) -> Result<()> {
    for number in 0..count as u32 {
        let (hardware, snr) = (hardware(number), (1 + number % 14).to_string());
        let words = ["station", "set", &hardware, "--snr", &snr];
        A.run(|| command::run(bench.takt(), &words).map(drop))?;
    }
    Ok(())
}

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let cases = if bench.short { &CASES[..1] } else { &CASES };
    for &(at_once, waiting, count) in cases {
        neighbours("replace", count)?;
        let measured = measure(bench, at_once, waiting, count);
        neighbours("del", count)?;
        rows.extend(measured?);
    }
    Ok(rows)
}

fn measure(bench: &Bench, case: &str, case_waiting: &str, count: usize) -> Result<Vec<Row>> {
    let shape = Shape {
        waits: false,
        ..Shape::flows(count, RATE_BPS / count as u64)
    };
    let row = |scheduler: &str, case: &str, metrics| Row {
        scheduler: scheduler.to_owned(),
        case: case.to_owned(),
        metrics,
    };
    let (mut passes, mut waited) = (Vec::new(), Vec::new());
    let mut root = Root::new(bench.takt());
    for contender in Contender::ALL {
        let name = contender.name();
        eprintln!("cost: {name}, {case}");
        root.detach()?;
        root.attach(name, &contender.qdisc(LINK_RATE_BPS))?;
        if contender == Contender::TaktRadio {
            weigh(bench, count)?;
        }
        let sources = Source::open_to(&shape, BUFFER_PACKETS, receiver)?;
        passes.push((name, Sender::of(name, sources, &shape).passes()?.packet_ns));

        eprintln!("cost: {name}, {case_waiting}");
        root.attach(name, &contender.qdisc(RATE_BPS))?;
        let sources = Source::open_to(&shape, BACKLOG_MIN, receiver)?;
        let figures = match contender {
            Contender::None => waiting::unqueued(&shape, sources, bench.short),
            _ => waiting::queued(&shape, sources, bench.short),
        };
        waited.push(row(name, case_waiting, figures?));
    }
    root.detach()?;
    let mut baseline_ns = passes.first().map_or([0; PASSES], |(_, passes)| *passes);
    let at_once = passes.iter_mut().filter_map(|(name, passes)| {
        Some(row(name, case, at_once::cost(passes, &mut baseline_ns)?))
    });
    Ok(at_once.chain(waiting::with_cost(waited)).collect())
}
