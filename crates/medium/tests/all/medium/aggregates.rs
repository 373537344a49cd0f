//! Several frames in one transmission.

use proptest::prelude::*;
use takt_medium::{
    Action, Aggregation, Frame, Input, Medium, NodeId, Outcome, Profile, RateChoice, Receiver,
    Refused,
};

use super::{US, all, at_us, network};

const PERFECT: i32 = 8000;
const STATION: NodeId = NodeId(1);
/// 20 us, HT-SIG 8, HT-STF 4, HT-LTF 4, and the extension.
const HT_US: u64 = 36 + 6;

fn profile(frames_max: u32) -> Profile {
    let today = Profile::today();
    Profile {
        fading: None,
        rate_choice: RateChoice::Fixed(7),
        aggregation: today.aggregation.map(|aggregation| Aggregation {
            frames_max,
            ..aggregation
        }),
        ..today
    }
}

fn send(
    medium: &mut Medium,
    now_ns: u64,
    from: NodeId,
    to: NodeId,
    token: u64,
) -> Result<(), Refused> {
    let frame = Frame {
        token,
        bytes: 1514,
        to: Receiver::Node(to),
    };
    medium.handle(now_ns, Input::Transmit { from, frame })
}

#[test]
fn frames_for_one_receiver_share_a_transmission() {
    let mut medium = network(profile(64), &[PERFECT; 2]);
    // The first is on the air already when the others come.
    for token in 0..4 {
        send(&mut medium, 500 * US, Medium::ACCESS_POINT, STATION, token).unwrap();
    }
    let other = send(&mut medium, 500 * US, Medium::ACCESS_POINT, NodeId(2), 4);
    assert_eq!(other, Err(Refused::Occupied(Medium::ACCESS_POINT)));
    let actions = all(&mut medium);
    let (first, together) = actions.split_at(2);
    assert!(matches!(first[1], Action::Done { token: 0, .. }));
    // 1538 bytes, a delimiter and filling are 1544, and 65 Mbit/s 260 bits a symbol.
    let data_us = HT_US + (3 * 1544u64 * 8 + 22).div_ceil(260) * 4;
    // 32 bytes at 26 Mbit/s.
    let answer_us = 10 + HT_US + (32u64 * 8 + 22).div_ceil(104) * 4;
    let (delivered, done) = together.split_at(3);
    let arrival_us = at_us(&delivered[0]);
    let backoff_us = arrival_us - data_us - at_us(&first[1]) - 37;
    assert!(backoff_us.is_multiple_of(9) && backoff_us <= 15 * 9);
    assert!(delivered.iter().all(|action| at_us(action) == arrival_us));
    for (token, action) in (1..).zip(done) {
        let expected = Action::Done {
            at_ns: (arrival_us + answer_us) * US,
            from: Medium::ACCESS_POINT,
            token,
            outcome: Outcome::Acknowledged,
            air_ns: data_us * US / 3 + answer_us * US / 3,
        };
        assert_eq!(*action, expected);
    }
    assert_eq!(medium.air(STATION).unwrap().attempts, 2);
}

#[test]
fn a_lone_frame_is_sent_and_acknowledged_as_without_aggregation() {
    let actions = |profile| {
        let mut medium = network(profile, &[PERFECT]);
        send(&mut medium, 500 * US, STATION, Medium::ACCESS_POINT, 0).unwrap();
        all(&mut medium)
    };
    let plain = Profile {
        aggregation: None,
        ..profile(64)
    };
    assert_eq!(actions(profile(64)), actions(plain));
}

