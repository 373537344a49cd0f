use proptest::prelude::*;

use super::*;

const ALICE: Caller = Caller {
    uid: 1000,
    netns_cookie: 1,
};
const BOB: Caller = Caller {
    uid: 1001,
    netns_cookie: 1,
};
const ROOT: Caller = Caller {
    uid: 0,
    netns_cookie: 1,
};

fn to(port: u32) -> Add {
    Add {
        dst: "192.0.2.10".to_owned(),
        port,
        ..Add::default()
    }
}

fn from(port: u32) -> Remove {
    Remove {
        dst: "192.0.2.10".to_owned(),
        port,
        ..Remove::default()
    }
}

fn ports(registry: &Registry, caller: Caller) -> Vec<u16> {
    let listed = registry.list(0, caller).registrations;
    listed.iter().map(|found| found.port).collect()
}

fn code<T: std::fmt::Debug>(result: Result<T, Refusal>) -> Code {
    result.unwrap_err().code
}

#[test]
fn everybody_registers_for_themselves_and_root_for_all() {
    let mut registry = Registry::default();
    let for_alice = |port| Add {
        user: Some(1000),
        ..to(port)
    };
    let for_all = |port| Add {
        everyone: true,
        ..to(port)
    };
    assert_eq!(registry.add(0, ALICE, &to(1)), Ok(true));
    assert_eq!(registry.add(0, ALICE, &for_alice(2)), Ok(true));
    assert_eq!(code(registry.add(0, BOB, &for_alice(3))), Code::NotYours);
    assert_eq!(code(registry.add(0, BOB, &for_all(3))), Code::NotYours);
    assert_eq!(registry.add(0, ROOT, &for_alice(4)), Ok(true));
    assert_eq!(registry.add(0, ROOT, &for_all(5)), Ok(true));
    assert_eq!(registry.add(0, BOB, &to(1)), Ok(true));
    assert_eq!(ports(&registry, ALICE), [1, 2, 4, 5]);
    assert_eq!(ports(&registry, BOB), [1, 5]);
    assert_eq!(ports(&registry, ROOT), [1, 2, 4, 1, 5]);
    assert_eq!(registry.take_changes().len(), 5);
}

#[test]
fn a_namespace_has_its_own() {
    let mut registry = Registry::default();
    let elsewhere = Caller {
        netns_cookie: 2,
        ..ALICE
    };
    assert_eq!(registry.add(0, ALICE, &to(1)), Ok(true));
    assert_eq!(
        code(registry.remove(0, elsewhere, &from(1))),
        Code::NotRegistered
    );
    assert!(ports(&registry, elsewhere).is_empty());
    assert_eq!(registry.add(0, elsewhere, &to(1)), Ok(true));
    assert_eq!(registry.remove(0, ALICE, &from(1)), Ok(()));
    assert_eq!(ports(&registry, elsewhere), [1]);
}

#[test]
fn the_same_again_changes_nothing_but_its_lifetime() {
    let mut registry = Registry::default();
    let short = Add {
        lifetime_s: Some(5),
        ..to(1)
    };
    assert_eq!(registry.add(0, ALICE, &short), Ok(true));
    assert_eq!(registry.add(0, ALICE, &to(1)), Ok(false));
    assert_eq!(registry.take_changes().len(), 1);
    registry.tick(10 * NS_PER_S);
    assert_eq!(ports(&registry, ALICE), [1]);
    for lifetime_s in [0, LIFETIME_MAX_S + 1, u64::MAX] {
        let never = Add {
            lifetime_s: Some(lifetime_s),
            ..to(2)
        };
        assert_eq!(code(registry.add(0, ALICE, &never)), Code::BadLifetime);
    }
}

#[test]
fn what_is_taken_back_lingers_and_is_forgotten() {
    let mut registry = Registry::default();
    let short = Add {
        lifetime_s: Some(5),
        ..to(1)
    };
    registry.add(0, ALICE, &short).unwrap();
    registry.add(0, ALICE, &to(2)).unwrap();
    assert_eq!(registry.remove(0, ALICE, &from(2)), Ok(()));
    assert_eq!(
        code(registry.remove(0, ALICE, &from(2))),
        Code::NotRegistered
    );
    registry.take_changes();
    registry.tick(5 * NS_PER_S);
    let changes = registry.take_changes();
    assert!(matches!(
        changes[..],
        [(_, Some(Registration { on: false, .. }))]
    ));
    assert!(ports(&registry, ALICE).is_empty());
    registry.tick(LINGER_NS);
    assert_eq!(registry.len(), 1);
    // One that is switched off can be registered anew.
    assert_eq!(registry.add(LINGER_NS, ALICE, &to(1)), Ok(true));
    registry.tick(10 * LINGER_NS);
    assert_eq!(ports(&registry, ALICE), [1]);
}

/// Registers until it is refused, and returns how many registrations succeeded.
fn fill(registry: &mut Registry, caller: Caller) -> usize {
    let refused = (1..).find(|port| registry.add(0, caller, &to(*port)).is_err());
    refused.unwrap() as usize - 1
}

