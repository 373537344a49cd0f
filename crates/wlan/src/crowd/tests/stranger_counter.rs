//! Acknowledgements at an access point, and which of their receivers are strangers.

use std::net::IpAddr;

use takt_host::thinning::Upload;

use super::*;
use crate::{Address, crowd::members::Members, number::number_of};

const LOOK_NS: u64 = 200 * MS_NS;

fn mac(n: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, n]
}

fn ip(n: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, n).into()
}

/// An access point, and its uploads that go on.
struct Point {
    counter: StrangerCounter,
    members: Members,
    now_ns: u64,
    flows: Vec<(Upload, u32)>,
}

impl Point {
    fn new() -> Self {
        Self {
            counter: StrangerCounter::default(),
            members: Members::default(),
            now_ns: 1 << 40,
            flows: Vec::new(),
        }
    }

    /// A flow of this terminal, and what it uploads between two looks.
    fn upload(&mut self, n: u8, rate_bytes_ps: u32) -> &mut Upload {
        let upload = Upload {
            flow: 1 + self.flows.len() as u64,
            mac: Some(mac(n)),
            ip: Some(ip(n)),
            // Soon it wraps.
            ack: u32::MAX - 100_000,
        };
        self.flows.push((upload, rate_bytes_ps / 5));
        &mut self.flows.last_mut().unwrap().0
    }

    /// It reports as often as a member does.
    fn join(&mut self, n: u8) {
        let number = number_of(Address::Mac(mac(n)));
        let from = Some(ip(n));
        self.members.hear(self.now_ns, number, from, gets(1), 240);
    }

    fn look(&mut self) -> Strangers {
        self.now_ns += LOOK_NS;
        self.members.expire(self.now_ns);
        for (upload, bytes) in &mut self.flows {
            upload.ack = upload.ack.wrapping_add(*bytes);
        }
        let seen: Vec<_> = self.flows.iter().map(|(upload, _)| *upload).collect();
        let members = self.members.iter();
        self.counter.look(self.now_ns, &seen, members, INTERVAL_NS)
    }

    /// After this many looks.
    fn later(&mut self, looks: u32) -> Strangers {
        (1..looks).fold(self.look(), |_, _| self.look())
    }
}

fn told(count: u16, rate_bytes_ps: u32) -> Strangers {
    Strangers {
        count,
        rate_bytes_ps,
    }
}

#[test]
fn who_uploads_and_reports_nothing_is_counted_with_its_rate() {
    let mut point = Point::new();
    point.upload(1, 500_000);
    point.upload(2, 250_000);
    // Of two flows, one by IPv6.
    point.upload(2, 250_000).ip = "2001:db8::2".parse().ok();
    point.upload(3, 1_000_000);
    assert_eq!(point.later(5), told(0, 0), "not yet");
    for _ in 0..5 {
        point.join(1);
        point.look();
    }
    assert_eq!(point.later(2), told(2, 1_500_000));
    // They end, and a second later they are gone.
    point.flows.iter_mut().for_each(|(_, bytes)| *bytes = 0);
    let rates: Vec<_> = (0..5).map(|_| point.look().rate_bytes_ps).collect();
    assert_eq!(rates, [1_200_000, 900_000, 600_000, 300_000, 0]);
    assert_eq!(point.look(), told(0, 0));
}

#[test]
fn a_member_is_none_by_either_address_nor_shortly_after() {
    let mut point = Point::new();
    point.join(1);
    point.upload(1, 500_000);
    // By IPv6, at a frame's address that the report has.
    point.upload(1, 500_000).ip = "2001:db8::1".parse().ok();
    // Behind a repeater, at an address that the report came from.
    point.upload(1, 500_000).mac = Some(mac(77));
    for _ in 0..20 {
        point.join(1);
        assert_eq!(point.look(), told(0, 0));
    }
    // Its reports end and its uploads go on: 720 ms, and 1 s.
    assert_eq!(point.later(6), told(0, 0));
    assert_eq!(point.look(), told(2, 1_500_000));
    point.join(1);
    assert_eq!(point.look(), told(0, 0));
}

#[test]
fn who_wants_little_is_none() {
    let mut point = Point::new();
    for n in 1..=4 {
        point.join(n);
        point.upload(n, 100_000);
    }
    // A fiftieth, and a quarter, of a part.
    point.upload(5, 2000);
    point.upload(6, 25_000);
    for _ in 0..20 {
        (1..=4).for_each(|n| point.join(n));
        point.look();
    }
    assert_eq!(point.look(), told(1, 25_000));
    // The others end, but this is still no upload.
    let mut quiet = Point::new();
    quiet.upload(5, 1000);
    assert_eq!(quiet.later(20), told(0, 0));
}

#[test]
fn flows_of_one_place_are_seen_in_turns_and_counted_whole() {
    let mut point = Point::new();
    point.upload(1, 400_000);
    point.upload(2, 600_000);
    let mut last = told(0, 0);
    for look in 0..40 {
        point.now_ns += LOOK_NS;
        for (upload, bytes) in &mut point.flows {
            upload.ack = upload.ack.wrapping_add(*bytes);
        }
        let seen = [point.flows[look % 2].0];
        let none = Members::default();
        last = point
            .counter
            .look(point.now_ns, &seen, none.iter(), INTERVAL_NS);
    }
    assert_eq!(last.count, 2);
    assert!(
        (800_000..=1_200_000).contains(&last.rate_bytes_ps),
        "{last:?}"
    );
}

#[test]
fn a_number_that_jumps_is_another_connections() {
    let mut point = Point::new();
    point.upload(1, 500_000);
    point.later(10);
    for jump in [1 << 31, 1 << 30, u32::MAX - 5_000_000] {
        point.flows[0].0.ack = point.flows[0].0.ack.wrapping_add(jump);
        let told = point.look();
        assert!(told.rate_bytes_ps <= 500_000, "{jump}: {told:?}");
        assert_eq!(point.later(6), self::told(1, 500_000));
    }
    // However long taktd slept.
    point.now_ns += 3_600_000_000_000;
    assert!(point.look().rate_bytes_ps <= 1_250_000_000);
}

proptest! {
    /// Whatever is read, the sum is bounded, and nothing is kept for longer than a while.
    #[test]
    fn anything_may_be_read(
        looks in prop::collection::vec(
            (0..2_000_000_000u64, prop::collection::vec((0..50u64, any::<u32>(), 0..9u8), 0..30)),
            1..60,
        ),
        member in 0..9u8,
        interval_ns: u64,
    ) {
        let mut counter = StrangerCounter::default();
        let mut now_ns = 0u64;
        for (passed_ns, seen) in looks {
            now_ns += passed_ns;
            let seen: Vec<_> = seen
                .into_iter()
                .map(|(flow, ack, n)| Upload {
                    flow,
                    mac: (n > 4).then(|| mac(n)),
                    ip: (n > 0).then(|| ip(n)),
                    ack,
                })
                .collect();
            let mut members = Members::default();
            let number = number_of(Address::Mac(mac(member)));
            members.hear(now_ns, number, Some(ip(member)), gets(1), 240);
            let told = counter.look(now_ns, &seen, members.iter(), interval_ns);
            prop_assert!(told.count <= 8);
            prop_assert_eq!(told.count == 0, told.rate_bytes_ps == 0);
        }
    }
}
