//! The first match in the file wins. Checked by trying every match in turn.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::RangeInclusive,
};

use proptest::{prelude::*, sample::select};
use takt_algo::sys::takt_key;
use takt_planner::{ClassIds, Plan, PlanError, Question, Questions, plan};
use takt_policy::{Class, Family, Link, Mark, Match, Prefix, User};

use super::{classify, link, words};

/// The answer by linear search.
fn first_match(link: &Link, questions: &Questions, plan: &Plan, key: &takt_key) -> u32 {
    let any_holds = |class: &Class| {
        let mut entries = class.matches.iter();
        entries.any(|entry| holds(entry, key) && answers(entry, questions, key))
    };
    let class = link
        .classes
        .iter()
        .find(|class| class.is_default || any_holds(class))
        .expect("the last class takes everything");
    plan.ids.id(&class.name).expect("planned")
}

fn holds(entry: &Match, key: &takt_key) -> bool {
    let ip = [4, 6].contains(&key.family);
    let family = |family: Family| match family {
        Family::Ipv4 => key.family == 4,
        Family::Ipv6 => key.family == 6,
    };
    let ports = |ranges: &[RangeInclusive<u16>], port| {
        ranges.is_empty() || key.has_ports == 1 && ranges.iter().any(|range| range.contains(&port))
    };
    entry.family.is_none_or(family)
        && entry.proto.is_none_or(|proto| ip && key.proto == proto)
        && entry.src.is_none_or(|prefix| inside(&prefix, key.src))
        && entry.dst.is_none_or(|prefix| inside(&prefix, key.dst))
        && ports(&entry.src_ports, key.src_port)
        && ports(&entry.dst_ports, key.dst_port)
        && entry.dscp.is_none_or(|dscp| ip && key.dscp == dscp)
        && entry
            .mark
            .is_none_or(|mark| key.mark & mark.mask == mark.value)
}

/// Every question of the entry is answered with yes.
fn answers(entry: &Match, questions: &Questions, key: &takt_key) -> bool {
    let asked: Vec<&Question> = questions.iter().collect();
    entry.questions().all(|question| {
        let bit = asked.iter().position(|known| **known == question);
        key.who >> bit.expect("it was asked") & 1 == 1
    })
}

/// The address is of the prefix's family: a match with an address names it.
fn inside(prefix: &Prefix, words: [u32; 4]) -> bool {
    let octets: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let wanted = match prefix.addr {
        IpAddr::V4(addr) => addr.octets().to_vec(),
        IpAddr::V6(addr) => addr.octets().to_vec(),
    };
    (0..usize::from(prefix.len)).all(|bit| {
        let mask = 0x80 >> (bit % 8);
        octets[bit / 8] & mask == wanted[bit / 8] & mask
    })
}

/// A prefix with the bits beyond its length cleared, as the policy has them.
fn prefix(addr: IpAddr, len: u8) -> Prefix {
    let addr = match addr {
        IpAddr::V4(addr) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
            IpAddr::V4((addr.to_bits() & mask).into())
        }
        IpAddr::V6(addr) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
            IpAddr::V6((addr.to_bits() & mask).into())
        }
    };
    Prefix { addr, len }
}

// Few values of each field, so that matches overlap and keys hit.

fn v4() -> impl Strategy<Value = Ipv4Addr> {
    (select(vec![10u8, 192]), 0..2u8, 0..4u8).prop_map(|(a, c, d)| Ipv4Addr::new(a, 0, c, d))
}

fn v6() -> impl Strategy<Value = Ipv6Addr> {
    (0..2u16, 0..4u16).prop_map(|(c, d)| Ipv6Addr::new(0x2001, 0xdb8, c, 0, 0, 0, 0, d))
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![4 => 5000..5040u16, 1 => any::<u16>(), 1 => select(vec![0, 1, u16::MAX])]
}

/// One or two ranges, sorted and apart.
fn ranges() -> impl Strategy<Value = Vec<RangeInclusive<u16>>> {
    prop::collection::vec(port(), 4).prop_map(|mut ports| {
        ports.sort_unstable();
        match ports[2] - ports[1] {
            0 | 1 => vec![ports[0]..=ports[3]],
            _ => vec![ports[0]..=ports[1], ports[2]..=ports[3]],
        }
    })
}

