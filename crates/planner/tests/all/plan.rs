//! The kernel's tables of a policy, apart from its rules.

use takt_algo::sys::{
    TAKT_PACING_GAP, TAKT_PACING_TIMER, TAKT_PER_FLOW_CLOCKS, TAKT_PER_FLOW_QUEUE,
    TAKT_STATIONS_MAC, TAKT_STATIONS_NONE, takt_class_params as Params, takt_plan as Tables,
};
use takt_planner::{ClassIds, Plan, Question, Questions, plan};
use takt_policy::{Link, User, parse};

/// The defaults of `target` and `interval`.
const TARGET_NS: u32 = 5_000_000;
const INTERVAL_NS: u32 = 100_000_000;
const MBIT: u64 = 1_000_000;

fn links(text: &str) -> Vec<Link> {
    parse("plan.toml", text)
        .unwrap_or_else(|error| panic!("{error}"))
        .links
}

fn planned(text: &str, before: &ClassIds) -> Plan {
    let links = links(text);
    plan(&links[0], before, &Questions::of(&links)).expect("fits")
}

fn class(plan: &Plan, name: &str) -> Params {
    plan.tables.class_params[plan.ids.id(name).expect("planned") as usize]
}

fn tenant(plan: &Plan, name: &str) -> Params {
    plan.tables.class_params[plan.ids.tenant_id(name).expect("planned") as usize]
}

const TENANTS: &str = r#"
    [link.eth0]
    packets = "mtu"
    rate = "1gbit"
    [[link.eth0.tenant]]
    name = "acme"
    rate = "300mbit"
    ceil = "1gbit"
    floor = "10mbit"
    [[link.eth0.tenant]]
    name = "zeta"
    priority = 2
    weight = 1.5
    [[link.eth0.class]]
    name = "acme"
    tenant = "zeta"
    rate = "25mbit"
    ceil = "100mbit"
    per_flow = true
    match = { src_port = 1 }
    [[link.eth0.class]]
    name = "b"
    tenant = "acme"
    floor = "1mbit"
    match = { src_port = 2 }
    [[link.eth0.class]]
    name = "c"
    ceil = "50mbit"
    queue_packets = 7
    match = { src_port = 3 }
"#;

#[test]
fn classes_and_tenants_have_their_shares() {
    let plan = planned(TENANTS, &ClassIds::default());
    let (acme, zeta) = (
        plan.ids.node("acme").unwrap() as u8,
        plan.ids.node("zeta").unwrap() as u8,
    );
    assert_eq!((acme, zeta), (1, 2));
    let expected = Params {
        rate_bps: 300 * MBIT,
        ceil_bps: 0,
        weight_bps: 300 * MBIT,
        floor_bps: 10 * MBIT,
        priority: 3,
        heads: acme,
        ..Params::default()
    };
    assert_eq!(tenant(&plan, "acme"), expected);
    let expected = Params {
        weight_bps: 1_500_000,
        priority: 2,
        heads: zeta,
        ..Params::default()
    };
    assert_eq!(tenant(&plan, "zeta"), expected);
    let expected = Params {
        rate_bps: 25 * MBIT,
        ceil_bps: 100 * MBIT,
        weight_bps: 25 * MBIT,
        target_ns: TARGET_NS,
        interval_ns: INTERVAL_NS,
        spares_local: 1,
        queue_packets: 100,
        priority: 3,
        per_flow: TAKT_PER_FLOW_CLOCKS as u8,
        node: zeta,
        ..Params::default()
    };
    assert_eq!(class(&plan, "acme"), expected);
    let expected = Params {
        weight_bps: MBIT,
        floor_bps: MBIT,
        target_ns: TARGET_NS,
        interval_ns: INTERVAL_NS,
        per_flow: TAKT_PER_FLOW_QUEUE as u8,
        queue_packets: 4000,
        priority: 6,
        node: acme,
        ..Params::default()
    };
    assert_eq!(class(&plan, "b"), expected);
    let expected = Params {
        ceil_bps: 50 * MBIT,
        weight_bps: MBIT,
        target_ns: TARGET_NS,
        interval_ns: INTERVAL_NS,
        spares_local: 1,
        per_flow: TAKT_PER_FLOW_QUEUE as u8,
        queue_packets: 7,
        priority: 6,
        ..Params::default()
    };
    assert_eq!(class(&plan, "c"), expected);
    let expected = Params {
        weight_bps: MBIT,
        target_ns: TARGET_NS,
        interval_ns: INTERVAL_NS,
        per_flow: TAKT_PER_FLOW_QUEUE as u8,
        queue_packets: 4000,
        priority: 6,
        ..Params::default()
    };
    assert_eq!(class(&plan, "default"), expected);
    assert_eq!(heads(&plan.tables), heads_by_name(&plan));
    assert_eq!(plan.ids.classes().count() + plan.ids.tenants().count(), 6);
}

