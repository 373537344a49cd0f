//! One environment, one pattern of traffic, one scheduler, one seed.

use std::fmt::Write;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use takt_sim::{
    Outcome, Setup, Terms,
    qdisc::{Airtime, Fifo, Iwfq, Qdisc, Takt},
};

const NS_PER_S: u64 = 1_000_000_000;
/// Queues fill and flows find their rates.
const WARM_UP_S: u64 = 5;
const GOOD_DB: f64 = 20.0;
/// A person walks around the room: far after 10 s, near after 70 s (figure 19).
const LAP_S: f64 = 120.0;
const NEAR_S: f64 = 70.0;

/// The stations' signals (SoCPS, table 3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Signals {
    /// All are good but the first, which has this many dB.
    First(f64),
    /// The first walks between 0 and 20 dB.
    Walks,
}

pub const GOOD: Signals = Signals::First(GOOD_DB);
pub const BAD: Signals = Signals::First(3.0);

/// What the access point sends to each station (section 5.1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pattern {
    Tcp,
    Voip,
    /// At random moments: a full queue would favour the sender after the longest gap.
    Udp {
        kbit: u32,
    },
    /// VoIP to the first half and TCP to the others.
    Mixed,
}

pub const CBR: Pattern = Pattern::Udp { kbit: 1500 };

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Contender {
    Fifo,
    /// Takt with weights: all or nothing from this many dB on.
    GoodBad(u32),
    /// Takt with weights: linear between SoCPS's points.
    Pw,
    /// The same, whose source falls silent in the middle.
    PwDies,
    /// Takt's stations without weights.
    Unweighed,
    /// mac80211's queues.
    Airtime,
    /// Knows every channel at every moment.
    Iwfq,
}

#[derive(Debug, Clone, Copy)]
pub struct Cell {
    pub medium: &'static str,
    pub stations: usize,
    pub signals: Signals,
    pub pattern: Pattern,
    pub contender: Contender,
    /// Between reports, which take the air; `None`: strengths are known every 200 ms.
    pub reports_ms: Option<u64>,
    pub seconds: u64,
}

impl Cell {
    pub fn run(&self, seed: u64) -> Outcome {
        let policy = takt_policy::parse("policy", &self.policy()).expect("a policy");
        let traffic = self.traffic(seed);
        let traffic = takt_policy::traffic::parse("traffic", &traffic).expect("traffic");
        let setup = Setup::new(&policy, "policy", None, &traffic).expect("a setup");
        let terms = Terms {
            seed,
            duration_ns: (WARM_UP_S + self.seconds) * NS_PER_S,
        };
        takt_sim::run(&setup, "", &mut *self.qdisc(&setup), terms)
    }

    /// Whether it is SoCPS's card, or the one before the standard.
    fn is_slow(&self) -> bool {
        self.medium.starts_with("wavelan")
    }

    /// SoCPS's FIFO has 50 packets in all (BSD's interface queue), Linux's 1000.
    fn qdisc(&self, setup: &Setup) -> Box<dyn Qdisc> {
        let takt = Takt::new(setup.tables.clone());
        match self.contender {
            Contender::Fifo => Box::new(Fifo::new(if self.is_slow() { 50 } else { 1000 })),
            Contender::Airtime => Box::new(Airtime::new()),
            Contender::Iwfq => Box::new(Iwfq::new(self.queue_packets())),
            Contender::PwDies => {
                let dies_s = WARM_UP_S + self.seconds / 2;
                Box::new(takt.silent_from(dies_s * NS_PER_S))
            }
            _ => Box::new(takt),
        }
    }

    /// Of each station: where the air is slow, about what the FIFO has for all.
    fn queue_packets(&self) -> u32 {
        if self.is_slow() { 12 } else { 100 }
    }

    /// The radio takes a frame when it can, so the rate is never the limit.
    fn policy(&self) -> String {
        let law = match self.contender {
            Contender::GoodBad(db) => format!("weight = \"gb\"\nthreshold = {db}\n"),
            Contender::Pw | Contender::PwDies => {
                "points = [[0, 0.0], [4, 0.2], [10, 0.8], [14, 1.0]]\n".to_owned()
            }
            _ => "weight = \"gb\"\nthreshold = -20\n".to_owned(),
        };
        let source = match self.reports_ms {
            Some(ms) => format!("interval = \"{ms}ms\"\nkey_file = \"radio.key\"\n"),
            None => String::new(),
        };
        format!(
            "[link.wlan0]\nrate = \"1gbit\"\n[[link.wlan0.class]]\nname = \"default\"\n\
             queue_packets = {}\n[radio]\n{law}{source}",
            self.queue_packets()
        )
    }

    /// The seed draws when each source begins, where the walk begins, and packets' moments.
    fn traffic(&self, seed: u64) -> String {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut text = format!(
            "[device]\nmedium = \"{}\"\n[measure]\nafter = \"{WARM_UP_S}s\"\n",
            self.medium
        );
        let rtt = if self.is_slow() { "2ms" } else { "20ms" };
        for at in 0..self.stations {
            let begins_us = random.random_range(0..1_000_000);
            let source = match self.pattern {
                Pattern::Mixed if at >= self.stations / 2 => Pattern::Tcp,
                Pattern::Mixed => Pattern::Voip,
                other => other,
            };
            let source = match source {
                Pattern::Udp { kbit } => format!("kind = \"poisson\"\nrate = \"{kbit}kbit\""),
                Pattern::Tcp => format!("kind = \"tcp\"\nrtt = \"{rtt}\""),
                // 350 bytes of UDP, RTP and voice every 30 ms, with headers of IP and Ethernet.
                _ => "kind = \"cbr\"\nrate = \"102400bit\"\nframe = 384".to_owned(),
            };
            let snr = match (at, self.signals) {
                (0, Signals::First(db)) => db.to_string(),
                (0, Signals::Walks) => self.walk(random.random_range(0.0..LAP_S)),
                _ => GOOD_DB.to_string(),
            };
            let _ = write!(
                text,
                "[[station]]\nname = \"n{at}\"\naddress = \"192.0.2.{at}\"\nsnr = {snr}\n\
                 [[source]]\nname = \"s{at}\"\n{source}\nstart = \"{begins_us}us\"\n\
                 forwarded = true\nheaders = {{ dst = \"192.0.2.{at}\" }}\n"
            );
        }
        text
    }

    /// A point every 5 s, from this moment of the lap on.
    fn walk(&self, from_s: f64) -> String {
        const STEP_S: usize = 5;
        let points = (0..WARM_UP_S + self.seconds + 1).step_by(STEP_S).map(|s| {
            let off_s = (from_s + s as f64 - NEAR_S).rem_euclid(LAP_S);
            let off_s = off_s.min(LAP_S - off_s);
            let db = GOOD_DB * (1.0 - off_s / (LAP_S / 2.0));
            format!("[\"{s}s\", {db:.2}]")
        });
        format!("[{}]", points.collect::<Vec<_>>().join(", "))
    }
}
