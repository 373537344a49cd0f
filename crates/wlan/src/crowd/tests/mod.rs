//! Terminals, and an aggregator, on a wire that is a list.

use std::net::{Ipv4Addr, SocketAddr};

use proptest::prelude::*;

use super::{
    report::{REPORT_BYTES, Report},
    sum::{self, ENTRIES_MAX, Entry, Head, SUM_MAX_BYTES, SUM_MIN_BYTES},
    *,
};
use crate::sealed::{BODY_MAX_BYTES, DATAGRAM_MAX_BYTES, Key, Purpose, Sender};

mod liar;
mod spoiled;
mod stranger_counter;

const INTERVAL_NS: u64 = 200_000_000;
const MS_NS: u64 = 1_000_000;
const AGGREGATOR: u64 = 1 << 32;

fn key() -> Key {
    Key::new(&[7; Key::BYTES]).of_group("air")
}

fn own(number: u64) -> Own {
    Own {
        key: key(),
        number,
        epoch: 1,
        interval_ns: INTERVAL_NS,
    }
}

/// A member's address.
fn place(number: u64) -> SocketAddr {
    let ip = match number {
        AGGREGATOR => Ipv4Addr::new(192, 0, 2, 1),
        _ => Ipv4Addr::from_bits(0x0a00_0000 + number as u32),
    };
    SocketAddr::from((ip, 7642))
}

fn terminal(number: u64) -> Terminal {
    Terminal::new(0, own(number), Terms::default(), 0)
}

fn told_terminal(number: u64) -> Terminal {
    let terms = Terms {
        aggregator: Some(place(AGGREGATOR)),
        ..Terms::default()
    };
    Terminal::new(0, own(number), terms, 0)
}

fn gets(rate_bytes_ps: u32) -> Activity {
    Activity {
        rate_bytes_ps,
        flows: 1,
        lends: false,
        competes: false,
        rtt_ratio_q8: 300,
        wait_us: 0,
        radio: Radio::default(),
    }
}

/// The next report.
fn said(terminal: &mut Terminal, now_ns: u64) -> Option<Vec<u8>> {
    let mut datagram = [0; DATAGRAM_MAX_BYTES];
    let sealed = terminal.report(now_ns, 1 << 31, &mut datagram);
    sealed.map(<[u8]>::to_vec)
}

fn told(aggregator: &mut Aggregator, now_ns: u64) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    aggregator.tell(now_ns, 1 << 31, |datagram| all.push(datagram.to_vec()));
    all
}

fn numbers(terminal: &Terminal) -> Vec<u64> {
    terminal.members().map(|(number, _)| number).collect()
}

#[test]
fn terminals_hear_each_other_and_share() {
    let mut all: Vec<_> = (1..=3).map(terminal).collect();
    for period in 0..10 {
        let now_ns = period * INTERVAL_NS;
        for from in 0..all.len() {
            all[from].period(now_ns, gets(1_000_000 * (from as u32 + 1)));
            let Some(datagram) = said(&mut all[from], now_ns) else {
                continue;
            };
            for (to, terminal) in all.iter_mut().enumerate() {
                // The access point returns its own report.
                let heard = terminal.hear(now_ns, place(from as u64 + 1), &datagram);
                assert_eq!(heard, to != from);
            }
        }
    }
    assert_eq!(numbers(&all[1]), [1, 3]);
    // With 2 MB/s, it counts others up to 4; the first one, with 1 MB/s, up to 2.
    assert_eq!(all[1].group().share_bytes_ps(), 2_000_000);
    assert_eq!(all[0].group().share_bytes_ps(), 5_000_000 / 3);
    assert_eq!(all[1].group().users(), 3);
    assert_eq!(all[1].datagrams(2).heard, 20);
}

#[test]
fn a_queue_is_kept_for_aggregates() {
    let sends = |phy_mbps: u64| Activity {
        radio: Radio {
            phy_bps: phy_mbps * 1_000_000,
            retries_q10: 0,
        },
        ..gets(1_000_000)
    };
    let queue_us = |own_mbps, other_mbps: [u64; 2]| {
        let mut first = terminal(1);
        for (number, phy_mbps) in (2..).zip(other_mbps) {
            let mut other = terminal(number);
            other.period(0, sends(phy_mbps));
            let report = said(&mut other, 200_000_000).unwrap();
            assert!(first.hear(0, place(number), &report));
        }
        first.period(0, sends(own_mbps)).sum().queue_us
    };
    assert_eq!(queue_us(54, [54, 54]), 0);
    assert_eq!(queue_us(65, [54, 54]), 0);
    assert_eq!(queue_us(65, [65, 54]), 6000 + 3 * 2000);
    // A wire has no such rate.
    assert_eq!(queue_us(0, [0, 0]), 0);
}

