//! A terminal with takt: the law for each of its uploads, as `bpf/crowd` runs it, and its part in
//! the group, as taktd has it.

use std::net::{Ipv4Addr, SocketAddr};

use takt_algo::{Download, DownloadSample, Flow, FlowSample, Group, RoundTrips, WindowTerms};
use takt_wlan::{
    crowd::{Activity, Counts, Downloads, Meter, Own, Radio, RadioMeter, Terminal, Terms},
    sealed::{DATAGRAM_MAX_BYTES, Key},
};

use crate::{
    SEGMENT_BYTES, Setup,
    tcp::{Receiver, Sender},
};

/// Between two reports, and two bounds: the default of a policy.
pub(crate) const PERIOD_NS: u64 = 200_000_000;
/// What was heard of a group counts for so many periods.
const STALE_PERIODS: u64 = 3;
const PORT: u16 = 7642;

/// One upload's measurements and bounds.
#[derive(Default)]
pub(crate) struct Bounded {
    flow: Flow,
    trips: RoundTrips,
    since_ns: u64,
    delivered: u64,
    lost: u64,
    /// Targets, in 1/1024 segments, for the figures.
    pub targets_q10: Vec<u64>,
}

/// Terminals that belong to no group, as the access point counts them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Strangers {
    pub count: u32,
    pub rate_bytes_ps: u64,
}

pub(crate) struct Member {
    terms: WindowTerms,
    core: Terminal,
    meter: Meter,
    counts: Counts,
    radio: Radio,
    radio_meter: RadioMeter,
    group: Group,
    heard_ns: u64,
    own_flows: u32,
    downloads: Downloads,
    from: SocketAddr,
}

impl Member {
    pub fn new(number: usize, setup: &Setup, random: u32) -> Self {
        let terms = WindowTerms::new(
            setup.standing_segments,
            WindowTerms::MEMORY_SHIFT,
            setup.window_max,
        );
        let own = Own {
            key: Key::new(&[7; Key::BYTES]).of_group("model"),
            number: number as u64 + 1,
            epoch: 1,
            interval_ns: PERIOD_NS,
        };
        let of_group = Terms {
            aggregator: None,
            window: terms,
            aggregates: setup.aggregates,
            remembered_bytes_ps: setup.terminals[number].remembered_bytes_ps,
        };
        Self {
            terms,
            core: Terminal::new(0, own, of_group, random),
            meter: Meter::default(),
            counts: Counts::default(),
            radio: Radio::default(),
            radio_meter: RadioMeter::default(),
            group: Group::default(),
            heard_ns: 0,
            own_flows: 1,
            downloads: Downloads::default(),
            from: SocketAddr::from((Ipv4Addr::from_bits(0x0a00_0001 + number as u32), PORT)),
        }
    }

    /// An acknowledgement of an upload came.
    pub fn acked(&mut self, now_ns: u64, bounded: &mut Bounded, sender: &mut Sender) {
        if let Some(rtt_ns) = sender.last_round_trip_ns() {
            let us = |ns: u64| (ns / 1000).min(u32::MAX.into()) as u32;
            let half_us = bounded.trips.add(now_ns, us(rtt_ns), us(sender.srtt_ns()));
            if let Some(stand_us) = half_us {
                self.begin(now_ns, stand_us, bounded, sender);
            }
        }
        let passed_ns = now_ns - bounded.since_ns;
        let waits = !bounded.trips.is_measured() && passed_ns < STALE_PERIODS * PERIOD_NS;
        if passed_ns < PERIOD_NS || waits {
            return;
        }
        if bounded.since_ns > 0 {
            self.update(now_ns, bounded, sender);
        }
        bounded.trips.forget();
        bounded.since_ns = now_ns;
        bounded.delivered = sender.delivered();
        bounded.lost = sender.lost_total();
    }

    /// What was heard of the group, and how many flows of this terminal share its part.
    fn heard(&self, now_ns: u64) -> (Group, u32) {
        if now_ns - self.heard_ns <= STALE_PERIODS * PERIOD_NS {
            (self.group, self.own_flows)
        } else {
            (Group::default(), 1)
        }
    }

    fn begin(&self, now_ns: u64, stand_us: u32, bounded: &mut Bounded, sender: &mut Sender) {
        let (group, own_flows) = self.heard(now_ns);
        let sample = FlowSample {
            stand_us: stand_us.into(),
            rtt_min_us: sender.rtt_min_ns() / 1000,
            mss_bytes: SEGMENT_BYTES,
            window: sender.window() as u32,
            own_flows,
            starting: u32::from(sender.is_starting()),
            ..FlowSample::default()
        };
        if let Some(bounds) = bounded.flow.begin(&self.terms, &group, &sample) {
            sender.upper = f64::from(bounds.upper());
        }
    }