fn prefixes(family: Option<Family>) -> BoxedStrategy<Option<Prefix>> {
    let some = match family {
        None => return Just(None).boxed(),
        Some(Family::Ipv4) => (
            v4().prop_map(IpAddr::V4),
            select(vec![0u8, 8, 23, 24, 31, 32]),
        )
            .boxed(),
        Some(Family::Ipv6) => (
            v6().prop_map(IpAddr::V6),
            select(vec![0u8, 32, 48, 64, 127, 128]),
        )
            .boxed(),
    };
    prop::option::weighted(0.3, some.prop_map(|(addr, len)| prefix(addr, len))).boxed()
}

fn mark() -> impl Strategy<Value = Mark> {
    (0..4u32, select(vec![1u32, 3, u32::MAX])).prop_map(|(value, mask)| Mark {
        value: value & mask,
        mask,
    })
}

/// An app, a user, a control group, a unit, and whether it is registered.
fn owner() -> impl Strategy<Value = ([Option<&'static str>; 4], bool)> {
    let one = || prop::option::weighted(0.1, select(vec!["a", "b"]));
    ([one(), one(), one(), one()], prop::bool::weighted(0.1))
}

fn one_match() -> impl Strategy<Value = Match> {
    let family = prop::option::of(select(vec![Family::Ipv4, Family::Ipv6]));
    family.prop_flat_map(|family| {
        (
            prop::option::weighted(0.5, select(vec![0u8, 6, 17])),
            prefixes(family),
            prefixes(family),
            prop_oneof![3 => Just(Vec::new()), 1 => ranges()],
            prop_oneof![1 => Just(Vec::new()), 1 => ranges()],
            prop::option::weighted(0.2, select(vec![0u8, 46])),
            prop::option::weighted(0.2, mark()),
            owner(),
        )
            .prop_map(
                move |(proto, src, dst, src_ports, dst_ports, dscp, mark, (owner, registered))| {
                    Match {
                        family,
                        proto,
                        src,
                        dst,
                        src_ports,
                        dst_ports,
                        dscp,
                        mark,
                        app: owner[0].map(str::to_owned),
                        user: owner[1].map(|name| User::Name(name.to_owned())),
                        cgroup: owner[2].map(str::to_owned),
                        unit: owner[3].map(str::to_owned),
                        registered,
                    }
                },
            )
    })
}

fn key() -> impl Strategy<Value = takt_key> {
    let addresses = prop_oneof![
        (v4(), v4()).prop_map(|(src, dst)| (4, words(src.octets()), words(dst.octets()))),
        (v6(), v6()).prop_map(|(src, dst)| (6, words(src.octets()), words(dst.octets()))),
        Just((0, [0; 4], [0; 4])),
    ];
    (
        addresses,
        select(vec![0u8, 1, 6, 17]),
        select(vec![0u8, 8, 46]),
        prop::option::of((port(), port())),
        0..5u32,
        // Nine questions are possible; the tenth bit is unused.
        0..1024u32,
    )
        .prop_map(|((family, src, dst), proto, dscp, ports, mark, who)| {
            let ports = ports.filter(|_| family != 0 && proto > 1);
            let (src_port, dst_port) = ports.unwrap_or_default();
            takt_key {
                mark,
                who,
                family,
                src,
                dst,
                src_port,
                dst_port,
                has_ports: ports.is_some().into(),
                // Frames that are not IP have neither.
                proto: if family == 0 { 0 } else { proto },
                dscp: if family == 0 { 0 } else { dscp },
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_first_match_in_the_file_wins(
        classes in prop::collection::vec(prop::collection::vec(one_match(), 1..3), 1..6),
        keys in prop::collection::vec(key(), 200),
    ) {
        let link = link(classes);
        let questions = Questions::of(std::slice::from_ref(&link));
        let plan = match plan(&link, &ClassIds::default(), &questions) {
            Ok(plan) => plan,
            // So many different masks are more than the kernel searches.
            Err(PlanError::TooManyTuples { .. } | PlanError::TooManyRules) => return Ok(()),
            Err(error @ (PlanError::Crowded | PlanError::GapOverhead { .. } | PlanError::GapFraming)) => panic!("{error}"),
        };
        for key in keys {
            let expected = first_match(&link, &questions, &plan, &key);
            prop_assert_eq!(classify(&plan, &key), expected);
        }
    }
}