#[test]
fn a_member_silent_for_three_intervals_is_gone() {
    let (mut one, mut other) = (terminal(1), terminal(2));
    other.period(0, gets(1));
    let datagram = said(&mut other, 0).unwrap();
    // Clocks may differ.
    let now_ns = 1 << 50;
    assert!(one.hear(now_ns, place(2), &datagram));
    // An interval may be a fifth longer than its mean.
    let gone_ns = now_ns + 3 * INTERVAL_NS * 6 / 5;
    one.period(gone_ns, gets(1000));
    assert_eq!((numbers(&one), one.group().users()), (vec![2], 2));
    one.period(gone_ns + 1, gets(1000));
    assert_eq!((numbers(&one), one.group().users()), (vec![], 1));
    assert_eq!(one.group().share_bytes_ps(), 1000);
}

#[test]
fn an_idle_terminal_says_so_once_and_is_silent() {
    let mut one = terminal(1);
    let mut at = |activity, period| {
        one.period(period * INTERVAL_NS, activity);
        said(&mut one, period * INTERVAL_NS)
    };
    assert_eq!(at(Activity::default(), 0), None);
    assert_eq!(at(Activity::default(), 1), None);
    let report = at(gets(1000), 2).unwrap();
    let last = at(Activity::default(), 3).unwrap();
    assert_eq!(at(Activity::default(), 4), None);

    let mut other = terminal(2);
    assert!(other.hear(0, place(1), &report));
    assert_eq!(numbers(&other), [1]);
    assert!(other.hear(INTERVAL_NS, place(1), &last));
    assert!(numbers(&other).is_empty());
    // And one whose taktd ends.
    one.period(5 * INTERVAL_NS, gets(1000));
    assert!(said(&mut one, 5 * INTERVAL_NS).is_some());
    let mut datagram = [0; DATAGRAM_MAX_BYTES];
    assert!(one.leave(&mut datagram).is_some());
    assert!(one.leave(&mut datagram).is_none());
}

#[test]
fn an_aggregator_tells_all_of_all() {
    let mut aggregator = Aggregator::new(0, own(AGGREGATOR), 0);
    let count = 2 * ENTRIES_MAX as u64 + 1;
    let mut all: Vec<_> = (0..count).map(told_terminal).collect();
    for terminal in &mut all {
        let number = terminal.number();
        terminal.period(0, gets(1000 + number as u32));
        let report = said(terminal, 0).unwrap();
        assert!(aggregator.hear(0, place(number), &report));
        // With an aggregator, terminals do not listen to each other.
        assert!(!told_terminal(500).hear(0, place(number), &report));
    }
    let sums = told(&mut aggregator, INTERVAL_NS);
    assert_eq!(sums.len(), 3);
    for terminal in &mut all {
        for sum in &sums {
            assert!(
                !terminal.hear(INTERVAL_NS, place(500), sum),
                "from elsewhere"
            );
        }
        let mut fresh = told_terminal(terminal.number());
        for sum in &sums {
            assert!(fresh.hear(INTERVAL_NS, place(AGGREGATOR), sum));
        }
        let others: Vec<_> = (0..count).filter(|n| *n != terminal.number()).collect();
        assert_eq!(numbers(&fresh), others);
    }
    // The aggregator falls silent, and every terminal is alone.
    let mut one = told_terminal(500);
    assert!(one.hear(INTERVAL_NS, place(AGGREGATOR), &sums[0]));
    one.period(2 * INTERVAL_NS, gets(1000));
    assert_eq!(one.group().users(), ENTRIES_MAX as u64 + 1);
    one.period(60 * INTERVAL_NS, gets(1000));
    assert_eq!(one.group().users(), 1);
    // There is no sum without members.
    assert_eq!(
        told(&mut aggregator, 60 * INTERVAL_NS),
        Vec::<Vec<u8>>::new()
    );
}