#[test]
fn many_users_leave_room_for_root_and_for_one_more() {
    let mut registry = Registry::default();
    assert_eq!(fill(&mut registry, ALICE), 256);
    assert_eq!(code(registry.add(0, ALICE, &to(999))), Code::TooMany);
    assert_eq!(registry.add(0, ALICE, &to(256)), Ok(false));
    for uid in 2000..2015 {
        assert!(fill(&mut registry, Caller { uid, ..ALICE }) > 50);
    }
    assert!(fill(&mut registry, BOB) > 50);
    assert_eq!(fill(&mut registry, ROOT), OF_ROOT_MAX);
    assert!(registry.len() < ENTRIES_MAX);
}

#[test]
fn what_lingers_makes_room() {
    let mut registry = Registry::default();
    for uid in 2000..2100 {
        fill(&mut registry, Caller { uid, ..ALICE });
    }
    for port in 1..=2048 {
        assert_eq!(registry.add(0, ROOT, &to(port)), Ok(true));
        assert_eq!(registry.remove(0, ROOT, &from(port)), Ok(()));
    }
    assert_eq!(registry.len(), ENTRIES_MAX);
    assert_eq!(registry.add(0, ROOT, &to(1)), Ok(true));
    assert_eq!(registry.len(), ENTRIES_MAX);
}

#[test]
fn what_was_left_behind_is_taken_back() {
    let mut registry = Registry::default();
    let left = Destination {
        netns_cookie: 1,
        whose: Whose::User(1000),
        to: "192.0.2.10:1".parse().unwrap(),
    };
    registry.adopt(0, [left]);
    assert!(ports(&registry, ALICE).is_empty());
    registry.tick(LINGER_NS);
    assert_eq!(registry.take_changes().last(), Some(&(left, None)));
}

#[derive(Debug, Clone)]
enum Step {
    Add(Caller, Add),
    Remove(Caller, Remove),
    Pass { ns: u64 },
    Clear,
}

fn caller() -> impl Strategy<Value = Caller> {
    (prop::sample::select(vec![0u32, 1000, 1001]), 1..3u64)
        .prop_map(|(uid, netns_cookie)| Caller { uid, netns_cookie })
}

fn step() -> impl Strategy<Value = Step> {
    let user = || prop::option::weighted(0.3, prop::sample::select(vec![0u32, 1000, u32::MAX]));
    let dst = || "192\\.0\\.2\\.[12]|2001:db8::[12]|::|here";
    prop_oneof![
        5 => (caller(), dst(), 0..3u32, user(), prop::bool::weighted(0.1), prop::option::of(0..3u64))
            .prop_map(|(caller, dst, port, user, everyone, lifetime_s)| {
                Step::Add(caller, Add { dst, port, user, everyone, lifetime_s })
            }),
        4 => (caller(), dst(), 0..3u32, user(), prop::bool::weighted(0.1))
            .prop_map(|(caller, dst, port, user, everyone)| {
                Step::Remove(caller, Remove { dst, port, user, everyone })
            }),
        3 => (0..100 * NS_PER_S).prop_map(|ns| Step::Pass { ns }),
        1 => Just(Step::Clear),
    ]
}

proptest! {
    /// Changes add up to what is registered, times never go back, a refusal changes nothing,
    /// and a user changes only the user's own registrations.
    #[test]
    fn changes_add_up(steps in prop::collection::vec(step(), 1..200)) {
        let mut registry = Registry::default();
        let mut kernel = BTreeMap::new();
        let (mut now_ns, mut last_ns) = (0, 0);
        for step in steps {
            let by = match &step {
                Step::Add(caller, _) | Step::Remove(caller, _) => Some(*caller),
                _ => None,
            };
            let refused = match step {
                Step::Add(caller, add) => registry.add(now_ns, caller, &add).is_err(),
                Step::Remove(caller, remove) => registry.remove(now_ns, caller, &remove).is_err(),
                Step::Pass { ns } => {
                    now_ns += ns;
                    registry.tick(now_ns);
                    false
                }
                Step::Clear => {
                    registry.clear(now_ns);
                    false
                }
            };
            let changes = registry.take_changes();
            prop_assert!(!refused || changes.is_empty());
            for (destination, registration) in changes {
                if let Some(caller) = by {
                    prop_assert_eq!(destination.netns_cookie, caller.netns_cookie);
                    prop_assert!(
                        caller.uid == 0 || destination.whose == Whose::User(caller.uid)
                    );
                }
                match registration {
                    Some(registration) => {
                        prop_assert!(registration.changed_ns > last_ns);
                        last_ns = registration.changed_ns;
                        kernel.insert(destination, registration);
                    }
                    None => {
                        // Nothing is forgotten that is still registered.
                        prop_assert!(!kernel.remove(&destination).unwrap().on);
                    }
                }
            }
            let known: BTreeMap<_, _> = registry
                .all()
                .map(|(destination, registration)| (destination, registration.unwrap()))
                .collect();
            prop_assert_eq!(&kernel, &known);
        }
    }
}
