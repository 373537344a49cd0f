//! Traffic for the simulator (`takt sim`): what is sent over a policy's link, by which senders, and
//! how exact the host's timer is. A file of its own, in the spellings of policies.
//!
//! ```
//! let text = r#"
//!     [[source]]
//!     name = "stream"
//!     kind = "cbr"
//!     rate = "25mbit"
//!     headers = { proto = "udp", dst_port = 5004 }
//! "#;
//! let traffic = takt_policy::traffic::parse("traffic.toml", text)?;
//! assert_eq!(traffic.sources[0].flows, 1);
//! # Ok::<(), takt_policy::Diagnostics>(())
//! ```

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    Diagnostics, Match, POLICY_MAX_BYTES,
    findings::Findings,
    load::read_text,
    read::traffic,
    schema,
    source::{Source as Text, Span},
    too_large,
};

/// The kinds of a wireless LAN, by their names in `crates/medium`.
pub const MEDIA: [&str; 9] = [
    "802.11g",
    "802.11n",
    "802.11b-long",
    "802.11b-short",
    "wavelan",
    "wavelan-classic",
    "phones-2011",
    "today",
    "today-ac",
];

/// All stations of a file together.
pub const STATIONS_MAX: usize = 255;

/// All flows of a file together.
pub const FLOWS_MAX: u64 = 200_000;

/// A traffic file's content, every default filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// The wire behind the link.
    pub device: Device,
    /// The host that sends.
    pub host: Host,
    /// What happens before is left out of the figures.
    pub measure_after_ns: u64,
    /// Receivers over the air, if the device is an access point's.
    pub stations: Vec<Station>,
    /// In file order; at least one.
    pub sources: Vec<Source>,
    /// What the sending processor does besides.
    pub tasks: Vec<Task>,
    text: Text,
}

/// The network device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// Of its wire, in bits per second; `None`: that of the policy's link.
    pub rate_bps: Option<u64>,
    /// Wire bytes per frame beyond the layer 2 frame; `None`: as the policy's link counts.
    pub overhead_bytes: Option<u32>,
    /// Frames that it holds, the one on the wire included.
    pub queue_packets: u32,
    /// One of [`MEDIA`]: it is an access point's radio, and has no wire.
    pub medium: Option<&'static str>,
}

/// A receiver over the air.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Station {
    /// The name in outputs.
    pub name: String,
    /// Packets to this address go to it.
    pub address: IpAddr,
    /// Times in ns, rising, and the mean signal-to-noise ratio at each in hundredths of a dB; linear
    /// between them, level before the first and after the last. At least one.
    pub snr_centidb: Vec<(u64, i32)>,
}

/// What is not exact about the host.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Host {
    /// How late a timer fires.
    pub timer_late: Distribution,
    /// What a packet that leaves costs the processor.
    pub packet_cost: Distribution,
}

/// Times of which one is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// Always this.
    Constant(u64),
    /// Any whole number of nanoseconds from the first to the last, each as likely.
    Uniform(u64, u64),
    /// A measured histogram: lower edges in ascending order, with counts. Within a bucket, all are
    /// as likely; the last bucket is its edge.
    Histogram(Vec<(u64, u64)>),
}

impl Default for Distribution {
    fn default() -> Self {
        Self::Constant(0)
    }
}

/// Flows of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The name in outputs.
    pub name: String,
    /// What the packets' headers say, and whose they are. Of a range, each flow has one.
    pub headers: Match,
    /// How many flows of this kind; 1 of a capture, which has as many as its packets say.
    pub flows: u32,
    /// When they begin, and end; `None`: never.
    pub start_ns: u64,
    /// See above.
    pub stop_ns: Option<u64>,
    /// A packet's layer 2 frame, as the kernel counts it: without checksum.
    pub frame_bytes: u32,
    /// Whether it comes from another host, and no socket of this one is pushed back.
    pub is_forwarded: bool,
    /// What senders say about marks.
    pub ecn: Ecn,
    /// The nice value of the sending task, for a class behind the gate; of this host only.
    pub nice: i8,
    /// When packets come.
    pub kind: Kind,
}

/// A task that wants the sending processor, and rests, in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Its nice value: of those that want to, the least runs.
    pub nice: i8,
    /// The mean period in which it wants to run, exponential.
    pub work_ns: u64,
    /// The mean pause, exponential.
    pub rest_ns: u64,
}

