use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use super::*;
use crate::Rate;

const INTERVAL_NS: u64 = 200_000_000;
const BODY_BYTES: usize = 20;
const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fn key() -> Key {
    Key::new(&[7; 32])
}

fn receiver() -> Receiver {
    receiver_of(key())
}

fn receiver_of(key: Key) -> Receiver {
    let rate = Rate::once_per(INTERVAL_NS);
    Receiver::new(key, Purpose::RADIO, BODY_BYTES..=BODY_BYTES, rate)
}

fn sender(sender: u64, epoch: u64) -> Sender {
    Sender::new(key(), Purpose::RADIO, sender, epoch)
}

fn next(sender: &mut Sender, body: [u8; BODY_BYTES]) -> Vec<u8> {
    let mut datagram = [0; DATAGRAM_MAX_BYTES];
    sender.seal(&body, &mut datagram).unwrap().to_vec()
}

fn open(receiver: &mut Receiver, now_ns: u64, datagram: &[u8]) -> Result<(u64, Vec<u8>), Rejected> {
    open_from(receiver, now_ns, HOME, datagram)
}

fn open_from(
    receiver: &mut Receiver,
    now_ns: u64,
    source: IpAddr,
    datagram: &[u8],
) -> Result<(u64, Vec<u8>), Rejected> {
    let mut body = [0; BODY_MAX_BYTES];
    let opened = receiver.open(now_ns, source, datagram, &mut body)?;
    Ok((opened.sender, opened.body.to_vec()))
}

/// A member's address.
fn place(member: u64) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + member as u32))
}

#[test]
fn what_a_member_says_is_heard_once() {
    let (mut receiver, mut sender) = (receiver(), sender(5, 1));
    let first = next(&mut sender, [1; BODY_BYTES]);
    assert_eq!(open(&mut receiver, 0, &first), Ok((5, vec![1; BODY_BYTES])));
    assert_eq!(open(&mut receiver, 0, &first), Err(Rejected::Replayed));
    let second = next(&mut sender, [2; BODY_BYTES]);
    assert_ne!(first, second);
    assert_eq!(open(&mut receiver, 0, &second), Err(Rejected::TooFast));
    let third = next(&mut sender, [3; BODY_BYTES]);
    assert_eq!(
        open(&mut receiver, INTERVAL_NS, &third),
        Ok((5, vec![3; BODY_BYTES]))
    );
    assert_eq!(
        open(&mut receiver, 2 * INTERVAL_NS, &second),
        Err(Rejected::Replayed)
    );
    assert_eq!(
        (receiver.counters().taken, receiver.counters().replayed),
        (2, 2)
    );
}

#[test]
fn datagrams_may_overtake_each_other() {
    let (mut receiver, mut sender) = (receiver(), sender(5, 1));
    let sent: Vec<_> = (0..3).map(|n| next(&mut sender, [n; BODY_BYTES])).collect();
    for (now, n) in [2, 0, 1].into_iter().enumerate() {
        let now_ns = now as u64 * INTERVAL_NS;
        assert_eq!(
            open(&mut receiver, now_ns, &sent[n]),
            Ok((5, vec![n as u8; BODY_BYTES]))
        );
    }
}

#[test]
fn a_sender_that_starts_anew_is_heard_and_its_past_is_not() {
    let mut receiver = receiver();
    let (mut old, mut new) = (sender(5, 10), sender(5, 11));
    let before = next(&mut old, [1; BODY_BYTES]);
    assert!(open(&mut receiver, 0, &before).is_ok());
    // It cannot have restarted just now: it was heard.
    let early = next(&mut new, [2; BODY_BYTES]);
    assert_eq!(
        open(&mut receiver, INTERVAL_NS, &early),
        Err(Rejected::OldEpoch)
    );
    assert!(open(&mut receiver, 2 * INTERVAL_NS, &early).is_ok());
    let late = next(&mut old, [3; BODY_BYTES]);
    for now in 3..1000 {
        for datagram in [&before, &late] {
            assert_eq!(
                open(&mut receiver, now * INTERVAL_NS, datagram),
                Err(Rejected::OldEpoch)
            );
        }
    }
}

#[test]
fn another_key_and_another_purpose_are_not_this_one() {
    let mut receiver = receiver();
    let body = [1; BODY_BYTES];
    let mut other_key = Sender::new(Key::new(&[8; 32]), Purpose::RADIO, 5, 1);
    assert_eq!(
        open(&mut receiver, 0, &next(&mut other_key, body)),
        Err(Rejected::Forged)
    );
    let mut other_purpose = Sender::new(key(), Purpose::CROWD, 5, 1);
    let mut datagram = next(&mut other_purpose, body);
    assert_eq!(open(&mut receiver, 0, &datagram), Err(Rejected::Malformed));
    datagram[3] = Purpose::RADIO.0;
    assert_eq!(open(&mut receiver, 0, &datagram), Err(Rejected::Forged));
}

