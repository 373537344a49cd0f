//! The side that sends to stations: it computes stations' weights from what is heard of them.

use takt_algo::sys::TAKT_STATION_STALE_NS;
use takt_host::{Heard, present_name};
use takt_policy::{Radio, RadioSource};
use takt_wlan::{
    Address,
    radio::{Action, Sample, Stations, terms_of},
    read_key,
    source::{Reports, SnrFile, Source, StationDump},
};

use super::table::{self, Table};
use crate::service::Service;

/// How often links are looked for, which come and go, and told that their weights are current.
const LOOK_NS: u64 = 1_000_000_000;
/// A source that says nothing for so many intervals does not work.
const SILENT_INTERVALS: u64 = 3;
/// Weights count for this time after it.
const STALE_NS: u64 = TAKT_STATION_STALE_NS;

/// Makes a source anew, after a failure as well.
type OpenSource = Box<dyn FnMut() -> Result<Box<dyn Source>, String>>;
type OpenTable = Box<dyn FnMut(&str) -> Result<Box<dyn Table>, String>>;

/// Stations that one source knows of, and the links that they are reached by.
pub(super) struct Cell {
    interval_ns: u64,
    /// The policy's name of its source.
    called: &'static str,
    /// The source failed in the last step.
    failed: bool,
    /// All stations count as 1 because of the source.
    silent: bool,
    /// The first step.
    begun_ns: Option<u64>,
    stations: Stations,
    open_source: OpenSource,
    source: Option<Box<dyn Source>>,
    open_table: OpenTable,
    links: Vec<Link>,
    samples: Vec<Sample>,
    actions: Vec<Action>,
    look_ns: u64,
}

struct Link {
    /// As the policy names it.
    device: String,
    /// As `takt status` names it.
    present_name: String,
    table: Option<Box<dyn Table>>,
}

impl Link {
    fn new(device: &str) -> Self {
        Self {
            device: device.to_owned(),
            present_name: device.to_owned(),
            table: None,
        }
    }

    /// It may have been renamed.
    fn look_up_name(&mut self) {
        if let Ok(Some(name)) = present_name(&self.device) {
            self.present_name = name;
        }
    }
}

/// Groups links by source: reports and files apply to all links, a driver's table to its own.
pub(super) fn groups(radio: &Radio, devices: Vec<String>) -> Vec<Vec<String>> {
    match &radio.source {
        RadioSource::None => Vec::new(),
        _ if devices.is_empty() => Vec::new(),
        RadioSource::StationDump => devices.into_iter().map(|device| vec![device]).collect(),
        RadioSource::Reports | RadioSource::File(_) => vec![devices],
    }
}

fn open(radio: &Radio, device: &str) -> OpenSource {
    let (radio, device) = (radio.clone(), device.to_owned());
    Box::new(move || match &radio.source {
        RadioSource::Reports => {
            let key = radio.key_file.as_deref().ok_or("there is no key_file")?;
            let key = read_key(key).map_err(|error| error.to_string())?;
            let reports = Reports::listen(radio.listen, key, radio.interval_ns);
            Ok(Box::new(reports.map_err(|error| error.to_string())?))
        }
        RadioSource::StationDump => Ok(Box::new(StationDump::new(device.clone()))),
        RadioSource::File(path) => Ok(Box::new(SnrFile::new(path))),
        RadioSource::None => Err("there is no source".to_owned()),
    })
}

impl Cell {
    /// What the policy says for links with the same source.
    pub fn for_radio(radio: &Radio, devices: &[String]) -> Self {
        let own = devices.first().map_or("", String::as_str);
        Self::new(radio, devices, open(radio, own), Box::new(table::open))
    }

    fn new(
        radio: &Radio,
        devices: &[String],
        open_source: OpenSource,
        open_table: OpenTable,
    ) -> Self {
        Self {
            interval_ns: radio.interval_ns,
            called: radio.source.name(),
            failed: false,
            silent: false,
            begun_ns: None,
            stations: Stations::new(terms_of(radio)),
            open_source,
            source: None,
            open_table,
            links: devices.iter().map(|device| Link::new(device)).collect(),
            samples: Vec::new(),
            actions: Vec::new(),
            look_ns: 0,
        }
    }

    fn hear(&mut self, now_ns: u64) -> Result<(), String> {
        self.samples.clear();
        let polled = self.poll(now_ns);
        self.failed = polled.is_err() && self.samples.is_empty();
        let mut result = polled;
        for sample in &self.samples {
            let heard = self.stations.hear(now_ns, sample, &mut self.actions);
            result = result.and(heard.map_err(|error| error.to_string()));
            result = result.and(self.links.iter().try_for_each(|link| link.takes(sample)));
        }
        result
    }

    fn poll(&mut self, now_ns: u64) -> Result<(), String> {
        let source = match &mut self.source {
            Some(source) => source,
            none => none.insert((self.open_source)()?),
        };
        let polled = source.poll(now_ns, &mut self.samples);
        polled.map_err(|error| error.to_string())?;
        if self.samples.is_empty() && source.knows_of_none() {
            self.stations.none_is_there(now_ns);
        }
        Ok(())
    }

