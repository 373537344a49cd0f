//! Every promise of a policy on every backend: what keeps it says nothing, what does not says so.

use std::collections::BTreeSet;

use takt_planner::backend::{Kernel, Promise, offers};
use takt_policy::Backend;

use Backend::{Departure, Flow, Takt, Tree};
use Promise::{
    Autorate, ByDevice, ClassRates, DepartureTimes, Download, Floors, FlowClocks, ForwardedPackets,
    FramesOfSegments, Framing, GapFrames, Gate, Hosts, LinkRate, LocalSenders, OtherProtocols,
    Owners, PacketFields, Priorities, QueueManagement, Receive, Registrations, SetDscp, Spacing,
    SpareCapacity, Stations, Tenants, Thinning,
};

/// `ALL` of them: the match does not compile where the list lacks one.
macro_rules! all {
    ($($promise:ident),* $(,)?) => {
        const ALL: &[Promise] = &[$(Promise::$promise),*];
        const _: fn(Promise) = |promise| match promise {
            $(Promise::$promise)|* => {}
        };
    };
}

all![
    Spacing,
    DepartureTimes,
    Gate,
    Receive,
    FlowClocks,
    Owners,
    Registrations,
    Stations,
    Thinning,
    GapFrames,
    SpareCapacity,
    Tenants,
    Priorities,
    QueueManagement,
    LocalSenders,
    LinkRate,
    ClassRates,
    Floors,
    OtherProtocols,
    ForwardedPackets,
    PacketFields,
    Download,
    SetDscp,
    Hosts,
    Framing,
    FramesOfSegments,
    Autorate,
    ByDevice,
];

/// A policy that asks for a promise, and what is said of its last link.
struct Row {
    asks_for: Promise,
    /// On this kernel.
    release: &'static str,
    policy: String,
    said: Vec<(Backend, Promise)>,
}

impl Row {
    /// Of two fixed rates.
    fn fixed(asks_for: Promise, policy: String) -> Self {
        Self {
            asks_for,
            release: "6.18",
            policy,
            said: vec![
                (Tree, DepartureTimes),
                (Tree, Spacing),
                (Flow, LinkRate),
                (Flow, Spacing),
                (Flow, ClassRates),
                (Flow, ForwardedPackets),
                (Flow, OtherProtocols),
            ],
        }
    }

    /// What it asks for is not kept by these.
    fn unkept_by(mut self, backends: &[Backend]) -> Self {
        let said = backends.iter().map(|backend| (*backend, self.asks_for));
        self.said.extend(said.collect::<Vec<_>>());
        self
    }

    fn without(mut self, backend: Backend, promise: Promise) -> Self {
        self.said.retain(|said| *said != (backend, promise));
        self
    }

    fn and(mut self, backend: Backend, promise: Promise) -> Self {
        self.said.push((backend, promise));
        self
    }
}

/// A link of TCP, and of the rest. Neither has a rate, nor are queues managed.
fn link(of_link: &str, web: &str) -> String {
    format!(
        "[link.eth0]\nrate = \"100mbit\"\n{of_link}\n\
         [[link.eth0.class]]\nname = \"web\"\naqm = \"off\"\nmatch = {{ proto = \"tcp\" }}\n{web}\n\
         [[link.eth0.class]]\nname = \"default\"\naqm = \"off\"\n"
    )
}

/// Both classes have a fixed rate.
fn fixed(of_link: &str, web: &str) -> String {
    link(of_link, &format!("rate = \"10mbit\"\n{web}")) + "rate = \"10mbit\"\n"
}

/// The other class is found in another way.
fn matched(entry: &str) -> String {
    fixed("", "").replace("proto = \"tcp\"", entry)
}

/// What the device receives is divided likewise.
fn download(policy: &str) -> String {
    policy.to_owned() + "\n[link.eth0.download]\nrate = \"100mbit\"\n"
}

const OTHERS: &[Backend] = &[Departure, Tree, Flow];

