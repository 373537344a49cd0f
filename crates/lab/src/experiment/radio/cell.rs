//! One environment, one pattern of traffic, one scheduler.

use std::path::Path;
use std::time::Duration;

use takt_report::Row;

use super::clients::{self, Clients};
use super::contender::Contender;
use super::environment::{Environment, STATIONS};
use super::pattern::Pattern;
use super::play::{Flows, Played, play};
use super::{figures, follow, forward, sweep};
use crate::experiment::beats::sleep_until;
use crate::experiment::daemon::Daemon;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::metrics::Metrics;
use crate::experiment::record::{INTERVAL, Window};
use crate::experiment::root::Root;
use crate::experiment::wlan::{
    ACCESS_POINT, Cards, DEVICE, Script, SnrReports, StationScript, Statistics, Wlan,
};

/// The wire's delay, each way: servers next door.
const WIRE_DELAY: Duration = Duration::from_millis(1);
/// Enough for three SYNs to a station with a weak signal.
const CONNECTION: Duration = Duration::from_secs(4);
/// Weights are set before traffic.
const PREPARATION: Duration = Duration::from_secs(1);
/// Queues fill and flows find their rates.
const WARM_UP: Duration = Duration::from_secs(3);
/// Eight more taktds need time, too.
const CLIENTS_START: Duration = Duration::from_secs(4);
/// The interval of a station's share where changes of it are measured.
pub const SHARE_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// On the medium's clock.
    pub profile: &'static str,
    pub environment: Environment,
    pub pattern: Pattern,
    pub contender: Contender,
    /// Without warm-up.
    pub length: Duration,
}

/// A cell's records.
pub struct Seen {
    pub played: Played,
    pub air: Statistics,
    pub window: Window,
    /// The zero of the medium's clock, in CLOCK_MONOTONIC.
    pub began_ns: u64,
}

impl Cell {
    /// SoCPS's cards in the standard's version: 2 Mbit/s.
    pub const WAVELAN: &str = "wavelan";

    /// The seed draws fades and packets' moments.
    pub fn measure(&self, takt: &Path, seed: u64) -> Result<Vec<Row>> {
        eprintln!("{}: {}", self.case(), self.contender.name());
        let seen = self.look(takt, seed)?;
        Ok(match (self.environment, self.pattern) {
            (Environment::Sweep, _) => sweep::rows(self, &seen),
            (Environment::Stepping, _) => vec![self.row(follow::figures(&seen))],
            (_, Pattern::Lone) => vec![self.row(forward::figures(&seen))],
            _ => vec![self.row(figures::of(self, &seen))],
        })
    }

    pub fn case(&self) -> String {
        let (environment, pattern) = (self.environment.name(), self.pattern.name());
        match self.profile {
            Self::WAVELAN => format!("{environment}-{pattern}"),
            other => format!("{environment}-{pattern}-{other}"),
        }
    }

    pub fn row(&self, metrics: Metrics) -> Row {
        Row {
            scheduler: self.contender.name().to_owned(),
            case: self.case(),
            metrics,
        }
    }

    fn look(&self, takt: &Path, seed: u64) -> Result<Seen> {
        let folder = tempfile::tempdir().doing("find a place for the stations' SNR")?;
        let folder = folder.path();
        let wlan = Wlan::build(takt, &self.script(folder, seed))?;
        if self.contender.is_reported() {
            clients::make_key(takt, folder)?;
        }
        let mut root = Root::on(takt, ACCESS_POINT, DEVICE);
        root.attach(self.contender.name(), &self.contender.qdisc(folder))?;
        let window = self.window(wlan.began_ns());
        let flows = Flows::open(self.pattern)?;
        sleep_until(window.warm_up_ns.saturating_sub(nanos(self.preparation())));
        let daemon = match self.contender.told_every() {
            Some(_) => Some(Daemon::start(takt, ACCESS_POINT)?),
            None => None,
        };
        let clients = match self.contender.told_every() {
            Some(interval) if self.contender.is_reported() => {
                Some(Clients::start(takt, folder, interval)?)
            }
            _ => None,
        };
        let played = play(flows, seed, window)?;
        drop((clients, daemon));
        root.detach()?;
        Ok(Seen {
            played,
            window,
            began_ns: wlan.began_ns(),
            air: wlan.finish()?,
        })
    }

    fn window(&self, began_ns: u64) -> Window {
        let window = Window::after(CONNECTION + self.preparation(), WARM_UP, self.length);
        match self.environment.begins_every() {
            Some(step) => window.aligned(began_ns, step),
            None => window,
        }
    }

    /// From the first taktd's start until the weights are set.
    fn preparation(&self) -> Duration {
        if self.contender.is_reported() {
            CLIENTS_START
        } else {
            PREPARATION
        }
    }

    fn script(&self, folder: &Path, seed: u64) -> Script {
        let measured_every = |interval| {
            if self.contender.is_reported() {
                clients::measured_every(interval)
            } else {
                interval
            }
        };
        Script {
            profile: self.profile.to_owned(),
            seed,
            stations: (0..STATIONS)
                .map(|station| StationScript {
                    motion: self.environment.motion(station),
                    rate: None,
                })
                .collect(),
            wire_loss_ppm: 0,
            wire_delay: match self.pattern {
                Pattern::Lone => Duration::ZERO,
                _ => WIRE_DELAY,
            },
            interval: match self.environment {
                Environment::Stepping => SHARE_INTERVAL,
                _ => INTERVAL,
            },
            reports: self.contender.told_every().map(|interval| SnrReports {
                file: clients::snr(folder),
                interval: measured_every(interval),
            }),
            waiting: self.contender.waiting(),
            cards: Cards::Tap,
            reports_port: None,
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}
