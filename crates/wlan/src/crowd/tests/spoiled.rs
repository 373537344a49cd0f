//! Datagrams that no member sealed, or sealed for another time, change nothing.

use super::*;

#[derive(Debug, Clone)]
enum Come {
    /// A member's next datagram with one bit changed.
    Changed(usize),
    Cut(usize),
    Longer(Vec<u8>),
    /// One that it sent before.
    Again,
    /// With another key, or in another group.
    Forged(u64, Vec<u8>),
    OtherGroup(Vec<u8>),
    Wild(Vec<u8>),
}

fn come() -> impl Strategy<Value = Come> {
    let bytes = |most: usize| prop::collection::vec(any::<u8>(), 0..most);
    prop_oneof![
        4 => any::<usize>().prop_map(Come::Changed),
        1 => any::<usize>().prop_map(Come::Cut),
        1 => bytes(300).prop_map(Come::Longer),
        2 => Just(Come::Again),
        2 => (0..5u64, bytes(256)).prop_map(|(number, body)| Come::Forged(number, body)),
        1 => bytes(256).prop_map(Come::OtherGroup),
        2 => bytes(400).prop_map(Come::Wild),
    ]
}

/// The sender for the tested receiver.
fn sender(aggregated: bool, key: Key, number: u64) -> Sender {
    let purpose = if aggregated {
        Purpose::CROWD_SUM
    } else {
        Purpose::CROWD
    };
    Sender::new(key, purpose, number, 1)
}

fn seal(sender: &mut Sender, body: &[u8]) -> Vec<u8> {
    let mut datagram = [0; DATAGRAM_MAX_BYTES];
    sender.seal(body, &mut datagram).unwrap().to_vec()
}

proptest! {
    #[test]
    fn nothing_is_different_after_what_no_member_sent(
        aggregated: bool,
        all in prop::collection::vec((come(), any::<bool>()), 1..60),
    ) {
        let mut terminal = if aggregated {
            told_terminal(1)
        } else {
            terminal(1)
        };
        let body = if aggregated {
            let entry = Entry { number: 2, activity: gets(1000) };
            let head = Head { within_ms: 60_000, ..Head::default() };
            sum::write(head, std::iter::once(entry), &mut [0; BODY_MAX_BYTES]).to_vec()
        } else {
            Report { activity: gets(1000), within_ms: 60_000 }.to_bytes().to_vec()
        };
        let number = if aggregated { AGGREGATOR } else { 2 };
        let from = place(number);
        let mut member = sender(aggregated, key(), number);
        let first = seal(&mut member, &body);
        prop_assert!(terminal.hear(0, from, &first));
        let expected = terminal.period(0, gets(1000));
        let mut aggregator = Aggregator::new(0, own(AGGREGATOR), 0);
        for ((come, is_next), n) in all.into_iter().zip(1..) {
            let base = if is_next {
                seal(&mut member, &body)
            } else {
                first.clone()
            };
            let datagram = match come {
                Come::Changed(bit) => {
                    let (mut datagram, bit) = (base.clone(), bit % (base.len() * 8));
                    datagram[bit / 8] ^= 1 << (bit % 8);
                    datagram
                }
                Come::Cut(length) => base[..length % base.len()].to_vec(),
                Come::Longer(more) if more.is_empty() => continue,
                Come::Longer(more) => [base, more].concat(),
                Come::Again => first.clone(),
                Come::Forged(number, body) => {
                    let other = Key::new(&[9; Key::BYTES]).of_group("air");
                    seal(&mut sender(aggregated, other, number), &body)
                }
                Come::OtherGroup(body) => {
                    let other = Key::new(&[7; Key::BYTES]).of_group("wire");
                    seal(&mut sender(aggregated, other, number), &body)
                }
                Come::Wild(bytes) => bytes,
            };
            let now_ns = n * MS_NS;
            prop_assert!(!terminal.hear(now_ns, from, &datagram));
            prop_assert!(aggregated || !aggregator.hear(now_ns, from, &datagram) || datagram == first);
            let group = terminal.period(0, gets(1000));
            prop_assert_eq!(group.users(), expected.users());
            prop_assert_eq!(group.share_bytes_ps(), expected.share_bytes_ps());
        }
        // And the member is heard as before.
        prop_assert!(terminal.hear(INTERVAL_NS, from, &seal(&mut member, &body)));
    }

    /// Sealed nonsense: no member results, and no panic.
    #[test]
    fn a_member_may_say_anything(bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..257), 1..40)) {
        let mut heard = [terminal(1), told_terminal(1)];
        let mut aggregator = Aggregator::new(0, own(AGGREGATOR), 0);
        for (body, n) in bodies.into_iter().zip(1..) {
            let now_ns = n * INTERVAL_NS;
            let body = &body[..body.len().min(BODY_MAX_BYTES)];
            for aggregated in [false, true] {
                let mut sender = sender(aggregated, key(), n);
                let datagram = seal(&mut sender, body);
                for terminal in &mut heard {
                    terminal.hear(now_ns, place(AGGREGATOR), &datagram);
                    let group = terminal.period(now_ns, gets(1000));
                    prop_assert!(group.share_bytes_ps() <= 2000);
                }
                aggregator.hear(now_ns, place(n), &datagram);
            }
            for sum in told(&mut aggregator, now_ns) {
                heard[1].hear(now_ns, place(AGGREGATOR), &sum);
            }
        }
    }
}