/// Groups with one key, or with names that begin alike.
#[test]
fn another_group_is_not_this_one() {
    let names = ["", "lab", "lab-wlan", "wlan"];
    for (own, other) in names.iter().flat_map(|own| names.map(|other| (own, other))) {
        let mut receiver = receiver_of(key().of_group(own));
        let mut sender = Sender::new(key().of_group(other), Purpose::RADIO, 5, 1);
        let opened = open(&mut receiver, 0, &next(&mut sender, [1; BODY_BYTES]));
        assert_eq!(opened.is_ok(), *own == other, "{own} hears {other}");
    }
}

#[test]
fn bodies_of_several_lengths_are_told_apart() {
    let rate = Rate::new(INTERVAL_NS, 8);
    let mut receiver = Receiver::new(key(), Purpose::CROWD_SUM, 2..=4, rate);
    let mut sender = Sender::new(key(), Purpose::CROWD_SUM, 5, 1);
    for length in 0..6 {
        let mut datagram = [0; DATAGRAM_MAX_BYTES];
        let sealed = sender.seal(&[7; 6][..length], &mut datagram).unwrap();
        let expected = match length {
            2..=4 => Ok((5, vec![7; length])),
            _ => Err(Rejected::Malformed),
        };
        assert_eq!(open(&mut receiver, 0, sealed), expected);
    }
}

#[test]
fn what_does_not_fit_is_not_sealed() {
    let mut datagram = [0; DATAGRAM_MAX_BYTES];
    assert!(
        sender(5, 1)
            .seal(&[0; BODY_MAX_BYTES], &mut datagram)
            .is_some()
    );
    assert!(
        sender(5, 1)
            .seal(&[0; BODY_MAX_BYTES + 1], &mut datagram)
            .is_none()
    );
    let mut last = sender(5, 1);
    last.seal_last_but_one();
    assert!(last.seal(&[0], &mut datagram).is_some());
    assert!(last.seal(&[0], &mut datagram).is_none());
}

/// A million a second, from everywhere: a bounded number is checked, and members are heard.
#[test]
fn a_flood_has_a_bounded_cost_and_silences_no_known_sender() {
    let mut receiver = receiver();
    let mut members: Vec<_> = (0..20).map(|n| sender(n, 1)).collect();
    let mut intruder = Sender::new(Key::new(&[8; 32]), Purpose::RADIO, 99, 1);
    let forged = next(&mut intruder, [0; BODY_BYTES]);
    for (member, n) in members.iter_mut().zip(0..) {
        let datagram = next(member, [1; BODY_BYTES]);
        assert!(open_from(&mut receiver, 0, place(n), &datagram).is_ok());
    }
    let taken = receiver.counters().taken;
    let mut body = [0; BODY_MAX_BYTES];
    for n in 0..1_000_000u64 {
        let now_ns = INTERVAL_NS + n * 1000;
        let source = IpAddr::V4(Ipv4Addr::from_bits(n.wrapping_mul(2_654_435_761) as u32));
        let _ = receiver.open(now_ns, source, &forged, &mut body);
        if n % 200_000 == 0 {
            for member in &mut members {
                assert!(open(&mut receiver, now_ns, &next(member, [1; BODY_BYTES])).is_ok());
            }
        }
    }
    let counters = receiver.counters();
    assert_eq!(counters.taken - taken, 5 * 20);
    assert_eq!(counters.forged + counters.flood, 1_000_000);
    assert!(counters.forged <= 1100, "{counters:?}");
}

/// One flooding source does not delay a station that joins now.
#[test]
fn one_source_does_not_keep_others_out() {
    let mut receiver = receiver();
    let mut intruder = Sender::new(Key::new(&[8; 32]), Purpose::RADIO, 99, 1);
    let forged = next(&mut intruder, [0; BODY_BYTES]);
    let mut body = [0; BODY_MAX_BYTES];
    for n in 0..100_000u64 {
        let _ = receiver.open(n * 10_000, HOME, &forged, &mut body);
    }
    assert!(receiver.counters().forged <= 20);
    // By chance they may share a bucket; not all of them do.
    let heard = (0..50u8).filter(|n| {
        let datagram = next(&mut sender((*n).into(), 1), [1; BODY_BYTES]);
        let source = IpAddr::from([198, 51, 100, *n]);
        receiver
            .open(1_000_000_000, source, &datagram, &mut body)
            .is_ok()
    });
    assert!(heard.count() >= 45);
}

