//! Stations that run Takt themselves, and report their signal.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::environment::STATIONS;
use crate::experiment::command;
use crate::experiment::daemon::Daemon;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::wlan::{ACCESS_POINT_ADDRESS, DEVICE, Station};

/// taktd's own default.
const PORT: u16 = 7641;

/// The file with the stations' signal, in place of their drivers.
pub fn snr(folder: &Path) -> PathBuf {
    folder.join("snr")
}

pub fn key(folder: &Path) -> PathBuf {
    folder.join("radio.key")
}

/// How often the file is written, for stations with this report interval: taktd reads it four
/// times per interval, and at most every 10 ms.
pub fn measured_every(interval: Duration) -> Duration {
    (interval / 4).max(Duration::from_millis(10))
}

pub fn make_key(takt: &Path, folder: &Path) -> Result<()> {
    let key = key(folder);
    command::run(takt, &["radio", "key", &key.to_string_lossy()]).map(drop)
}

/// They stop reporting when this is dropped.
pub struct Clients {
    daemons: Vec<Daemon>,
    takt: PathBuf,
}

impl Clients {
    pub fn start(takt: &Path, folder: &Path, interval: Duration) -> Result<Self> {
        let policy = folder.join("client.toml");
        std::fs::write(&policy, self::policy(folder, interval))
            .doing("write the clients' policy")?;
        let policy = policy.to_string_lossy();
        let mut clients = Self {
            daemons: Vec::new(),
            takt: takt.to_owned(),
        };
        for station in Station::first(STATIONS) {
            let apply = || command::run(takt, &["apply", &policy]).map(drop);
            station.namespace().run(apply)?;
            let daemon = Daemon::start_alone(station.namespace())?;
            clients.daemons.push(daemon);
        }
        Ok(clients)
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.daemons.clear();
        for station in Station::first(STATIONS) {
            let revert = || command::run(&self.takt, &["revert"]).map(drop);
            if let Err(error) = station.namespace().run(revert) {
                eprintln!("while cleaning up: {error}");
            }
        }
    }
}

fn policy(folder: &Path, interval: Duration) -> String {
    format!(
        "[radio]\nreport_to = \"{ACCESS_POINT_ADDRESS}:{PORT}\"\ndevice = \"{DEVICE}\"\n\
         key_file = {:?}\nsource = \"file\"\nfile = {:?}\ninterval = \"{}ms\"\n",
        key(folder).display(),
        snr(folder).display(),
        interval.as_millis(),
    )
}