fn rows() -> Vec<Row> {
    let access_point = "\n[crowd]\naccess_point = true\ndevice = \"eth0\"\n";
    let stations = "\n[radio]\nsource = \"station-dump\"\n";
    let tenant = "\n[[link.eth0.tenant]]\nname = \"acme\"\nrate = \"10mbit\"\n";
    let background = |key: &str| fixed("", &format!("priority = \"background\"\n{key}"));
    let managed = || fixed("", "").replacen("\"off\"", "\"codel\"", 1);
    vec![
        Row::fixed(Spacing, fixed("", "")),
        Row::fixed(DepartureTimes, fixed("", "")),
        Row::fixed(LinkRate, fixed("", "")),
        Row::fixed(ClassRates, fixed("", "")),
        Row::fixed(OtherProtocols, fixed("", "")),
        Row::fixed(ForwardedPackets, fixed("", "")),
        Row {
            asks_for: SpareCapacity,
            release: "6.18",
            policy: link("", ""),
            said: vec![(Tree, DepartureTimes), (Flow, LinkRate)],
        }
        .unkept_by(&[Departure, Flow]),
        Row::fixed(Gate, background("receive = false"))
            .unkept_by(OTHERS)
            .and(Flow, Priorities),
        Row::fixed(Receive, background("gate = \"open\""))
            .unkept_by(OTHERS)
            .and(Flow, Priorities),
        Row::fixed(FlowClocks, fixed("", "per_flow = true")).unkept_by(&[Departure, Tree]),
        Row::fixed(Registrations, matched("registered = true")).unkept_by(OTHERS),
        Row {
            release: "6.0",
            ..Row::fixed(Owners, matched("unit = \"a.service\""))
        }
        .unkept_by(OTHERS),
        Row::fixed(PacketFields, matched("dscp = 46")).unkept_by(&[Flow]),
        Row::fixed(PacketFields, matched("mark = 1")).unkept_by(&[Flow]),
        Row::fixed(Framing, fixed("framing = \"pppoe-ptm\"", ""))
            .unkept_by(&[Flow])
            .and(Tree, FramesOfSegments),
        Row::fixed(FramesOfSegments, fixed("min_frame = 64", ""))
            .unkept_by(&[Tree])
            .and(Flow, Framing),
        Row::fixed(Stations, fixed("", "") + stations).unkept_by(OTHERS),
        Row::fixed(Thinning, fixed("", "") + access_point).unkept_by(OTHERS),
        Row::fixed(Thinning, fixed("acks = \"thin\"", "")).unkept_by(OTHERS),
        Row::fixed(
            Autorate,
            fixed(
                "reflectors = [\"192.0.2.1\", \"192.0.2.2\", \"192.0.2.3\"]",
                "",
            )
            .replacen(
                "\"100mbit\"",
                "{ min = \"50mbit\", base = \"100mbit\", max = \"200mbit\" }",
                1,
            ),
        )
        .unkept_by(OTHERS),
        Row::fixed(
            ByDevice,
            fixed("", "").replacen("\"100mbit\"", "\"line\"", 1),
        )
        .unkept_by(OTHERS),
        Row::fixed(Hosts, fixed("share = \"hosts\"", "")).unkept_by(OTHERS),
        Row::fixed(GapFrames, fixed("pacing = \"gap\"", "")).unkept_by(OTHERS),
        Row::fixed(Tenants, fixed("", "tenant = \"acme\"") + tenant).unkept_by(&[Departure, Flow]),
        Row::fixed(Floors, fixed("", "floor = \"1mbit\"")).unkept_by(&[Flow]),
        Row::fixed(
            Priorities,
            fixed("", "priority = 1").replace("\"10mbit\"", "\"60mbit\""),
        )
        .unkept_by(&[Departure, Flow]),
        // Where the rates fit, all get what they ask for.
        Row::fixed(Priorities, fixed("", "priority = 1")).unkept_by(&[Flow]),
        Row::fixed(QueueManagement, managed())
            .unkept_by(&[Departure, Flow])
            .and(Tree, LocalSenders),
        Row::fixed(LocalSenders, managed())
            .unkept_by(&[Tree])
            .and(Departure, QueueManagement)
            .and(Flow, QueueManagement),
        Row::fixed(SetDscp, fixed("", "set_dscp = \"ef\"")).unkept_by(&[Flow]),
        Row::fixed(SetDscp, fixed("wash = true", "")).unkept_by(&[Flow]),
        // No socket sends what comes in, and none gave it a departure time.
        Row::fixed(Download, download(&managed()))
            .unkept_by(&[Departure, Flow])
            .without(Tree, DepartureTimes)
            .and(Tree, Hosts)
            .and(Departure, Hosts)
            .and(Flow, Hosts)
            .and(Departure, QueueManagement)
            .and(Flow, QueueManagement),
    ]
}

#[test]
fn is_kept_or_said_on_every_backend() {
    for row in rows() {
        let mut found = Vec::new();
        for backend in [Takt, Departure, Tree, Flow] {
            found.extend(said(&row, backend).map(|promise| (backend, promise)));
        }
        // In any order, and of one class as of two.
        let [found, expected] = [found, row.said].map(|said| {
            let texts = said
                .iter()
                .map(|(backend, promise)| format!("{backend:?}: {promise:?}"));
            texts.collect::<BTreeSet<_>>()
        });
        assert_eq!(found, expected, "{:?}", row.asks_for);
    }
}

#[test]
fn every_promise_has_a_row_and_a_backend_that_does_not_keep_it() {
    let rows = rows();
    for promise in ALL {
        let mut of_it = rows.iter().filter(|row| row.asks_for == *promise);
        let lacks = |row: &Row| row.said.iter().any(|(_, said)| said == promise);
        assert!(of_it.any(lacks), "{promise:?}");
    }
}

fn said(row: &Row, backend: Backend) -> impl Iterator<Item = Promise> {
    let mut policy = takt_policy::parse("test", &row.policy).expect("a policy");
    let mut link = policy.links.pop().expect("a link");
    link.backend = Some(backend);
    let kernel = Kernel::of_release(row.release).expect("a release");
    let mut offers = offers(&link, &kernel).into_iter();
    let offer = offers.next().expect("the backend that was demanded");
    offer.unkept.into_iter().map(|unkept| unkept.promise)
}
