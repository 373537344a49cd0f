//! The cover relation, tested with packets; and the index, against pairwise comparison.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::cover::covers;
use super::terms::complete;
use super::tuple_space::TupleSpace;
use crate::value::{prefix, proto};
use crate::{Family, Mark, Match, Prefix, Question, User};

/// The fields of a match. Few values for each, so that random matches hit random packets.
#[derive(Debug, Clone)]
struct Packet {
    src: IpAddr,
    dst: IpAddr,
    proto: u8,
    /// Absent in fragments and where the protocol has none.
    ports: Option<(u16, u16)>,
    dscp: u8,
    mark: u32,
    owner: Owner,
}

#[derive(Debug, Clone)]
struct Owner {
    app: &'static str,
    user_id: u32,
    cgroup: &'static str,
    is_registered: bool,
}

const CGROUPS: [&str; 5] = ["a", "a/b", "a/b/c", "ab", "b/a"];

fn holds(terms: &Match, packet: &Packet) -> bool {
    let family = match packet.src {
        IpAddr::V4(_) => Family::Ipv4,
        IpAddr::V6(_) => Family::Ipv6,
    };
    let in_prefix = |wanted: Option<Prefix>, addr: IpAddr| {
        wanted.is_none_or(|wanted| {
            addr.is_ipv4() == wanted.addr.is_ipv4() && prefix::mask(addr, wanted.len) == wanted.addr
        })
    };
    let in_ports = |wanted: &[std::ops::RangeInclusive<u16>], port: Option<u16>| {
        wanted.is_empty()
            || port.is_some_and(|port| wanted.iter().any(|range| range.contains(&port)))
    };
    terms.family.is_none_or(|wanted| wanted == family)
        && terms.proto.is_none_or(|wanted| wanted == packet.proto)
        && in_prefix(terms.src, packet.src)
        && in_prefix(terms.dst, packet.dst)
        && in_ports(&terms.src_ports, packet.ports.map(|(src, _)| src))
        && in_ports(&terms.dst_ports, packet.ports.map(|(_, dst)| dst))
        && terms.dscp.is_none_or(|wanted| wanted == packet.dscp)
        && terms
            .mark
            .is_none_or(|wanted| packet.mark & wanted.mask == wanted.value)
        && terms
            .questions()
            .all(|question| is_yes(&question, &packet.owner))
}

fn is_yes(question: &Question, owner: &Owner) -> bool {
    let mut path = owner.cgroup.split('/');
    match question {
        Question::App(app) => app == owner.app,
        Question::User(User::Id(id)) => *id == owner.user_id,
        Question::User(User::Name(name)) => name == "alice" && owner.user_id == 1,
        Question::Cgroup(cgroup) => cgroup.split('/').all(|part| path.next() == Some(part)),
        Question::Unit(unit) => path.any(|part| part == unit),
        Question::Registered => owner.is_registered,
    }
}

fn addr(is_v6: bool, bits: u8) -> IpAddr {
    if is_v6 {
        Ipv6Addr::from_bits(u128::from(bits) << 120).into()
    } else {
        Ipv4Addr::from_bits(u32::from(bits) << 24).into()
    }
}

fn any_packet() -> impl Strategy<Value = Packet> {
    let protos = prop::sample::select(vec![1u8, 6, 17, 58]);
    (
        any::<bool>(),
        0..8u8,
        0..8u8,
        protos,
        any::<bool>(),
        (0..6u16, 0..6u16),
        0..3u8,
        0..4u32,
        any_owner(),
    )
        .prop_map(
            |(is_v6, src, dst, proto, is_whole, ports, dscp, mark, owner)| Packet {
                src: addr(is_v6, src << 5),
                dst: addr(is_v6, dst << 5),
                proto,
                ports: (is_whole && proto::has_ports(proto)).then_some(ports),
                dscp,
                mark,
                owner,
            },
        )
}

fn any_owner() -> impl Strategy<Value = Owner> {
    use prop::sample::select;
    (
        select(&["x", "y"]),
        0..3u32,
        select(&CGROUPS),
        any::<bool>(),
    )
        .prop_map(|(app, user_id, cgroup, is_registered)| Owner {
            app,
            user_id,
            cgroup,
            is_registered,
        })
}

