//! As many rules as the tables hold, in the forms that policies use.

use std::net::{Ipv4Addr, Ipv6Addr};

use takt_algo::sys::{TAKT_RULES, TAKT_TUPLES, takt_key};
use takt_planner::{ClassIds, Plan, PlanError, Questions, plan};
use takt_policy::{Family, Mark, Match, Prefix, User};

use super::{classify, link, words};

/// A class for all matches, 1, and the default class, 2.
fn planned(matches: Vec<Match>) -> Result<Plan, PlanError> {
    let link = link(vec![matches]);
    let questions = Questions::of(std::slice::from_ref(&link));
    plan(&link, &ClassIds::default(), &questions)
}

/// The table holds a full set of rules, finds every one of them, and no other.
fn assert_fits(family: &str, matches: impl Fn(u32) -> (Match, takt_key)) {
    let (entries, keys): (Vec<_>, Vec<_>) = (0..TAKT_RULES).map(&matches).unzip();
    let plan = planned(entries).unwrap_or_else(|error| panic!("{family}: {error}"));
    for key in &keys {
        assert_eq!(classify(&plan, key), 1, "{family}");
    }
    for n in TAKT_RULES..2 * TAKT_RULES {
        assert_eq!(classify(&plan, &matches(n).1), 2, "{family}");
    }
}

fn udp(family: u8) -> takt_key {
    takt_key {
        family,
        proto: 17,
        ..takt_key::default()
    }
}

#[test]
fn ports_one_by_one() {
    for (family, first, step) in [("dense", 1000, 1), ("even", 2, 2), ("sparse", 7, 3)] {
        assert_fits(family, |n| {
            let port = (first + n * step) as u16;
            let entry = Match {
                proto: Some(17),
                dst_ports: vec![port..=port],
                ..Match::default()
            };
            let key = takt_key {
                dst_port: port,
                has_ports: 1,
                ..udp(4)
            };
            (entry, key)
        });
    }
}

#[test]
fn pairs_of_ports() {
    assert_fits("a matrix", |n| {
        let (src, dst) = (8000 + (n % 128) as u16, 9000 + (n / 128) as u16);
        let entry = Match {
            src_ports: vec![src..=src],
            dst_ports: vec![dst..=dst],
            ..Match::default()
        };
        let key = takt_key {
            src_port: src,
            dst_port: dst,
            has_ports: 1,
            ..udp(6)
        };
        (entry, key)
    });
}

#[test]
fn marks() {
    for shift in 0..=16 {
        assert_fits(&format!("marks times 2^{shift}"), |n| {
            let entry = Match {
                mark: Some(Mark {
                    value: n << shift,
                    mask: u32::MAX,
                }),
                ..Match::default()
            };
            let key = takt_key {
                mark: n << shift,
                ..udp(4)
            };
            (entry, key)
        });
    }
}

#[test]
fn ipv4_hosts_and_networks() {
    for len in 16..=32 {
        assert_fits(&format!("10.0.0.0/8 in /{len}"), |n| {
            let bits = 0x0a00_0000u32.wrapping_add(n << (32 - len));
            let addr = Ipv4Addr::from(bits);
            let prefix = Prefix {
                addr: addr.into(),
                len: len as u8,
            };
            let entry = Match {
                family: Some(Family::Ipv4),
                dst: Some(prefix),
                ..Match::default()
            };
            let key = takt_key {
                dst: words(addr.octets()),
                ..udp(4)
            };
            (entry, key)
        });
    }
}

/// Sources as well as destinations, at every prefix length that is allocated or assigned.
#[test]
fn ipv6_hosts_and_networks() {
    for len in 32..=128 {
        for destination in [false, true] {
            assert_fits(&format!("2001::/16 in /{len}"), |n| {
                let bits = (0x2001u128 << 112) + (u128::from(n) << (128 - len));
                let addr = Ipv6Addr::from(bits);
                let prefix = Some(Prefix {
                    addr: addr.into(),
                    len: len as u8,
                });
                let mut entry = Match {
                    family: Some(Family::Ipv6),
                    ..Match::default()
                };
                let mut key = udp(6);
                if destination {
                    (entry.dst, key.dst) = (prefix, words(addr.octets()));
                } else {
                    (entry.src, key.src) = (prefix, words(addr.octets()));
                }
                (entry, key)
            });
        }
    }
}

/// Every host to every port: the hash combines its words.
#[test]
fn hosts_and_ports() {
    assert_fits("64 hosts, 128 ports each", |n| {
        let addr = Ipv4Addr::from(0xc000_0200 + n / 128);
        let port = 5000 + (n % 128) as u16;
        let entry = Match {
            family: Some(Family::Ipv4),
            proto: Some(17),
            src: Some(Prefix {
                addr: addr.into(),
                len: 32,
            }),
            dst_ports: vec![port..=port],
            ..Match::default()
        };
        let key = takt_key {
            src: words(addr.octets()),
            dst_port: port,
            has_ports: 1,
            ..udp(4)
        };
        (entry, key)
    });
}

/// Every owner that is asked for, to every port: half of the key's second word.
#[test]
fn owners_and_ports() {
    for users in [1, 4, 32] {
        assert_fits(&format!("{users} users"), |n| {
            let user = n % users;
            let port = 5000 + (n / users) as u16;
            let entry = Match {
                user: Some(User::Id(user)),
                dst_ports: vec![port..=port],
                ..Match::default()
            };
            let key = takt_key {
                who: 1 << user,
                dst_port: port,
                has_ports: 1,
                ..udp(4)
            };
            (entry, key)
        });
    }
}

#[test]
fn one_rule_more_than_fits_is_refused() {
    let mark = |value| Match {
        mark: Some(Mark {
            value,
            mask: u32::MAX,
        }),
        ..Match::default()
    };
    assert!(planned((0..TAKT_RULES).map(mark).collect()).is_ok());
    assert_eq!(
        planned((0..=TAKT_RULES).map(mark).collect()).err(),
        Some(PlanError::TooManyRules)
    );
}

#[test]
fn more_masks_than_are_looked_through_are_refused() {
    let mark = |bits: u32| Match {
        mark: Some(Mark {
            value: bits,
            mask: bits,
        }),
        ..Match::default()
    };
    assert!(planned((1..=TAKT_TUPLES).map(mark).collect()).is_ok());
    assert_eq!(
        planned((1..=TAKT_TUPLES + 1).map(mark).collect()).err(),
        Some(PlanError::TooManyTuples { needed: 65 })
    );
}