/// An access point's count of strangers holds as long as its sums come.
#[test]
fn strangers_are_told_of() {
    let mut aggregator = Aggregator::new(0, own(AGGREGATOR), 0);
    let mut one = told_terminal(1);
    one.period(0, gets(1000));
    assert!(aggregator.hear(0, place(1), &said(&mut one, 0).unwrap()));
    aggregator.count_strangers(Strangers {
        count: 2,
        rate_bytes_ps: 5000,
    });
    let sums = told(&mut aggregator, INTERVAL_NS);
    assert!(one.hear(INTERVAL_NS, place(AGGREGATOR), &sums[0]));
    let group = one.period(2 * INTERVAL_NS, gets(1000)).sum();
    assert_eq!((group.strangers, group.stranger_rate), (2, 5000));
    assert_eq!(one.strangers(), Some(aggregator.strangers()));
    assert!(!one.period(5 * INTERVAL_NS, gets(1000)).has_strangers());
    assert_eq!(one.strangers(), Some(Strangers::default()));
}

#[test]
fn so_many_are_known() {
    let mut one = terminal(1000);
    let come = |one: &mut Terminal, now_ns, number| {
        let mut other = terminal(number);
        other.period(now_ns, gets(1));
        one.hear(now_ns, place(number), &said(&mut other, now_ns).unwrap())
    };
    let now = |number: u64| number * 2 * MS_NS;
    for number in 0..MEMBERS_MAX as u64 {
        assert!(come(&mut one, now(number), number));
    }
    assert!(!come(&mut one, now(256), 256));
    assert_eq!(numbers(&one).len(), MEMBERS_MAX);
    // More members report less often.
    assert!(one.report_interval_ns() > 8_000_000_000);
    one.period(now(256) + 3 * INTERVAL_NS * 6 / 5, gets(1));
    assert!(come(&mut one, now(600), 257));
}

proptest! {
    #[test]
    fn what_is_said_is_read(
        number: u64,
        rate_bytes_ps: u32,
        flows in 0..=Activity::FLOWS_MAX,
        (lends, competes) in any::<(bool, bool)>(),
        codes: [u8; 4],
        strangers: u16,
        within_ms: u16,
        count in 0..=ENTRIES_MAX,
    ) {
        // What codes stand for is said exactly.
        let [wait, ratio, phy, retries] = codes;
        let coded = Activity::from_bytes([0, 0, 0, 0, 0, 0, wait, ratio, phy, retries]);
        let activity = Activity { rate_bytes_ps, flows, lends, competes, ..coded };
        let report = Report { activity, within_ms };
        prop_assert_eq!(Report::from_bytes(&report.to_bytes()), Some(report));
        let entry = |n: usize| Entry { number: number.wrapping_add(n as u64), activity };
        let entries: Vec<_> = (0..count).map(entry).collect();
        let mut body = [0; BODY_MAX_BYTES];
        let strangers = Strangers { count: strangers, rate_bytes_ps };
        let head = Head { within_ms, strangers };
        let body = sum::write(head, entries.iter().copied(), &mut body);
        prop_assert!(count == 0 || (SUM_MIN_BYTES..=SUM_MAX_BYTES).contains(&body.len()));
        let (read_head, read) = sum::read(body).unwrap();
        prop_assert_eq!((read_head, read.collect::<Vec<_>>()), (head, entries));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        match Report::from_bytes(&bytes) {
            Some(report) => prop_assert_eq!(&report.to_bytes()[..], &bytes[..]),
            None => prop_assert_ne!(bytes.len(), REPORT_BYTES),
        }
        if let Some((_, entries)) = sum::read(&bytes) {
            prop_assert_eq!(entries.count() * 18 + 8, bytes.len());
        }
    }

    /// No two members send at the same times repeatedly, nor more often than the air allows.
    #[test]
    fn times_differ_and_keep_to_the_interval(randoms in prop::collection::vec(any::<u32>(), 2..200)) {
        let mut beat = beat::Beat::new(0, INTERVAL_NS, randoms[0]);
        prop_assert!(beat.due_ns() < INTERVAL_NS);
        for random in &randoms {
            let now_ns = beat.due_ns();
            prop_assert!(now_ns == 0 || !beat.strikes(now_ns - 1, INTERVAL_NS, *random));
            prop_assert!(beat.strikes(now_ns, INTERVAL_NS, *random));
            let wait_ns = beat.due_ns() - now_ns;
            prop_assert!((INTERVAL_NS * 4 / 5..INTERVAL_NS * 6 / 5).contains(&wait_ns));
            prop_assert!(wait_ns <= u64::from(beat::within_ms(INTERVAL_NS)) * MS_NS);
        }
    }
}
