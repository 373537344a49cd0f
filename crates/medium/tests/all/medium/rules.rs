//! 802.11's rules, to the microsecond.

use takt_medium::{
    Action, Frame, Input, Medium, NodeId, Outcome, Profile, RateChoice, Receiver, Refused, SnrPath,
};

use super::{US, all, at_us, network};

const ACCESS_POINT: NodeId = Medium::ACCESS_POINT;
const PERFECT: i32 = 8000;
const HOPELESS: i32 = -3000;
/// 1536 bytes at 11 Mbit/s after a long preamble.
const DATA_US: u64 = 192 + 1118;
/// 14 bytes at 2 Mbit/s.
const ACK_US: u64 = 192 + 56;

#[test]
fn a_frame_goes_at_once_if_the_air_was_idle_for_difs() {
    let mut medium = network(still(Profile::dot11b_long()), &[PERFECT]);
    send(
        &mut medium,
        500 * US,
        ACCESS_POINT,
        Receiver::Node(NodeId(1)),
        7,
    );
    let actions = all(&mut medium);
    let end_us = 500 + DATA_US;
    let (at_ns, done_ns) = (end_us * US, (end_us + 10 + ACK_US) * US);
    let outcome = Outcome::Acknowledged;
    let deliver = Action::Deliver {
        at_ns,
        from: ACCESS_POINT,
        to: NodeId(1),
        token: 7,
    };
    let done = Action::Done {
        at_ns: done_ns,
        from: ACCESS_POINT,
        token: 7,
        outcome,
        air_ns: done_ns - 500 * US,
    };
    assert_eq!(actions, [deliver, done]);
    assert_eq!(medium.busy_ns(), done_ns - 500 * US);
}

#[test]
fn the_next_frame_waits_for_the_backoff_after_the_last() {
    let mut medium = network(still(Profile::dot11b_long()), &[PERFECT]);
    let mut waits = Vec::new();
    let mut now_us = 500;
    for token in 0..200 {
        send(
            &mut medium,
            now_us * US,
            ACCESS_POINT,
            Receiver::Node(NodeId(1)),
            token,
        );
        let actions = all(&mut medium);
        waits.push(at_us(&actions[0]) - now_us - DATA_US);
        now_us = at_us(&actions[1]);
    }
    assert_eq!(waits[0], 0);
    // DIFS and 0 to 31 slots of 20 us.
    assert!(
        waits[1..]
            .iter()
            .all(|wait| (wait - 50) % 20 == 0 && (wait - 50) / 20 <= 31)
    );
    assert!(waits.contains(&50) && waits.contains(&(50 + 31 * 20)));
}

#[test]
fn a_backoff_goes_on_without_a_frame() {
    let mut medium = network(still(Profile::dot11b_long()), &[PERFECT]);
    send(
        &mut medium,
        500 * US,
        ACCESS_POINT,
        Receiver::Node(NodeId(1)),
        0,
    );
    let free_us = at_us(&all(&mut medium)[1]);
    // Longer than any first backoff.
    let later_us = free_us + 50 + 31 * 20 + 1;
    send(
        &mut medium,
        later_us * US,
        ACCESS_POINT,
        Receiver::Node(NodeId(1)),
        1,
    );
    assert_eq!(at_us(&all(&mut medium)[0]), later_us + DATA_US);
}

#[test]
fn a_node_that_starts_within_a_slot_collides_and_a_later_one_waits() {
    let collisions = |after_us: u64| {
        let mut medium = network(still(Profile::dot11b_long()), &[PERFECT; 2]);
        for (station, at_us) in [(1, 500), (2, 500 + after_us)] {
            send(
                &mut medium,
                at_us * US,
                NodeId(station),
                Receiver::Node(ACCESS_POINT),
                at_us,
            );
        }
        let actions = all(&mut medium);
        assert_eq!(actions.len(), 4);
        medium.air(NodeId(1)).unwrap().collisions
    };
    assert!(collisions(0) > 0 && collisions(19) > 0);
    // Both could draw the same number, but not with this seed.
    assert_eq!([collisions(20), collisions(500)], [0, 0]);
}

#[test]
fn a_broadcast_goes_once_to_everyone_at_the_slowest_basic_rate() {
    let mut medium = network(still(Profile::dot11b_long()), &[PERFECT, HOPELESS, PERFECT]);
    send(&mut medium, 500 * US, ACCESS_POINT, Receiver::Everyone, 7);
    let actions = all(&mut medium);
    let at_ns = (500 + 192 + 1536 * 8) * US;
    let deliver = |station| Action::Deliver {
        at_ns,
        from: ACCESS_POINT,
        to: NodeId(station),
        token: 7,
    };
    let outcome = Outcome::Unacknowledged;
    let done = Action::Done {
        at_ns,
        from: ACCESS_POINT,
        token: 7,
        outcome,
        air_ns: at_ns - 500 * US,
    };
    assert_eq!(actions, [deliver(1), deliver(3), done]);
}

