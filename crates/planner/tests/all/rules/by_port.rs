//! The table by port says what the rules say, and there is none where it could not.

use takt_algo::sys::{TAKT_PORT_DESTINATION, TAKT_PORT_SOURCE, TAKT_PORTS, takt_key};
use takt_planner::{ByPort, ClassIds, Plan, Questions, by_port, plan};
use takt_policy::{Family, Match};

use super::{classify, link};

const TCP: u8 = 6;
const UDP: u8 = 17;

fn planned(classes: Vec<Vec<Match>>) -> Plan {
    let link = link(classes);
    let questions = Questions::of(std::slice::from_ref(&link));
    plan(&link, &ClassIds::default(), &questions).unwrap()
}

fn table(classes: Vec<Vec<Match>>) -> Option<ByPort> {
    by_port(&planned(classes).tables.rules)
}

fn to(proto: Option<u8>, first: u16, last: u16) -> Match {
    Match {
        proto,
        dst_ports: vec![first..=last],
        ..Match::default()
    }
}

/// Every port of both protocols and families has the class that the rules give it.
fn assert_agrees(classes: Vec<Vec<Match>>, is_source: bool) {
    let plan = planned(classes);
    let table = by_port(&plan.tables.rules).unwrap();
    let expected = if is_source {
        TAKT_PORT_SOURCE
    } else {
        TAKT_PORT_DESTINATION
    };
    assert_eq!(table.which, expected);
    for (family, proto, other) in [(4, UDP, 0), (4, TCP, 7), (6, UDP, 5000), (6, TCP, 0xffff)] {
        for port in 0..=u16::MAX {
            let (src_port, dst_port) = if is_source {
                (port, other)
            } else {
                (other, port)
            };
            let key = takt_key {
                mark: 7,
                family,
                proto,
                src_port,
                dst_port,
                dscp: 46,
                has_ports: 1,
                ..takt_key::default()
            };
            let place = usize::from(port) + if proto == TCP { TAKT_PORTS as usize } else { 0 };
            assert_eq!(
                u32::from(table.class_ids[place]),
                classify(&plan, &key),
                "{key:?}"
            );
        }
    }
}

#[test]
fn it_says_what_the_rules_say() {
    assert_agrees(Vec::new(), false);
    assert_agrees(
        vec![
            vec![to(Some(UDP), 5001, 5001), to(Some(TCP), 443, 443)],
            vec![to(None, 5000, 5900), to(Some(TCP), 0, 79)],
            vec![to(Some(UDP), 65535, 65535)],
        ],
        false,
    );
    let from = |first, last| Match {
        proto: Some(TCP),
        src_ports: vec![first..=last],
        ..Match::default()
    };
    let any_tcp = Match {
        proto: Some(TCP),
        ..Match::default()
    };
    assert_agrees(vec![vec![from(80, 80)], vec![any_tcp]], true);
}

#[test]
fn there_is_none_for_rules_that_ask_for_more() {
    let both = Match {
        src_ports: vec![1..=1],
        ..to(Some(UDP), 2, 2)
    };
    let family = Match {
        family: Some(Family::Ipv4),
        ..to(Some(UDP), 2, 2)
    };
    let dscp = Match {
        dscp: Some(46),
        ..Match::default()
    };
    let app = Match {
        app: Some("a".to_owned()),
        ..to(Some(TCP), 2, 2)
    };
    for more in [both, family, dscp, app] {
        let found = table(vec![vec![to(Some(UDP), 1, 1)], vec![more.clone()]]);
        assert!(found.is_none(), "{more:?}");
    }
}
