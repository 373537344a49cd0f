//! The device of an access point: frames go over the air of `crates/medium` to stations, which may
//! be near or far.
//!
//! The driver takes a frame when the radio has room for it. With aggregation that is one more while
//! frames to the same station are on the air; one to another station is kept until they are done.
//!
//! Left out: stations send nothing but acknowledgements of frames and, if the policy's source of
//! strengths is their reports, those. Answers to requests and acknowledgements of TCP arrive without
//! taking the air.

use takt_medium::{Action, Air as Taken, Frame, Input, Medium, NodeId, Profile, Receiver, SnrPath};
use takt_policy::traffic::Station;

use crate::{figures::Passage, packet::Packet};

/// Tokens of stations' reports; those of frames are below.
const REPORTS: u64 = 1 << 63;
/// A datagram of 76 bytes with the headers of UDP, IPv4 and Ethernet (docs/radio.md).
const REPORT_BYTES: u32 = 76 + 8 + 20 + 14;
const NS_PER_S: u64 = 1_000_000_000;

/// What the air has done with a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ended {
    /// It arrived.
    Arrived(Passage),
    /// It was repeated as often as the radio repeats a frame, and no answer came.
    Lost(Packet),
    /// It was a station's report, and arrived.
    Reported { station: usize },
}

#[derive(Debug, Clone, Copy)]
struct OnAir {
    passage: Passage,
    station: usize,
    has_arrived: bool,
}

/// What a station has had since the figures began.
#[derive(Debug, Clone, Default)]
struct Count {
    taken: Taken,
    delivered_bytes: u64,
    each_second_bytes: Vec<u64>,
    lost_packets: u64,
}

/// A station's figures.
#[derive(Debug, Clone)]
pub(crate) struct OfStation {
    pub delivered_bytes: u64,
    pub each_second_bytes: Vec<u64>,
    pub lost_packets: u64,
    pub busy_ns: u64,
}

/// An access point's radio.
pub(crate) struct Air {
    medium: Medium,
    has_aggregates: bool,
    overhead_bytes: u32,
    stations: Vec<NodeId>,
    /// By token; finished ones free their place.
    frames: Vec<OnAir>,
    free_tokens: Vec<u64>,
    /// Taken, while frames to another station are on the air.
    kept: Option<u64>,
    counts: Vec<Count>,
    busy_before_ns: u64,
    from_ns: u64,
    /// When there is something to hear.
    next_ns: u64,
}

impl Air {
    pub fn new(profile: Profile, stations: &[Station], overhead_bytes: u32, seed: u64) -> Self {
        let has_aggregates = profile.aggregation.is_some();
        let mut medium = Medium::new(profile, seed);
        let ids = stations.iter().map(|station| {
            let path = SnrPath::once(station.snr_centidb.clone());
            // A traffic file has points with rising times.
            medium.add_station(path.unwrap_or_else(|_| SnrPath::constant(0)))
        });
        let ids: Vec<NodeId> = ids.collect();
        Self {
            medium,
            has_aggregates,
            overhead_bytes,
            counts: vec![Count::default(); ids.len()],
            stations: ids,
            frames: Vec::new(),
            free_tokens: Vec::new(),
            kept: None,
            busy_before_ns: 0,
            from_ns: 0,
            next_ns: u64::MAX,
        }
    }

    /// A frame's bytes as figures count them.
    pub fn bytes(&self, frame_bytes: u32) -> u32 {
        frame_bytes + self.overhead_bytes
    }

    /// Whether it takes no frame at present.
    pub fn is_stopped(&self) -> bool {
        self.kept.is_some() || !(self.has_aggregates || self.medium.is_free(Medium::ACCESS_POINT))
    }

    /// When to hear it next; `u64::MAX`: not before it takes a frame.
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Takes a frame for this station. Precondition: it is not stopped.
    pub fn take(&mut self, station: usize, passage: Passage, now_ns: u64) {
        let frame = OnAir {
            passage,
            station,
            has_arrived: false,
        };
        let token = self.free_tokens.pop().unwrap_or(self.frames.len() as u64);
        match self.frames.get_mut(token as usize) {
            Some(place) => *place = frame,
            None => self.frames.push(frame),
        }
        self.kept = Some(token);
        self.pass_on(now_ns);
    }

