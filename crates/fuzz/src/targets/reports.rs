//! Datagrams from the air: of strangers, who have no key, and of members, whose bodies may be
//! anything.
//!
//! An input is a list of datagrams: who sends it, its length, and its bytes.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use takt_algo::SocTerms;
use takt_policy::parse;
use takt_wlan::{
    Rate,
    crowd::{Activity, Aggregator, Own, Terminal, Terms},
    radio::{REPORT_BYTES, Report, Stations, terms_of},
    sealed::{BODY_MAX_BYTES, DATAGRAM_MAX_BYTES, Key, Purpose, Receiver, Sender},
};

const STEP_NS: u64 = 50_000_000;
const INTERVAL_NS: u64 = 200_000_000;
const FROM: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)), 7642);
const POLICY: &str = "[link.a]\nrate = \"1mbit\"\n[radio]\nkey_file = \"k\"\n";

fn key() -> Key {
    Key::new(&[7; Key::BYTES])
}

fn own(number: u64) -> Own {
    Own {
        key: key(),
        number,
        epoch: 1,
        interval_ns: INTERVAL_NS,
    }
}

/// All that hear the air.
struct Air {
    access_point: Receiver,
    stations: Stations,
    terminal: Terminal,
    aggregated: Terminal,
    aggregator: Aggregator,
}

impl Air {
    fn new(terms: SocTerms) -> Self {
        let bodies = REPORT_BYTES..=REPORT_BYTES;
        let by = Terms {
            aggregator: Some(FROM),
            ..Terms::default()
        };
        Self {
            access_point: Receiver::new(key(), Purpose::RADIO, bodies, Rate::new(STEP_NS, 2)),
            stations: Stations::new(terms),
            terminal: Terminal::new(0, own(1), Terms::default(), 0),
            aggregated: Terminal::new(0, own(2), by, 0),
            aggregator: Aggregator::new(0, own(3), 0),
        }
    }

    fn hear(&mut self, now_ns: u64, datagram: &[u8]) {
        let mut body = [0; BODY_MAX_BYTES];
        let opened = self
            .access_point
            .open(now_ns, FROM.ip(), datagram, &mut body);
        let mut actions = Vec::new();
        if let Some(report) = opened
            .ok()
            .and_then(|opened| Report::from_bytes(opened.body))
        {
            assert_eq!(Report::from_bytes(&report.to_bytes()), Some(report));
            let _ = self.stations.hear(now_ns, &report.sample(), &mut actions);
        }
        self.stations.tick(now_ns, false, &mut actions);
        self.terminal.hear(now_ns, FROM, datagram);
        self.aggregated.hear(now_ns, FROM, datagram);
        self.aggregator.hear(now_ns, FROM, datagram);
        let mut random = now_ns as u32;
        for terminal in [&mut self.terminal, &mut self.aggregated] {
            terminal.period(now_ns, Activity::default());
            let _ = terminal.report_interval_ns();
            random += 1;
        }
        self.aggregator.tell(now_ns, random, |_| {});
    }
}

pub fn run(bytes: &[u8]) {
    let Some(radio) = parse("p.toml", POLICY).ok().and_then(|policy| policy.radio) else {
        return;
    };
    let mut air = Air::new(terms_of(&radio));
    let member = |purpose, number| Sender::new(key(), purpose, number, 1);
    let mut members = [
        member(Purpose::RADIO, 11),
        member(Purpose::CROWD, 12),
        member(Purpose::CROWD_SUM, 3),
    ];
    let (mut rest, mut now_ns) = (bytes, 0);
    while let Some(([who, length], after)) = rest.split_first_chunk() {
        now_ns += STEP_NS;
        let (said, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        let mut datagram = [0; DATAGRAM_MAX_BYTES];
        let sealed = members
            .get_mut(usize::from(*who))
            .and_then(|member| member.seal(said, &mut datagram));
        air.hear(now_ns, sealed.unwrap_or(said));
    }
}
