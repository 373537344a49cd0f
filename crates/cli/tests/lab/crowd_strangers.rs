//! An access point that is its group's aggregator counts the terminals that upload through it and
//! belong to no group, and tells the members.

use std::{net::TcpListener, thread, time::Duration};

use serde_json::Value;

use crate::{
    flow::in_namespace,
    machine::{DEFAULT, NEWEST, TOO_OLD},
    reporting::Daemon,
    shell::run,
    terminals::{
        AGGREGATOR, Terminals, assert_soon, heard, in_netns, mac, name, narrow, neighbourhood, plug,
    },
    upload::Upload,
};

/// The access point's namespace is named as a terminal's.
const ACCESS_POINT: u8 = 50;
const FAR: &str = "10.60.0.2";
const WINDOW: Duration = Duration::from_secs(3);

#[test]
fn are_counted_and_the_members_are_told() {
    DEFAULT.run(|| {
        // Where acknowledgements queue and are thinned, and where they find the link free.
        for rate in ["300kbit", "20mbit"] {
            strangers_are_counted(rate);
        }
    });
}

#[test]
fn are_counted_on_the_newest_kernel() {
    NEWEST.run(|| strangers_are_counted("300kbit"));
}

#[test]
fn are_not_counted_without_a_qdisc_that_reads_acknowledgements() {
    TOO_OLD.run(|| {
        let cell = Cell::new("300kbit");
        let _member = cell.upload(1);
        let _stranger = cell.upload(2);
        assert_soon(60, &cell.aggregator, ACCESS_POINT, "a member", |of| {
            heard(of) == [mac(1)]
        });
        thread::sleep(WINDOW);
        assert_eq!(cell.counted(), 0);
    });
}

/// An access point, a member, a terminal that is none, and a server behind the access point.
struct Cell {
    aggregator: Daemon,
    /// Until it is killed.
    member: Option<Daemon>,
    listener: TcpListener,
    _terminals: Terminals,
}

impl Cell {
    fn new(link_rate: &str) -> Self {
        let terminals = Terminals::new();
        let access_point = name(ACCESS_POINT);
        run(&format!("ip netns add {access_point}")).ok();
        plug(&access_point, "air", AGGREGATOR, &mac(ACCESS_POINT));
        narrow(&access_point, "air", "20mbit");
        run("ip netns add far").ok();
        run(&format!(
            "ip -n {access_point} link add wire type veth peer name near netns far"
        ))
        .ok();
        run(&format!(
            "ip -n {access_point} addr add 10.60.0.1/24 dev wire"
        ))
        .ok();
        run(&format!("ip -n {access_point} link set wire up")).ok();
        run(&format!("ip -n far addr add {FAR}/24 dev near")).ok();
        run("ip -n far link set near up").ok();
        run("ip -n far route add default via 10.60.0.1").ok();
        in_netns(&access_point, "sysctl -qw net.ipv4.ip_forward=1").ok();
        for n in [1, 2] {
            run(&format!(
                "ip -n {} route add 10.60.0.0/24 via {AGGREGATOR}",
                name(n)
            ))
            .ok();
        }
        let role =
            format!("aggregate = true\naccess_point = true\n[link.air]\nrate = \"{link_rate}\"");
        let aggregator = Terminals::join(&access_point, "air", &role);
        let member = Terminals::join_as(1, &format!("aggregator = \"{AGGREGATOR}:7642\""));
        let listener = in_namespace("far", || TcpListener::bind((FAR, 0)).unwrap());
        Self {
            aggregator,
            member: Some(member),
            listener,
            _terminals: terminals,
        }
    }

    fn upload(&self, n: u8) -> Upload {
        in_namespace(&name(n), || Upload::start(&self.listener, None).unwrap())
    }

    fn counted(&self) -> u64 {
        let of = neighbourhood(&self.aggregator, &name(ACCESS_POINT));
        count(&of)
    }

    /// What this upload gets for a while, and what all strangers get in the aggregator's view.
    fn rates_bytes_ps(&self, upload: &Upload) -> (u64, u64) {
        let before = upload.received_bytes();
        let mut seen = Vec::new();
        for _ in 0..10 {
            thread::sleep(WINDOW / 10);
            let of = neighbourhood(&self.aggregator, &name(ACCESS_POINT));
            seen.push(of["strangers"]["rate_bytes_ps"].as_u64().unwrap());
        }
        let got = (upload.received_bytes() - before) / WINDOW.as_secs();
        (got, seen.iter().sum::<u64>() / seen.len() as u64)
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        let access_point = name(ACCESS_POINT);
        let _ = in_netns(&access_point, "takt revert");
        let _ = run(&format!("ip netns del {access_point}"));
        let _ = run("ip netns del far");
    }
}

fn count(of: &Value) -> u64 {
    of["strangers"]["count"].as_u64().unwrap()
}

fn strangers_are_counted(link_rate: &str) {
    let mut cell = Cell::new(link_rate);
    let at_access_point = |cell: &Cell, what: &str, is_so: &dyn Fn(&Value) -> bool| {
        assert_soon(80, &cell.aggregator, ACCESS_POINT, what, is_so);
    };
    let uploading = cell.upload(1);
    at_access_point(&cell, "a member", &|of| heard(of) == [mac(1)]);
    // Not even in the time before its first report.
    for _ in 0..30 {
        assert_eq!(cell.counted(), 0);
        thread::sleep(Duration::from_millis(100));
    }
    let stranger = cell.upload(2);
    at_access_point(&cell, "a stranger", &|of| count(of) == 1);
    let member = cell.member.as_ref().unwrap();
    assert_soon(20, member, 1, "a stranger is told of", |of| count(of) == 1);
    let (gets, counted) = cell.rates_bytes_ps(&stranger);
    println!("{link_rate}: the stranger gets {gets} bytes/s, {counted} are counted");
    assert!(gets > 200_000, "{gets}");
    assert!(
        (gets * 3 / 4..gets * 5 / 4).contains(&counted),
        "{gets} {counted}"
    );
    assert_eq!(cell.counted(), 1, "the member is none");
    let inside = format!("nsenter -t {} -m -n", cell.aggregator.id());
    run(&format!("{inside} takt crowd neighbours"))
        .says(&["strangers: 1, ", &mac(1)])
        .ok();

    stranger.stop();
    drop(stranger);
    at_access_point(&cell, "it is gone", &|of| count(of) == 0);
    let member = cell.member.as_ref().unwrap();
    assert_soon(20, member, 1, "that is told, too", |of| count(of) == 0);
    // Without its taktd the member is none any more.
    cell.member.take().unwrap().kill();
    at_access_point(&cell, "a terminal that reports no more", &|of| {
        heard(of).is_empty() && count(of) == 1
    });
    drop(uploading);
}