    /// The frame that was taken goes to the radio, if that has room.
    fn pass_on(&mut self, now_ns: u64) {
        let Some(token) = self.kept else {
            return;
        };
        let OnAir {
            station, passage, ..
        } = self.frames[token as usize];
        let to = Receiver::Node(self.stations[station]);
        if self.medium.has_room(Medium::ACCESS_POINT, to) {
            self.kept = None;
            let frame = Frame {
                token,
                bytes: passage.packet.bytes,
                to,
            };
            let from = Medium::ACCESS_POINT;
            let taken = self.medium.handle(now_ns, Input::Transmit { from, frame });
            debug_assert_eq!(taken, Ok(()));
        }
        self.next_ns = self.medium.wake_ns().unwrap_or(u64::MAX);
    }

    /// What has become of a frame by now. Call it until there is no more.
    pub fn poll(&mut self, now_ns: u64) -> Option<Ended> {
        while let Some(action) = self.medium.poll(now_ns) {
            match action {
                Action::Deliver { token, .. } if token >= REPORTS => {
                    let station = (token - REPORTS) as usize;
                    return Some(Ended::Reported { station });
                }
                Action::Done { token, .. } if token >= REPORTS => {}
                Action::Deliver { at_ns, token, .. } => return Some(self.arrive(token, at_ns)),
                Action::Done { token, .. } => {
                    let frame = self.frames[token as usize];
                    self.free_tokens.push(token);
                    if !frame.has_arrived {
                        self.counts[frame.station].lost_packets += 1;
                        return Some(Ended::Lost(frame.passage.packet));
                    }
                }
            }
        }
        self.pass_on(now_ns);
        self.next_ns = self.medium.wake_ns().unwrap_or(u64::MAX);
        None
    }

    fn arrive(&mut self, token: u64, at_ns: u64) -> Ended {
        let frame = &mut self.frames[token as usize];
        frame.has_arrived = true;
        frame.passage.start_ns = at_ns;
        frame.passage.end_ns = at_ns;
        let count = &mut self.counts[frame.station];
        let bytes = u64::from(frame.passage.wire_bytes);
        count.delivered_bytes += bytes;
        let second = (at_ns.saturating_sub(self.from_ns) / NS_PER_S) as usize;
        if count.each_second_bytes.len() <= second {
            count.each_second_bytes.resize(second + 1, 0);
        }
        count.each_second_bytes[second] += bytes;
        Ended::Arrived(frame.passage)
    }

    /// The strength that a station's card reads now, in hundredths of a dB.
    pub fn listen_centidb(&mut self, station: usize, now_ns: u64) -> i32 {
        let sample = self
            .medium
            .sample_snr_centidb(now_ns, self.stations[station]);
        self.next_ns = self.medium.wake_ns().unwrap_or(u64::MAX);
        // All stations are known.
        sample.unwrap_or_default()
    }

    /// A station reports its strength. If it has not sent the report before, it sends none.
    pub fn report(&mut self, station: usize, now_ns: u64) {
        let from = self.stations[station];
        if !self.medium.is_free(from) {
            return;
        }
        let frame = Frame {
            token: REPORTS + station as u64,
            bytes: REPORT_BYTES,
            to: Receiver::Node(Medium::ACCESS_POINT),
        };
        let taken = self.medium.handle(now_ns, Input::Transmit { from, frame });
        debug_assert_eq!(taken, Ok(()));
        self.next_ns = self.medium.wake_ns().unwrap_or(u64::MAX);
    }

    /// The figures begin.
    pub fn measure(&mut self, now_ns: u64) {
        self.from_ns = now_ns;
        self.busy_before_ns = self.medium.busy_ns();
        for (count, station) in self.counts.iter_mut().zip(&self.stations) {
            *count = Count {
                taken: self.medium.air(*station).unwrap_or_default(),
                ..Count::default()
            };
        }
    }

    /// For how long the air was taken since then.
    pub fn busy_ns(&self) -> u64 {
        self.medium.busy_ns() - self.busy_before_ns
    }

    /// For how long frames of each station have taken it since the beginning.
    pub fn busy_of_stations_ns(&self) -> impl Iterator<Item = u64> {
        let air = |station| self.medium.air(station).unwrap_or_default().busy_ns;
        self.stations.iter().map(move |station| air(*station))
    }

    /// Of each station, since then.
    pub fn figures(&self) -> Vec<OfStation> {
        let all = self.counts.iter().zip(&self.stations);
        let all = all.map(|(count, station)| OfStation {
            delivered_bytes: count.delivered_bytes,
            each_second_bytes: count.each_second_bytes.clone(),
            lost_packets: count.lost_packets,
            busy_ns: self.medium.air(*station).unwrap_or_default().busy_ns - count.taken.busy_ns,
        });
        all.collect()
    }
}
