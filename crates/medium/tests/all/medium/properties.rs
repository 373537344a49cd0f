//! Properties for any frames at any times.

use proptest::prelude::*;
use takt_medium::{
    Action, Frame, Input, NodeId, Outcome, Profile, RateChoice, Receiver, SnrPath,
    rate_control::{Amrr, Arf, Chain, Minstrel},
};

use super::{all, at_us, network};

#[derive(Debug, Clone)]
enum Step {
    Send { node: u16, to: u16, bytes: u32 },
    Wait { ns: u64 },
    Move { station: u16, snr: i32 },
}

const STATIONS: u16 = 4;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..=STATIONS, 0..=STATIONS, 1u32..1600)
            .prop_map(|(node, to, bytes)| Step::Send { node, to, bytes }),
        3 => (0u64..100_000).prop_map(|ns| Step::Wait { ns }),
        2 => (0u64..20_000_000).prop_map(|ns| Step::Wait { ns }),
        1 => (1..=STATIONS, -1000..3000).prop_map(|(station, snr)| Step::Move { station, snr }),
    ];
    proptest::collection::vec(step, 1..80)
}

/// Drives it through `steps`, polling at every `tick_ns` too if there are any.
fn drive(profile: Profile, steps: &[Step], tick_ns: Option<u64>) -> (Vec<Action>, usize) {
    let mut medium = network(profile, &[1500, 500, 800, 0]);
    let mut actions = Vec::new();
    let (mut now_ns, mut sent) = (0, 0);
    for step in steps {
        match *step {
            Step::Send { node, to, bytes } => {
                let to = if to == 0 {
                    Receiver::Everyone
                } else {
                    Receiver::Node(NodeId(to))
                };
                let frame = Frame {
                    token: sent as u64,
                    bytes,
                    to,
                };
                let from = NodeId(node);
                let is_taken = medium
                    .handle(now_ns, Input::Transmit { from, frame })
                    .is_ok();
                sent += usize::from(is_taken);
            }
            Step::Move { station, snr } => {
                let path = SnrPath::constant(snr);
                medium
                    .handle(
                        now_ns,
                        Input::Path {
                            station: NodeId(station),
                            path,
                        },
                    )
                    .unwrap();
            }
            Step::Wait { ns } => {
                let until_ns = now_ns + ns;
                loop {
                    let next_ns = tick_ns.map_or(until_ns, |tick_ns| now_ns + tick_ns);
                    now_ns = next_ns.min(until_ns);
                    actions.extend(std::iter::from_fn(|| medium.poll(now_ns)));
                    if now_ns == until_ns {
                        break;
                    }
                }
            }
        }
    }
    actions.extend(all(&mut medium));
    (actions, sent)
}

/// All profiles, and 802.11g under each control.
fn profiles() -> Vec<Profile> {
    let under = |rate_choice| Profile {
        rate_choice,
        ..Profile::dot11g()
    };
    let mut profiles = Profile::all();
    profiles.extend([
        under(RateChoice::Chain(Chain::down_from(7, 2))),
        under(RateChoice::Amrr(Amrr::MADWIFI)),
        under(RateChoice::Arf(Arf::WAVELAN_II)),
        under(RateChoice::Minstrel(Minstrel::LEGACY)),
    ]);
    profiles
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Jumping over idle slots gives the same result as visiting each of them, and the same
    /// inputs give the same outputs.
    #[test]
    fn how_often_it_is_asked_changes_nothing(steps in steps()) {
        for profile in profiles() {
            let jumped = drive(profile.clone(), &steps, None);
            let ticked = drive(profile, &steps, Some(7001));
            prop_assert_eq!(jumped, ticked);
        }
    }

    /// Every frame ends with one Done, in order of time; nothing arrives twice or after that,
    /// and an acknowledged frame did arrive.
    #[test]
    fn every_frame_comes_to_an_end(steps in steps()) {
        for profile in profiles() {
            let (actions, sent) = drive(profile, &steps, None);
            let mut done = vec![false; sent];
            let mut delivered = std::collections::HashSet::new();
            let mut last_us = 0;
            for action in &actions {
                prop_assert!(at_us(action) >= last_us);
                last_us = at_us(action);
                match *action {
                    Action::Deliver { to, token, .. } => {
                        prop_assert!(!done[token as usize] && delivered.insert((token, to)));
                    }
                    Action::Done { token, outcome, .. } => {
                        prop_assert!(!std::mem::replace(&mut done[token as usize], true));
                        let has_arrived = delivered.iter().any(|&(of, _)| of == token);
                        prop_assert!(outcome != Outcome::Acknowledged || has_arrived);
                    }
                }
            }
            prop_assert!(done.iter().all(|&is_done| is_done));
        }
    }

    /// There is no action before the wake time.
    #[test]
    fn it_wakes_in_time(steps in steps()) {
        for profile in profiles() {
            let mut medium = network(profile, &[1500, 500, 800, 0]);
            let mut now_ns = 0;
            for (token, step) in steps.iter().enumerate() {
                if let Step::Send { node, to, bytes } = *step {
                    let to = if to == 0 { Receiver::Everyone } else { Receiver::Node(NodeId(to)) };
                    let frame = Frame { token: token as u64, bytes, to };
                    let _ = medium.handle(now_ns, Input::Transmit { from: NodeId(node), frame });
                }
                if let Some(wake_ns) = medium.wake_ns() {
                    prop_assert!(wake_ns >= now_ns);
                    if wake_ns > now_ns {
                        prop_assert_eq!(medium.clone().poll(wake_ns - 1), None);
                    }
                    now_ns = now_ns.max(wake_ns.min(now_ns + 3_000_000));
                    while medium.poll(now_ns).is_some() {}
                }
            }
        }
    }
}
