//! The readings of the stations' receivers, for a policy with `source = "file"`.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use takt_medium::{Medium, NodeId};

use super::plan::{Station, shown};
use super::script::SnrReports;
use crate::experiment::error::{Result, WhileDoing};

pub struct Reports {
    file: PathBuf,
    interval_ns: u64,
    due_ns: u64,
}

impl Reports {
    pub fn new(reports: SnrReports) -> Self {
        Self {
            file: reports.file,
            interval_ns: (reports.interval.as_nanos() as u64).max(1_000_000),
            due_ns: 0,
        }
    }

    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Replaces the file, so that a reader always reads all of it.
    pub fn write_if_due(&mut self, now_ns: u64, medium: &mut Medium) -> Result<()> {
        if now_ns < self.due_ns {
            return Ok(());
        }
        self.due_ns = (now_ns / self.interval_ns + 1) * self.interval_ns;
        let mut text = String::new();
        for (number, station) in (1..).zip(Station::first(usize::MAX)) {
            let Ok(snr_centidb) = medium.sample_snr_centidb(now_ns, NodeId(number)) else {
                break;
            };
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{} {}",
                shown(station.mac()),
                f64::from(snr_centidb) / 100.0
            );
        }
        let writing = self.file.with_extension("new");
        fs::write(&writing, text).doing("write the stations' SNR")?;
        fs::rename(&writing, &self.file).doing("write the stations' SNR")
    }
}