/// Copies of a member's next datagram, with the rest made up, cost only that member.
#[test]
fn copies_of_one_members_datagrams_silence_no_other() {
    let mut receiver = receiver();
    let (mut one, mut other) = (sender(1, 1), sender(2, 1));
    for member in [&mut one, &mut other] {
        assert!(open(&mut receiver, 0, &next(member, [1; BODY_BYTES])).is_ok());
    }
    let mut guess = next(&mut one, [1; BODY_BYTES]);
    guess[HEADER_BYTES] ^= 1;
    for n in 0..100_000u64 {
        assert!(open(&mut receiver, n * 10_000, &guess).is_err());
    }
    assert!(receiver.counters().forged <= 8 + 20);
    assert!(
        open(
            &mut receiver,
            1_000_000_000,
            &next(&mut other, [1; BODY_BYTES])
        )
        .is_ok()
    );
}

#[test]
fn senders_are_remembered_as_long_as_there_is_room() {
    let mut receiver = receiver();
    let now = |n: u64| n * 2_000_000;
    let mut come = |now_ns, n, epoch| {
        let datagram = next(&mut sender(n, epoch), [0; BODY_BYTES]);
        open_from(&mut receiver, now_ns, place(n), &datagram)
    };
    for n in 0..1024 {
        assert!(come(now(n), n, 1).is_ok());
    }
    assert_eq!(come(now(1024), 5000, 1), Err(Rejected::Full));
    // The sender that was silent longest made room.
    assert!(come(now(1) + 60_000_000_000, 5000, 2).is_ok());
    assert_eq!(receiver.known_count(), 1024);
}

#[derive(Debug, Clone)]
enum Spoil {
    Flip(usize),
    Cut(usize),
    Grow(Vec<u8>),
    Replay,
    Wild(Vec<u8>),
}

fn spoil() -> impl Strategy<Value = Spoil> {
    prop_oneof![
        4 => any::<usize>().prop_map(Spoil::Flip),
        1 => any::<usize>().prop_map(Spoil::Cut),
        1 => prop::collection::vec(any::<u8>(), 1..400).prop_map(Spoil::Grow),
        1 => Just(Spoil::Replay),
        1 => prop::collection::vec(any::<u8>(), 0..400).prop_map(Spoil::Wild),
    ]
}

proptest! {
    #[test]
    fn what_was_not_sealed_is_not_heard(
        spoils in prop::collection::vec((spoil(), any::<bool>()), 1..60),
        step_ns in 0..INTERVAL_NS,
    ) {
        let (mut receiver, mut sender) = (receiver(), sender(5, 1));
        let (mut now_ns, mut last) = (0, next(&mut sender, [0; BODY_BYTES]));
        open(&mut receiver, now_ns, &last).unwrap();
        for (spoil, from_next) in spoils {
            now_ns += step_ns;
            let mut datagram = if from_next {
                next(&mut sender, [9; BODY_BYTES])
            } else {
                last.clone()
            };
            match spoil {
                Spoil::Flip(bit) => {
                    let bit = bit % (datagram.len() * 8);
                    datagram[bit / 8] ^= 1 << (bit % 8);
                }
                Spoil::Cut(length) => datagram.truncate(length % datagram.len()),
                Spoil::Grow(more) => datagram.extend(more),
                Spoil::Replay => datagram = last.clone(),
                Spoil::Wild(bytes) => datagram = bytes,
            }
            prop_assert!(open(&mut receiver, now_ns, &datagram).is_err());
        }
        // And the genuine sender is heard as before.
        last = next(&mut sender, [4; BODY_BYTES]);
        prop_assert_eq!(open(&mut receiver, now_ns + INTERVAL_NS, &last), Ok((5, vec![4; BODY_BYTES])));
    }

    #[test]
    fn one_sender_is_heard_once_per_interval(waits_ns in prop::collection::vec(0..INTERVAL_NS, 1..200)) {
        let (mut receiver, mut sender) = (receiver(), sender(5, 1));
        let (mut now_ns, mut heard) = (0, 0);
        for wait_ns in waits_ns {
            now_ns += wait_ns;
            let datagram = next(&mut sender, [0; BODY_BYTES]);
            heard += u64::from(open(&mut receiver, now_ns, &datagram).is_ok());
            prop_assert!(heard <= now_ns / INTERVAL_NS + 2);
        }
    }
}