/// A packet's ECN field as its sender sets it (RFC 3168).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Packets are not marked, but dropped.
    #[default]
    Not,
    /// A sender that reduces its window once in a round trip.
    Ect0,
    /// An L4S sender (RFC 9331).
    Ect1,
}

/// When packets of a flow come. Rates count bytes as the link does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Whenever fewer than so many packets of the flow are queued.
    Backlog {
        /// So many.
        packets: u32,
    },
    /// At equal distances.
    Cbr {
        /// Of each flow.
        rate_bps: u64,
    },
    /// At exponential distances.
    Poisson {
        /// In the mean, of each flow.
        rate_bps: u64,
    },
    /// At equal distances in periods whose lengths are drawn.
    OnOff(Periods),
    /// One packet, an answer after a round trip, and a pause.
    Request {
        /// From the wire to the answer.
        rtt_ns: u64,
        /// The mean pause, exponential.
        think_ns: u64,
    },
    /// As a congestion window allows.
    Tcp(Connection),
    /// As they were captured; all of them are of other hosts.
    Capture {
        /// In pcap or pcapng.
        file: PathBuf,
        /// TCP packets that are longer are split into frames of this length.
        frame_bytes: Option<u32>,
    },
}

/// Periods of sending, and pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periods {
    /// In a period.
    pub rate_bps: u64,
    /// The mean length of periods.
    pub on_ns: u64,
    /// The mean length of pauses, which are exponential.
    pub off_ns: u64,
    /// The shape of Pareto's distribution times 1000; `None`: periods are exponential.
    pub shape_milli: Option<u64>,
}

/// A connection's sender and path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// How the window grows.
    pub control: Control,
    /// The round trip without queues.
    pub rtt_ns: u64,
    /// What is sent before a pause; `None`: no end.
    pub transfer_bytes: Option<u64>,
    /// The mean pause, exponential.
    pub think_ns: u64,
    /// The source's flows begin their next transfers when the last ones of all have arrived;
    /// `None`: each by itself.
    pub together: Option<Together>,
}

/// Transfers that begin together, as where one client asks many servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Together {
    /// How much later each flow begins than the one before it.
    pub apart_ns: u64,
}

/// A congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// RFC 9438.
    Cubic,
    /// RFC 5681.
    Reno,
    /// The first version of BBR.
    Bbr,
    /// RFC 8257. Its packets are of ECT(0).
    Dctcp,
}

impl Source {
    /// Whether it always has more to send.
    pub fn is_greedy(&self) -> bool {
        match self.kind {
            Kind::Backlog { .. } => true,
            Kind::Tcp(connection) => connection.transfer_bytes.is_none(),
            _ => false,
        }
    }
}

impl Traffic {
    pub(crate) fn new(read: traffic::ReadTraffic, text: Text) -> Self {
        Self {
            device: read.device,
            host: read.host,
            stations: read.stations,
            measure_after_ns: read.measure_after_ns,
            sources: read.sources,
            tasks: read.tasks,
            text,
        }
    }

    /// Has the relative paths in the file start at `folder`, where it is.
    fn stands_in(&mut self, folder: &Path) {
        for source in &mut self.sources {
            if let Kind::Capture { file, .. } = &mut source.kind {
                *file = folder.join(&file);
            }
        }
    }

    /// The file's name, as it was given.
    pub fn name(&self) -> &str {
        self.text.name()
    }
}

/// Parses and checks a traffic file. `name` is the file's name in messages. Reports every error it
/// finds, up to a bound; never looks at the host, nor at captures.
pub fn parse(name: &str, text: &str) -> Result<Traffic, Diagnostics> {
    if text.len() > POLICY_MAX_BYTES {
        return Err(Diagnostics::of_file(name, too_large(name)));
    }
    let source = Text::new(name, text);
    let mut findings = Findings::default();
    let read = traffic::read(text, &source, &mut findings);
    findings.conclude(&source)?;
    Ok(Traffic::new(read, source))
}

/// The JSON schema of a traffic file, for editors.
pub fn json_schema() -> Value {
    schema::titled("Takt traffic", &traffic::FILE)
}

/// Reads and parses a traffic file, or standard input, which is `-`. The relative paths in it start
/// at its folder, or at the current one.
pub fn load(path: &Path) -> Result<Traffic, Diagnostics> {
    let mut traffic = parse(&path.display().to_string(), &read_text(path)?)?;
    traffic.stands_in(path.parent().unwrap_or(Path::new("")));
    Ok(traffic)
}

/// Where a source is named.
pub(crate) struct Named<'a> {
    pub name: &'a str,
    pub span: Span,
}