    /// Until when the source is known to work. A source that says nothing for some intervals does
    /// not: weights then count for 5 s more. `None`: no client has reported yet, perhaps because
    /// there is none.
    fn worked_until_ns(&self, now_ns: u64) -> Option<u64> {
        let should_speak = self.failed || self.called != RadioSource::Reports.name();
        let begun_ns = should_speak.then_some(self.begun_ns).flatten();
        let spoke_ns = self.stations.spoke_ns().or(begun_ns)?;
        Some(now_ns.min(spoke_ns + SILENT_INTERVALS * self.interval_ns))
    }

    fn is_silent(&self, now_ns: u64) -> bool {
        let until_ns = self.worked_until_ns(now_ns);
        until_ns.is_some_and(|until_ns| until_ns + STALE_NS < now_ns)
    }

    fn tell(&mut self) -> Result<(), String> {
        let mut result = Ok(());
        for action in self.actions.drain(..) {
            for table in self.links.iter_mut().filter_map(|link| link.table.as_mut()) {
                result = result.and(tell(&mut **table, action));
            }
        }
        result
    }

    /// The table may have changed: use the current one and write all weights. A new table knows
    /// no station, and weights set by hand may have been taken back in others. A new taktd
    /// removes weights that an earlier taktd left.
    fn look(&mut self, now_ns: u64) -> Result<(), String> {
        let worked_until_ns = self.worked_until_ns(now_ns);
        let mut result = Ok(());
        for link in &mut self.links {
            link.look_up_name();
            if link.table.as_ref().is_none_or(|table| !table.is_attached()) {
                link.table = match (self.open_table)(&link.device) {
                    Ok(mut table) => {
                        let mut known = table.known();
                        known.retain(|address| !self.stations.knows(address));
                        known.into_iter().for_each(|gone| table.forget(gone));
                        Some(table)
                    }
                    Err(problem) => {
                        result = result.and(Err(problem));
                        None
                    }
                };
            }
            let Some(table) = &mut link.table else {
                continue;
            };
            for (address, weight_ppm) in self.stations.weights() {
                let action = Action::Weigh {
                    address,
                    weight_ppm,
                };
                result = result.and(tell(&mut **table, action));
            }
            if let Some(until_ns) = worked_until_ns {
                table.refresh(now_ns.saturating_sub(until_ns));
            }
        }
        result
    }
}

impl Link {
    /// Whether the link can use a sample.
    fn takes(&self, sample: &Sample) -> Result<(), String> {
        let Some(table) = &self.table else {
            return Ok(());
        };
        match sample.addresses().next() {
            Some(first) if !sample.addresses().any(|address| table.takes(&address)) => {
                let other = match first {
                    Address::Mac(_) => "IP",
                    Address::Ip(_) => "MAC",
                };
                let device = &self.device;
                Err(format!(
                    "{first}: stations of {device} are known by {other} address"
                ))
            }
            _ => Ok(()),
        }
    }
}

/// What the log says of a silent source, and why, if that is known.
fn silent(why: Option<&str>) -> String {
    let why = why.map(|why| format!("{why}; ")).unwrap_or_default();
    format!(
        "{why}no station was heard for some time, so all weigh 1 but those that were set by hand"
    )
}

fn tell(table: &mut dyn Table, action: Action) -> Result<(), String> {
    match action {
        Action::Weigh { address, .. } if !table.takes(&address) => Ok(()),
        Action::Weigh {
            address,
            weight_ppm,
        } => table.weigh(address, weight_ppm),
        Action::Forget { address } => {
            table.forget(address);
            Ok(())
        }
    }
}

impl Service<Heard> for Cell {
    fn step(&mut self, now_ns: u64) -> (u64, Result<(), String>) {
        self.begun_ns.get_or_insert(now_ns);
        let heard = self.hear(now_ns);
        self.stations.tick(now_ns, self.failed, &mut self.actions);
        let is_silent = self.is_silent(now_ns);
        let was_silent = std::mem::replace(&mut self.silent, is_silent);
        if was_silent && !is_silent {
            // Weights count again from now on.
            self.look_ns = now_ns;
        }
        let mut told = Ok(());
        if now_ns >= self.look_ns {
            self.look_ns = now_ns + LOOK_NS;
            told = self.look(now_ns);
        }
        let told = told.and(self.tell());
        let heard = if is_silent {
            Err(silent(heard.err().as_deref()))
        } else {
            heard
        };
        let period_ns = match &self.source {
            Some(source) => source.period_ns(self.interval_ns),
            None => self.interval_ns,
        };
        let next_ns = (now_ns + period_ns).min(self.look_ns);
        (next_ns, heard.and(told))
    }

    fn said(&self) -> Option<Heard> {
        let stats = self.stations.stats();
        Some(Heard {
            links: self
                .links
                .iter()
                .map(|link| link.present_name.clone())
                .collect(),
            source: self.called.to_owned(),
            heard_samples: stats.reports,
            missed_samples: stats.missed,
            datagrams: self.source.as_ref().and_then(|source| source.datagrams()),
        })
    }

    /// Without taktd no station has a weight.
    fn end(&mut self) {
        let known: Vec<_> = self.stations.weights().map(|known| known.0).collect();
        for table in self.links.iter_mut().filter_map(|link| link.table.as_mut()) {
            for address in &known {
                table.forget(*address);
            }
        }
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
