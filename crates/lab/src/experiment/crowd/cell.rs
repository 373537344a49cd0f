//! One case, one contender.

use std::path::Path;
use std::time::Duration;

use takt_flows::Line;
use takt_report::Row;

use super::case::Case;
use super::contender::Contender;
use super::figures;
use super::group::{Group, PORT};
use super::play::{Played, play};
use super::recorder::Recorder;
use crate::experiment::card::FIRST;
use crate::experiment::command;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::namespace::Namespace;
use crate::experiment::record::Window;
use crate::experiment::wlan::{
    ACCESS_POINT, Cards, Motion, SERVER, Script, Station, StationScript, Statistics, Waiting, Wlan,
};

/// The backoffs are the same under every contender.
const SEED: u64 = 1;
/// All stations have a good signal, and send at 54 Mbit/s.
const SNR_CENTIDB: i32 = 6000;
pub const PROFILE: &str = "802.11g";
pub const RATE: usize = 7;
/// The interval of the air's statistics.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// Connections are open before traffic.
const PREPARATION: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    pub case: Case,
    pub contender: Contender,
    /// Traffic before the measurement: queues fill and flows find their windows.
    pub warm_up: Duration,
    /// The measurement.
    pub length: Duration,
    /// The first terminal's flow, for the page.
    pub is_recorded: bool,
}

/// A cell's records.
pub struct Seen {
    pub played: Played,
    pub air: Statistics,
    pub window: Window,
    /// The zero of the medium's clock, in CLOCK_MONOTONIC.
    pub began_ns: u64,
    pub recorded: Option<Vec<Line>>,
}

impl Cell {
    pub fn measure(&self, takt: &Path) -> Result<Row> {
        eprintln!("{}: {}", self.case.name(), self.contender.name());
        let seen = self.look(takt)?;
        Ok(Row {
            scheduler: self.contender.name().to_owned(),
            case: self.case.name(),
            metrics: figures::of(self, &seen),
        })
    }

    fn look(&self, takt: &Path) -> Result<Seen> {
        let wlan = Wlan::build(takt, &self.script())?;
        self.set_up()?;
        let group = match self.contender {
            Contender::Takt => Some(Group::start(takt, self.members(), true)?),
            Contender::TaktAlone => Some(Group::start(takt, self.members(), false)?),
            _ => None,
        };
        let first = self.stations().next().filter(|_| self.is_recorded);
        let recorder = first.map(|station| Recorder::start(takt, station.namespace()));
        let recorder = recorder.transpose()?;
        let window = Window::after(PREPARATION, self.warm_up, self.length)
            .aligned(wlan.began_ns(), INTERVAL);
        let flows = self.case.flows(self.warm_up, self.warm_up + self.length);
        let senders: Vec<Namespace> = self.stations().map(Station::namespace).collect();
        let senders = [&senders[..], &[SERVER]].concat();
        let played = play(&flows, &senders, window)?;
        let recorded = recorder.map(Recorder::finish).transpose()?;
        drop(group);
        Ok(Seen {
            played,
            window,
            began_ns: wlan.began_ns(),
            recorded,
            air: wlan.finish()?,
        })
    }

    fn stations(&self) -> impl Iterator<Item = Station> + Clone {
        Station::first(self.case.terminals)
    }

    /// The terminals with the contender's congestion control.
    fn members(&self) -> Vec<Station> {
        let strangers = usize::from(self.case.stranger.is_some());
        Station::first(self.case.terminals - strangers).collect()
    }

    fn set_up(&self) -> Result<()> {
        let contender = self.contender;
        FIRST.run(allow)?;
        ACCESS_POINT.run(|| command::tc_batch(&[contender.access_point()]))?;
        SERVER.run(|| choose(contender.congestion_control()))?;
        for station in self.stations() {
            let is_stranger = station.index() >= self.members().len();
            let stranger = self.case.stranger.filter(|_| is_stranger);
            station.namespace().run(|| {
                command::tc_batch(&[contender.terminal()])?;
                choose(stranger.map_or(contender.congestion_control(), |stranger| {
                    stranger.congestion_control
                }))
            })?;
        }
        Ok(())
    }

    fn script(&self) -> Script {
        let station = StationScript {
            motion: Motion::Still {
                snr_centidb: SNR_CENTIDB,
            },
            rate: Some(RATE),
        };
        Script {
            profile: PROFILE.to_owned(),
            seed: SEED,
            stations: vec![station; self.case.terminals],
            wire_delay: self.case.wired_rtt / 2,
            wire_loss_ppm: self.case.loss_ppm,
            interval: INTERVAL,
            reports: None,
            waiting: Waiting::Qdisc,
            cards: Cards::Virtio,
            reports_port: Some(PORT),
        }
    }
}

/// Vegas is not allowed in other namespaces unless the first one allows it.
fn allow() -> Result<()> {
    const SETTING: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
    std::fs::write(SETTING, "reno cubic bbr vegas").doing("allow congestion controls")
}

/// The congestion control of all new connections in this namespace.
fn choose(congestion_control: &str) -> Result<()> {
    const SETTING: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
    std::fs::write(SETTING, congestion_control).doing("choose a congestion control")
}