/// The question about the owner, in an entry without other questions.
fn any_asked() -> impl Strategy<Value = Match> {
    use prop::{option::weighted, sample::select};
    let users = select(vec![
        User::Id(0),
        User::Id(1),
        User::Name("alice".to_owned()),
    ]);
    (
        weighted(0.2, select(&["x", "y"]).prop_map(str::to_owned)),
        weighted(0.2, users),
        weighted(0.3, select(&CGROUPS).prop_map(str::to_owned)),
        weighted(0.2, select(&["a", "b"]).prop_map(str::to_owned)),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(app, user, cgroup, unit, registered)| Match {
            app,
            user,
            cgroup,
            unit,
            registered,
            ..Match::default()
        })
}

fn any_prefix() -> impl Strategy<Value = Prefix> {
    (any::<bool>(), any::<u8>(), 0..=3u8).prop_map(|(is_v6, bits, len)| Prefix {
        addr: prefix::mask(addr(is_v6, bits), len),
        len,
    })
}

fn any_ports() -> impl Strategy<Value = Vec<std::ops::RangeInclusive<u16>>> {
    let part = (0..6u16, 0..3u16).prop_map(|(first, more)| format!("{first}-{}", first + more));
    prop::collection::vec(part, 0..3)
        .prop_map(|parts| crate::value::ports::parse(&parts.join(",")).unwrap_or_default())
}

/// Entries as they are after the reader and the check of their terms.
fn any_match() -> impl Strategy<Value = Match> {
    use prop::option::weighted;
    let families = prop::sample::select(vec![Family::Ipv4, Family::Ipv6]);
    let protos = prop::sample::select(vec![1u8, 6, 17, 58]);
    let marks = (0..4u32, 1..4u32).prop_map(|(value, mask)| Mark {
        value: value & mask,
        mask,
    });
    (
        weighted(0.2, families),
        weighted(0.4, protos),
        weighted(0.3, any_prefix()),
        weighted(0.3, any_prefix()),
        any_ports(),
        any_ports(),
        weighted(0.2, 0..3u8),
        weighted(0.3, marks),
        any_asked(),
    )
        .prop_map(
            |(family, proto, src, dst, src_ports, dst_ports, dscp, mark, asked)| Match {
                family,
                proto,
                src,
                dst,
                src_ports,
                dst_ports,
                dscp,
                mark,
                ..asked
            },
        )
        .prop_filter_map("can never match", |mut terms| {
            complete(&mut terms).ok().map(|()| terms)
        })
}

proptest! {
    #[test]
    fn a_covered_entry_holds_for_nothing_more(
        wide in any_match(),
        narrow in any_match(),
        packets in prop::collection::vec(any_packet(), 50),
    ) {
        if covers(&wide, &narrow) {
            for packet in packets.iter().filter(|packet| holds(&narrow, packet)) {
                prop_assert!(holds(&wide, packet), "{packet:?}");
            }
        }
    }

    #[test]
    fn covering_is_an_order(a in any_match(), b in any_match(), c in any_match()) {
        prop_assert!(covers(&a, &a));
        prop_assert!(covers(&Match::default(), &a));
        if covers(&a, &b) && covers(&b, &a) {
            prop_assert_eq!(&a, &b);
        }
        if covers(&a, &b) && covers(&b, &c) {
            prop_assert!(covers(&a, &c));
        }
    }

    #[test]
    fn the_index_finds_what_comparing_each_with_each_finds(
        entries in prop::collection::vec(any_match(), 1..40),
    ) {
        let mut index = TupleSpace::new(u64::MAX);
        let mut kept: Vec<usize> = Vec::new();
        for (number, terms) in entries.iter().enumerate() {
            let expected = kept.iter().copied().find(|at| covers(&entries[*at], terms));
            prop_assert_eq!(index.first_covering(terms), expected);
            if expected.is_none() {
                index.insert(number, terms);
                kept.push(number);
            }
        }
    }

    #[test]
    fn without_budget_equal_entries_are_found_all_the_same(terms in any_match()) {
        let mut index = TupleSpace::new(0);
        index.insert(7, &terms);
        prop_assert_eq!(index.first_covering(&terms.clone()), Some(7));
        prop_assert!(index.is_exhausted());
    }
}