#[test]
fn stations_send_everything_to_the_access_point() {
    for to in [
        Receiver::Everyone,
        Receiver::Node(NodeId(2)),
        Receiver::Node(ACCESS_POINT),
    ] {
        let mut medium = network(still(Profile::dot11g()), &[PERFECT; 2]);
        send(&mut medium, 0, NodeId(1), to, 7);
        let actions = all(&mut medium);
        assert!(
            matches!(
                actions[0],
                Action::Deliver {
                    to: ACCESS_POINT,
                    ..
                }
            ),
            "{actions:?}"
        );
        assert!(
            matches!(
                actions[..],
                [
                    _,
                    Action::Done {
                        outcome: Outcome::Acknowledged,
                        ..
                    }
                ]
            ),
            "{actions:?}"
        );
    }
}

#[test]
fn an_unheard_frame_is_sent_seven_times_in_ever_longer_windows() {
    let mut total_us = 0;
    const ROUNDS: u64 = 300;
    for seed in 0..ROUNDS {
        let mut medium = Medium::new(still(Profile::wavelan()), seed);
        let station = medium.add_station(SnrPath::constant(HOPELESS));
        send(
            &mut medium,
            500 * US,
            ACCESS_POINT,
            Receiver::Node(station),
            7,
        );
        let actions = all(&mut medium);
        let [
            Action::Done {
                at_ns,
                outcome: Outcome::Dropped,
                ..
            },
        ] = actions[..]
        else {
            panic!("{actions:?}");
        };
        let air = medium.air(station).unwrap();
        assert_eq!((air.attempts, air.losses, air.collisions), (7, 7, 0));
        total_us += at_ns / US - 500;
    }
    // Seven frames and time-outs, six DIFS and backoffs.
    let frames = 7 * (192 + 1536 * 4 + 10 + 20 + 192) + 6 * 50;
    let backoffs = 20 * (63 + 127 + 255 + 511 + 1023 + 1023) / 2;
    let expected = (frames + backoffs) as f64;
    let mean = total_us as f64 / ROUNDS as f64;
    assert!(
        (mean / expected - 1.0).abs() < 0.02,
        "{mean} not {expected}"
    );
}

#[test]
fn what_cannot_be_is_refused() {
    let mut medium = network(Profile::wavelan(), &[PERFECT]);
    let frame = |to| Frame {
        token: 1,
        bytes: 100,
        to: Receiver::Node(NodeId(to)),
    };
    let mut transmit = |from, to| {
        medium.handle(
            0,
            Input::Transmit {
                from: NodeId(from),
                frame: frame(to),
            },
        )
    };
    assert_eq!(transmit(0, 2), Err(Refused::Unknown(NodeId(2))));
    assert_eq!(transmit(0, 0), Err(Refused::Unknown(NodeId(0))));
    assert_eq!(transmit(2, 0), Err(Refused::Unknown(NodeId(2))));
    assert_eq!(transmit(0, 1), Ok(()));
    assert_eq!(transmit(0, 1), Err(Refused::Occupied(NodeId(0))));
    let rate = Input::Rate {
        station: NodeId(1),
        choice: RateChoice::Fixed(1),
    };
    assert_eq!(medium.handle(0, rate), Err(Refused::NoRate(1)));
    assert_eq!(
        medium.snr_centidb(0, NodeId(0)),
        Err(Refused::Unknown(NodeId(0)))
    );
}

#[test]
fn rates_follow_the_snr() {
    let took_ns = |snr| {
        let mut medium = network(still(Profile::dot11b_long()), &[snr]);
        send(&mut medium, 0, ACCESS_POINT, Receiver::Node(NodeId(1)), 7);
        all(&mut medium);
        let air = medium.air(NodeId(1)).unwrap();
        air.busy_ns / air.attempts
    };
    let took: Vec<u64> = [PERFECT, 600, 350, 250].into_iter().map(took_ns).collect();
    assert!(took.is_sorted() && took[0] < took[3], "{took:?}");
}

fn still(profile: Profile) -> Profile {
    Profile {
        fading: None,
        ..profile
    }
}

fn send(medium: &mut Medium, at_ns: u64, from: NodeId, to: Receiver, token: u64) {
    let frame = Frame {
        token,
        bytes: 1514,
        to,
    };
    medium
        .handle(at_ns, Input::Transmit { from, frame })
        .unwrap();
}