    fn update(&mut self, now_ns: u64, bounded: &mut Bounded, sender: &mut Sender) {
        let passed_us = (now_ns - bounded.since_ns) / 1000;
        let delivered = sender.delivered() - bounded.delivered;
        let lost = sender.lost_total() - bounded.lost;
        let bytes = delivered * u64::from(SEGMENT_BYTES);
        let (group, own_flows) = self.heard(now_ns);
        let sample = FlowSample {
            rate: bytes * 1_000_000 / passed_us.max(1),
            rtt_us: bounded.trips.mean_us(),
            stand_us: bounded.trips.standing_us(),
            rtt_min_us: sender.rtt_min_ns() / 1000,
            mss_bytes: SEGMENT_BYTES,
            window: sender.window() as u32,
            own_flows,
            sent: (delivered + lost) as u32,
            lost: lost as u32,
            limited: u32::from(sender.take_limited()),
            // Sockets of this model have no rates of their own.
            pacing_rate: 0,
            // Flows of this model always have more to send.
            backlogged: 1,
            starting: u32::from(sender.is_starting()),
        };
        let bounds = bounded.flow.update(&self.terms, &group, &sample);
        bounded.targets_q10.push(bounded.flow.target_q10());
        sender.lower = f64::from(bounds.lower());
        sender.upper = f64::from(bounds.upper());
        self.counts.delivered_bytes += bytes;
        self.counts.passed_us += passed_us;
        if Flow::uses(&group, &sample) {
            self.counts.limited_us += passed_us;
        }
        if sample.rtt_us > 0 {
            self.counts.rtt_sum_us += sample.rtt_us;
            self.counts.rtt_min_sum_us += sample.rtt_min_us;
            self.counts.stand_sum_us += sample.stand_us;
            self.counts.rtt_count += 1;
        }
    }

    /// What the driver counted so far.
    pub fn look(&mut self, frames: u64, retries: u64, phy_bps: u64) {
        self.radio = self.radio_meter.read(frames, retries, phy_bps);
    }

    /// taktd's period is over; returns the datagram to send to all, if one is due.
    pub fn period(&mut self, now_ns: u64, random: u32, strangers: Strangers) -> Option<Vec<u8>> {
        let measured = self.meter.read(now_ns, self.counts);
        let activity = Activity {
            radio: self.radio,
            ..measured.activity
        };
        self.group = self.core.period(now_ns, activity);
        self.group
            .set_strangers(strangers.count, strangers.rate_bytes_ps);
        self.own_flows = measured.limited_flows.max(1).into();
        self.heard_ns = now_ns;
        let mut datagram = [0; DATAGRAM_MAX_BYTES];
        let sealed = self.core.report(now_ns, random, &mut datagram);
        sealed.map(<[u8]>::to_vec)
    }

    /// After it: bounds what these receive, as taktd has the kernel do.
    pub fn bound_downloads<'a>(
        &mut self,
        now_ns: u64,
        received: impl Iterator<Item = (&'a mut Download, &'a mut Receiver, u64)>,
    ) {
        let (group, own_flows) = self.downloads.terms(&self.group);
        let (mut flows, mut rate_bytes_ps) = (0, 0);
        for (download, receiver, handshake_ns) in received {
            let now = DownloadSample {
                now_ns,
                period_ns: PERIOD_NS,
                received_bytes: receiver.delivered() * u64::from(SEGMENT_BYTES),
                rtt_us: receiver.rtt_us(),
                handshake_us: (handshake_ns / 1000) as u32,
                mss_bytes: SEGMENT_BYTES,
                own_flows,
            };
            let downloaded = download.update(&self.terms, &group, &now);
            receiver.clamp = downloaded.window_bytes / u64::from(SEGMENT_BYTES);
            flows += u32::from(downloaded.limited_bytes_ps.is_some());
            rate_bytes_ps += downloaded.limited_bytes_ps.unwrap_or(0);
        }
        self.downloads.received(&self.group, flows, rate_bytes_ps);
    }

    pub fn hear(&mut self, now_ns: u64, from: SocketAddr, datagram: &[u8]) {
        self.core.hear(now_ns, from, datagram);
    }

    pub fn address(&self) -> SocketAddr {
        self.from
    }
}
