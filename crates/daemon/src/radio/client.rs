//! A client: it measures its own signal and reports it.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use takt_host::Heard;
use takt_policy::{Radio, RadioSource};
use takt_wlan::{
    radio::{Client, Report},
    read_key,
    sealed::{DATAGRAM_MAX_BYTES, Purpose, Sender},
    source::{SnrFile, Source, StationDump},
};

use crate::{own, service::Service};

/// Measurements that are averaged, at most.
const SAMPLES_PER_REPORT: u64 = 4;
/// The least time between two questions to a driver.
const SAMPLE_MIN_NS: u64 = 10_000_000;

pub(super) struct Reporter {
    radio: Radio,
    to: SocketAddr,
    device: String,
    meter: Meter,
    client: Option<Client>,
    line: Option<Line>,
}

/// What sends reports, as long as the device keeps its addresses.
struct Line {
    own: Report,
    sender: Sender,
    socket: UdpSocket,
}

enum Meter {
    Driver(StationDump),
    /// For tests, and for devices whose drivers report no signal: a file with this device's
    /// values.
    File(SnrFile),
}

impl Reporter {
    pub fn new(radio: &Radio, report: &takt_policy::Report) -> Self {
        Self {
            radio: radio.clone(),
            to: report.to,
            device: report.device.clone(),
            meter: match &radio.source {
                RadioSource::File(path) => Meter::File(SnrFile::new(path)),
                _ => Meter::Driver(StationDump::new(&report.device)),
            },
            client: None,
            line: None,
        }
    }

    fn measure(&mut self, now_ns: u64, own: &Report) -> Result<Option<i32>, String> {
        let measured = match &mut self.meter {
            // A client has one access point; of several, the strongest.
            Meter::Driver(driver) => {
                let found = driver.measure().map_err(|error| error.to_string())?;
                found.into_values().max().map(|snr_db| snr_db * 100)
            }
            Meter::File(file) => {
                let mut samples = Vec::new();
                let polled = file.poll(now_ns, &mut samples);
                let names = own.sample().names;
                let own = samples
                    .iter()
                    .find(|sample| names.contains(&sample.names[0]));
                match (own, polled) {
                    (None, Err(error)) => return Err(error.to_string()),
                    (own, _) => own.map(|sample| sample.snr_centidb),
                }
            }
        };
        Ok(measured)
    }

    fn work(&mut self, now_ns: u64) -> Result<(), String> {
        let own = own::report_of(&self.device)
            .ok_or_else(|| format!("{} has no address to report by", self.device))?;
        let measured = self.measure(now_ns, &own)?;
        let interval_ns = self.radio.interval_ns;
        let client = self
            .client
            .get_or_insert_with(|| Client::new(now_ns, interval_ns));
        if let Some(snr_centidb) = measured {
            client.sample(snr_centidb);
        }
        match client.report(now_ns) {
            Some(snr_centidb) => self.send(&own, snr_centidb),
            None => Ok(()),
        }
    }

    fn send(&mut self, own: &Report, snr_centidb: i32) -> Result<(), String> {
        let line = match &mut self.line {
            Some(line) if line.own == *own => line,
            line => line.insert(Line::open(&self.radio, self.to, own)?),
        };
        let report = Report {
            snr_centidb,
            ..*own
        };
        let mut datagram = [0; DATAGRAM_MAX_BYTES];
        let sealed = line.sender.seal(&report.to_bytes(), &mut datagram);
        let sealed = sealed.ok_or("all reports of this start have been sent")?;
        match line.socket.send(sealed) {
            Ok(_) => Ok(()),
            Err(error) => {
                // Another path may be open.
                self.line = None;
                Err(format!("reporting to {}: {error}", self.to))
            }
        }
    }
}

impl Line {
    /// With new addresses it is a new sender.
    fn open(radio: &Radio, to: SocketAddr, own: &Report) -> Result<Self, String> {
        let key = radio.key_file.as_deref().ok_or("there is no key_file")?;
        let key = read_key(key).map_err(|error| error.to_string())?;
        let number = own.sender().ok_or("there is no address to report by")?;
        let epoch = own::epoch()?;
        // On any route the source is an address that the report names: the receiver compares
        // them.
        let from: Option<IpAddr> = match to {
            SocketAddr::V4(_) => own.v4.map(IpAddr::from),
            SocketAddr::V6(_) => own.v6.map(IpAddr::from),
        };
        let from = from.ok_or_else(|| format!("the device has no address to reach {to} from"))?;
        let socket = UdpSocket::bind((from, 0))
            .and_then(|socket| socket.connect(to).map(|()| socket))
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket))
            .map_err(|error| format!("reporting to {to}: {error}"))?;
        Ok(Self {
            own: *own,
            sender: Sender::new(key, Purpose::RADIO, number, epoch),
            socket,
        })
    }
}

impl Service<Heard> for Reporter {
    fn step(&mut self, now_ns: u64) -> (u64, Result<(), String>) {
        let result = self.work(now_ns);
        let interval_ns = self.radio.interval_ns;
        let sample_ns = (interval_ns / SAMPLES_PER_REPORT).max(SAMPLE_MIN_NS);
        let due_ns = self.client.as_ref().map(Client::due_ns);
        let next_ns = due_ns.map_or(now_ns + sample_ns, |due| due.min(now_ns + sample_ns));
        (next_ns.max(now_ns + 1_000_000), result)
    }
}
