//! One environment, one pattern of traffic, one scheduler.

use std::path::Path;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use takt_report::Row;

use super::contender::Contender;
use super::daemon::Daemon;
use super::environment::Environment;
use super::figures;
use super::pattern::{Flow, Pattern};
use super::record::{INTERVAL, Record, Window};
use super::{tcp, udp};
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::root::Root;
use crate::experiment::wlan::{
    ACCESS_POINT, DEVICE, STATIONS_MAX, Script, SnrReports, Station, StationScript, Wlan,
};

/// The paper's cards: 2 Mbit/s.
const PROFILE: &str = "wavelan";
/// Everyone hears the same fades, whoever schedules.
const SEED: u64 = 1;
/// Of the wire, each way: servers next door.
const WIRE_DELAY: Duration = Duration::from_millis(1);
/// T_soc.
const SNR_INTERVAL: Duration = Duration::from_millis(200);
/// Weights are there before traffic.
const WARM_UP: Duration = Duration::from_secs(1);

pub struct Cell {
    pub environment: Environment,
    pub pattern: Pattern,
    pub contender: Contender,
    /// Without warm-up.
    pub length: Duration,
}

impl Cell {
    pub fn measure(&self, takt: &Path) -> Result<Row> {
        let case = format!("{}-{}", self.environment.name(), self.pattern.name());
        eprintln!("{case}: {}", self.contender.name());
        let snr = tempfile::tempdir().doing("find a place for the stations' SNR")?;
        let snr = snr.path().join("snr");
        let wlan = Wlan::build(takt, &self.script(&snr))?;
        let mut root = Root::on(takt, ACCESS_POINT, DEVICE);
        root.attach(self.contender.name(), &self.contender.qdisc(&snr))?;
        let daemon = match self.contender.is_told() {
            true => Some(Daemon::start(takt)?),
            false => None,
        };
        std::thread::sleep(WARM_UP);
        let records = self.play()?;
        drop(daemon);
        root.detach()?;
        let air = wlan.finish()?;
        Ok(Row {
            scheduler: self.contender.name().to_owned(),
            case,
            metrics: figures::of(self, &records, &air),
        })
    }

    fn script(&self, snr: &Path) -> Script {
        Script {
            profile: PROFILE.to_owned(),
            seed: SEED,
            stations: (0..STATIONS_MAX)
                .map(|station| StationScript {
                    motion: self.environment.motion(station),
                    rate: None,
                })
                .collect(),
            wire_delay: WIRE_DELAY,
            interval: INTERVAL,
            reports: self.contender.is_told().then(|| SnrReports {
                file: snr.to_owned(),
                interval: SNR_INTERVAL,
            }),
        }
    }

    /// All flows at once; what each station received.
    fn play(&self) -> Result<Vec<Record>> {
        let flows: Vec<Flow> = (0..STATIONS_MAX)
            .map(|station| self.pattern.flow(station))
            .collect();
        // Connections are there before anybody sends.
        let mut datagrams = Vec::new();
        let mut connections = Vec::new();
        for (station, flow) in Station::first(STATIONS_MAX).zip(flows) {
            match flow {
                Flow::Udp(stream) => datagrams.push((station, stream, udp::open(station)?)),
                Flow::Tcp => connections.push((station, tcp::open(station)?)),
            }
        }
        let window = Window::from_now(self.length);
        let mut records = vec![Record::default(); STATIONS_MAX];
        std::thread::scope(|scope| {
            let mut streams = Vec::new();
            for (station, stream, (sender, receiver)) in &datagrams {
                let seed = SEED + station.index() as u64;
                streams.push((
                    station.index(),
                    scope.spawn(move || udp::receive(receiver, window)),
                    scope.spawn(move || udp::send(sender, *stream, window, seed)),
                ));
            }
            let mut bulk = Vec::new();
            for (station, (sender, receiver)) in &mut connections {
                bulk.push((
                    station.index(),
                    scope.spawn(move || tcp::receive(receiver, window)),
                    scope.spawn(move || tcp::send(sender, window)),
                ));
            }
            for (index, receiver, sender) in streams {
                let sent = joined(sender)?;
                records[index] = Record {
                    sent,
                    ..joined(receiver)?
                };
            }
            for (index, receiver, sender) in bulk {
                joined(sender)?;
                records[index] = joined(receiver)?;
            }
            Ok(records)
        })
    }
}

fn joined<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