/// The nodes, and the ids of their tenants.
fn heads(tables: &Tables) -> Vec<(usize, u32)> {
    let groups = tables.tenant.iter().map(|id| u32::from(*id)).enumerate();
    groups.filter(|(_, id)| *id != 0).collect()
}

fn heads_by_name(plan: &Plan) -> Vec<(usize, u32)> {
    let tenants = plan.ids.tenants();
    let mut heads: Vec<_> = tenants
        .map(|(name, id)| (plan.ids.node(name).expect("planned") as usize, id))
        .collect();
    heads.sort_unstable();
    heads
}

#[test]
fn a_ceiling_at_the_links_rate_is_the_links() {
    let ceil_bps = |keys: &str| {
        let text = format!(
            "[link.eth0]\nrate = \"1gbit\"\n[[link.eth0.class]]\nname = \"default\"\n{keys}\n"
        );
        class(&planned(&text, &ClassIds::default()), "default").ceil_bps
    };
    assert_eq!(ceil_bps(""), 0);
    assert_eq!(ceil_bps("ceil = \"1gbit\""), 0);
    assert_eq!(ceil_bps("rate = \"999mbit\"\nceil = \"1gbit\""), 0);
    assert_eq!(ceil_bps("rate = \"999mbit\""), 999 * MBIT);
    assert_eq!(ceil_bps("rate = \"1gbit\""), 1000 * MBIT, "paced");
    assert_eq!(ceil_bps("ceil = \"999mbit\""), 999 * MBIT);
}

#[test]
fn names_that_stay_keep_their_places() {
    let first = planned(TENANTS, &ClassIds::default());
    let text = r#"
        [link.eth0]
        rate = "1gbit"
        pacing = "gap"
        [[link.eth0.tenant]]
        name = "new"
        [[link.eth0.tenant]]
        name = "zeta"
        [[link.eth0.class]]
        name = "zeta"
        tenant = "zeta"
        match = { src_port = 3 }
        [[link.eth0.class]]
        name = "c"
        tenant = "new"
        match = { src_port = 4 }
    "#;
    let second = planned(text, &first.ids);
    assert_eq!((first.tables.flows, second.tables.flows), (1, 1));
    assert_eq!(first.tables.pacing, TAKT_PACING_TIMER);
    assert_eq!(second.tables.pacing, TAKT_PACING_GAP);
    for name in ["c", "default"] {
        assert_eq!(second.ids.id(name), first.ids.id(name));
    }
    assert_eq!(second.ids.tenant_id("zeta"), first.ids.tenant_id("zeta"));
    assert_eq!(second.ids.node("zeta"), first.ids.node("zeta"));
    assert_eq!(second.ids.node("new"), Some(3), "an untouched one");
    assert_eq!(u32::from(class(&second, "c").node), 3);
    assert_eq!(heads(&second.tables), heads_by_name(&second));

    // The tenant acme, and the classes acme and b.
    let mut left: Vec<u32> = second.ids.leaving().collect();
    left.sort_unstable();
    let mut expected = [
        first.ids.tenant_id("acme"),
        first.ids.id("acme"),
        first.ids.id("b"),
    ]
    .map(Option::unwrap);
    expected.sort_unstable();
    assert_eq!(left, expected);
    for id in left {
        let expected = Params {
            weight_bps: MBIT,
            priority: 6,
            ..Params::default()
        };
        assert_eq!(second.tables.class_params[id as usize], expected);
    }
}

#[test]
fn questions_are_those_of_all_links_in_file_order() {
    let links = links(
        r#"
        [link.z]
        rate = "1gbit"
        [[link.z.class]]
        name = "a"
        match = [{ user = 7, unit = "x.service" }, { app = "y" }]
        [link.a]
        rate = "1gbit"
        [[link.a.class]]
        name = "a"
        match = [{ cgroup = "c" }, { app = "y", proto = "tcp" }, { user = "bob" }]
        "#,
    );
    let questions = Questions::of(&links);
    let expected = [
        Question::User(User::Id(7)),
        Question::Unit("x.service".to_owned()),
        Question::App("y".to_owned()),
        Question::Cgroup("c".to_owned()),
        Question::User(User::Name("bob".to_owned())),
    ];
    assert!(questions.iter().eq(&expected));
    for (bit, question) in (0..).zip(&expected) {
        assert_eq!(questions.bit(question), Some(bit));
    }

    let second = plan(&links[1], &ClassIds::default(), &questions).expect("fits");
    let rules = &second.tables.rules;
    let asked = rules.tuple[..rules.tuples as usize]
        .iter()
        .map(|tuple| tuple.mask.who);
    let asked: Vec<u32> = asked.collect();
    assert_eq!(asked, [1 << 3, 1 << 2, 1 << 4]);
    assert_eq!(rules.need_who, 1);
    assert_eq!(
        planned(TENANTS, &ClassIds::default()).tables.rules.need_who,
        0
    );
}