#[test]
fn limits_end_an_aggregate() {
    // Transmissions of 10 frames, and the frames that were taken.
    let attempts = |change: fn(&mut Aggregation)| {
        let mut profile = profile(64);
        profile.aggregation.iter_mut().for_each(change);
        let mut medium = network(profile, &[PERFECT]);
        let taken = (0..10)
            .filter(|&token| send(&mut medium, 0, STATION, Medium::ACCESS_POINT, token).is_ok())
            .count();
        assert_eq!(all(&mut medium).len(), 2 * taken);
        (medium.air(STATION).unwrap().attempts, taken)
    };
    assert_eq!(attempts(|_| {}), (1, 10));
    assert_eq!(attempts(|aggregation| aggregation.frames_max = 4), (1, 4));
    assert_eq!(
        attempts(|aggregation| aggregation.bytes_max = 4 * 1544),
        (3, 10)
    );
    // Five of 1544 bytes take 996 us.
    let limit = |aggregation: &mut Aggregation| aggregation.duration_max_ns = 1_000_000;
    assert_eq!(attempts(limit), (2, 10));
}

/// A part of the frames is lost at 23.5 dB; a frame that arrived waits for those before it.
#[test]
fn frames_arrive_in_order_and_only_lost_ones_are_repeated() {
    let mut medium = network(profile(64), &[2350]);
    for token in 0..20 {
        send(&mut medium, 0, STATION, Medium::ACCESS_POINT, token).unwrap();
    }
    let actions = all(&mut medium);
    let arrived = |action: &Action| match action {
        Action::Deliver { token, .. } => Some(*token),
        Action::Done { .. } => None,
    };
    let tokens: Vec<u64> = actions.iter().filter_map(arrived).collect();
    assert!(tokens.is_sorted() && tokens.len() == 20, "{tokens:?}");
    let link = medium.link(STATION, takt_medium::Direction::Up).unwrap();
    assert_eq!((link.frames, link.dropped), (20, 0));
    assert!((1..20).contains(&link.retries), "{link:?}");
}

/// How many frames to send at a node, and how long to wait after that.
fn bursts() -> impl Strategy<Value = Vec<(u16, usize, u64)>> {
    proptest::collection::vec((0u16..=2, 0usize..30, 0u64..8_000_000), 1..30)
}

fn drive(bursts: &[(u16, usize, u64)], tick_ns: Option<u64>) -> (Vec<Action>, u64) {
    let profile = Profile {
        fading: Profile::today().fading,
        rate_choice: Profile::today().rate_choice,
        ..profile(16)
    };
    let mut medium = network(profile, &[2000, 1400]);
    let (mut now_ns, mut sent, mut actions) = (0, 0, Vec::new());
    for &(node, frames, wait_ns) in bursts {
        let to = NodeId(if node == 0 {
            1 + (frames % 2) as u16
        } else {
            0
        });
        for _ in 0..frames {
            sent += u64::from(send(&mut medium, now_ns, NodeId(node), to, sent).is_ok());
        }
        let until_ns = now_ns + wait_ns;
        while now_ns < until_ns {
            let next_ns = tick_ns.map_or(until_ns, |tick_ns| now_ns + tick_ns);
            now_ns = next_ns.min(until_ns);
            actions.extend(std::iter::from_fn(|| medium.poll(now_ns)));
        }
    }
    actions.extend(all(&mut medium));
    (actions, sent)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Between two nodes, frames arrive in the order of their sending, once, before their Done.
    /// Each has one Done, in that order, too. How often the medium is asked changes nothing.
    #[test]
    fn aggregates_keep_their_promises(bursts in bursts()) {
        let (actions, sent) = drive(&bursts, None);
        prop_assert_eq!(&actions, &drive(&bursts, Some(9001)).0);
        let mut last_of = std::collections::HashMap::new();
        let mut last_done = std::collections::HashMap::new();
        let mut done = std::collections::HashSet::new();
        for action in &actions {
            match *action {
                Action::Deliver { from, to, token, .. } => {
                    let last = last_of.insert((from, to), token);
                    prop_assert!(last < Some(token) && !done.contains(&token));
                }
                Action::Done { from, token, .. } => {
                    prop_assert!(done.insert(token));
                    prop_assert!(last_done.insert(from, token) < Some(token));
                }
            }
        }
        prop_assert_eq!(done.len() as u64, sent);
    }
}
