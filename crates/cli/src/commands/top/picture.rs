//! A sample as it is shown: headers and tables.

use std::{collections::BTreeSet, fs};

use takt_host::Status;

use super::{rates::Meter, sample::Sample, table::Table};
use crate::{args::View, commands::status::problems, print::plain};

pub struct Picture {
    pub host: String,
    pub clock: String,
    pub policy: String,
    /// What is wrong, and what to do about it.
    pub problems: Vec<String>,
    /// One for each view.
    tables: Vec<Table>,
}

impl Picture {
    pub fn new(sample: &Sample, meter: &mut Meter) -> Self {
        meter.begin(sample.at_ns);
        let tables = View::ALL.map(|view| view.table(sample, meter));
        Self {
            host: host(),
            clock: clock(sample.unix_s),
            policy: policy(&sample.status),
            problems: problems(&sample.status)
                .iter()
                .map(|problem| plain(problem))
                .collect(),
            tables: tables.into(),
        }
    }

    pub fn table(&self, view: View) -> &Table {
        &self.tables[view.number()]
    }

    #[cfg(test)]
    pub fn set(&mut self, view: View, table: Table) {
        self.tables[view.number()] = table;
    }
}

fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    plain(name.trim())
}

/// Of the day, in UTC: hosts in several places are easier to compare.
fn clock(unix_s: u64) -> String {
    let (hours, minutes, seconds) = (unix_s / 3600 % 24, unix_s / 60 % 60, unix_s % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02} UTC")
}

/// The names of the policies in force.
fn policy(status: &Status) -> String {
    let links = status.links.iter().flat_map(|link| &link.policy);
    let beats = status.beats.iter().flat_map(|beats| &beats.policy);
    let crowd = status.crowd.iter().map(|crowd| &crowd.policy);
    let names: BTreeSet<&str> = links
        .chain(beats)
        .chain(crowd)
        .map(String::as_str)
        .collect();
    if names.is_empty() {
        "no policy".to_owned()
    } else {
        plain(&names.into_iter().collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_a_last_second() {
        assert_eq!(clock(86_399), "23:59:59 UTC");
        assert_eq!(clock(86_400), "00:00:00 UTC");
    }
}