#[test]
fn what_nobody_asks_matches_nothing() {
    let links = links(
        "[link.eth0]\nrate = \"1gbit\"\n[[link.eth0.class]]\nname = \"a\"\nmatch = { app = \"x\" }\n",
    );
    let plan = plan(&links[0], &ClassIds::default(), &Questions::default()).expect("fits");
    assert_eq!(plan.tables.rules.tuples, 0);
}

const BACKGROUND: &str = r#"
    [link.eth0]
    rate = "10mbit"
    [[link.eth0.class]]
    name = "backup"
    priority = "background"
    rate = "1mbit"
    floor = "100kbit"
    per_flow = true
    match = { dst_port = 873 }
    [[link.eth0.class]]
    name = "sync"
    priority = "background"
    receive = false
    match = { dst_port = 874 }
    [[link.eth0.class]]
    name = "web"
    match = { dst_port = 443 }
"#;

#[test]
fn what_comes_in_is_gated_and_ordered_and_not_limited() {
    let plan = planned(BACKGROUND, &ClassIds::default());
    let id = |name| plan.ids.id(name).unwrap() as usize;
    let receives = |name| plan.tables.class_params[id(name)].receive;
    assert_eq!(
        (receives("backup"), receives("sync"), receives("web")),
        (1, 0, 0)
    );

    let side = plan.receive.as_ref().expect("a class receives");
    assert_eq!((side.receives, side.gated), (1, 1));
    assert_eq!(side.link.rate_bps, 400_000 * MBIT);
    let expected = Params {
        weight_bps: MBIT,
        floor_bps: MBIT / 10,
        spares_local: 1,
        queue_packets: 1000,
        gated: 1,
        priority: 7,
        ..Params::default()
    };
    assert_eq!(side.class_params[id("backup")], expected);
    for other in ["sync", "web"] {
        assert_eq!(side.class_params[id(other)].queue_packets, 0);
    }
    assert_eq!(side.rules.default_class as usize, id("backup"));

    let without = BACKGROUND.replace("per_flow = true", "receive = false");
    assert!(planned(&without, &ClassIds::default()).receive.is_none());
}

/// And no connection is bound to its class there: it may reach its station by another address.
#[test]
fn stations_are_told_apart_on_the_links_of_radio_and_nowhere_else() {
    let text = "[link.eth0]\nrate = \"1gbit\"\n\
                [link.wlan0]\nrate = \"20mbit\"\n\
                [[link.wlan0.class]]\nname = \"bulk\"\npriority = \"background\"\n\
                match = { dst_port = 873 }\n\
                [radio]\n";
    let stations_of = |text: &str| -> Vec<(u32, u32, u16, u32)> {
        let links = links(text);
        let questions = Questions::of(&links);
        let planned = |link| plan(link, &ClassIds::default(), &questions).expect("fits");
        links
            .iter()
            .map(|link| {
                let plan = planned(link);
                // Incoming packets have no station.
                let receive = plan.receive.iter().map(|tables| tables.stations);
                assert!(receive.eq(plan.receive.iter().map(|_| TAKT_STATIONS_NONE)));
                let default = plan.tables.class_params[plan.tables.rules.default_class as usize];
                (
                    plan.tables.stations,
                    plan.tables.sticky,
                    default.queue_packets,
                    plan.tables.station_burst_bytes,
                )
            })
            .collect()
    };
    // As many frames as a transmission has, or what the link carries in 4 ms.
    let fast = (TAKT_STATIONS_MAC, 0, 100, 64 * 1514);
    let slow = (TAKT_STATIONS_MAC, 0, 100, 10_000);
    let wire = (TAKT_STATIONS_NONE, 1, 4000, 0);
    assert_eq!(stations_of(text), [fast, slow]);
    assert_eq!(
        stations_of(&format!("{text}links = [\"wlan0\"]\n")),
        [wire, slow]
    );
    let client =
        "links = []\nreport_to = \"192.0.2.1:7641\"\ndevice = \"wlan0\"\nkey_file = \"k\"\n";
    assert_eq!(stations_of(&format!("{text}{client}")), [wire, wire]);
    assert_eq!(
        stations_of(text.strip_suffix("[radio]\n").unwrap()),
        [wire, wire]
    );
}

#[test]
fn rules_have_the_dscp_that_classes_set() {
    let text = "[link.eth0]\nrate = \"1gbit\"\n\
                [[link.eth0.class]]\nname = \"calls\"\nmatch = { dscp = 46 }\nset_dscp = 34\n";
    let rules = |text: &str| {
        let plan = planned(text, &ClassIds::default());
        let of = |name: &str| plan.tables.rules.dscp[plan.ids.id(name).unwrap() as usize];
        (plan.tables.rules.sets_dscp, of("calls"), of("default"))
    };
    assert_eq!(rules(text), (1, 35, 0));
    assert_eq!(
        rules(&text.replacen("rate", "wash = true\nrate", 1)),
        (1, 35, 1)
    );
    assert_eq!(rules(&text.replace("set_dscp = 34\n", "")), (0, 0, 0));
}
