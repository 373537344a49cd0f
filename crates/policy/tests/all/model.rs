//! What a policy means: the defaults, the units, the normal forms.

use serde_json::json;
use takt_policy::{
    AqmKind, Beyond, Cells, Code, Crowd, CrowdRole, Family, Framing, Gate, Link, Mark, OnConflict,
    Pacing, Packets, Point, Question, Radio, RadioSource, Report, Tenant, User, WeightLaw,
    format_rate, parse,
};

fn link(text: &str) -> Link {
    let policy = parse("model.toml", text).unwrap_or_else(|error| panic!("{error}"));
    policy.links.into_iter().next().unwrap()
}

fn links(text: &str) -> Vec<Link> {
    let policy = parse("model.toml", text).unwrap_or_else(|error| panic!("{error}"));
    policy.links
}

/// The only match of the only class.
fn terms(entry: &str) -> takt_policy::Match {
    let link = link(&format!(
        "[link.eth0]\nrate = \"1gbit\"\n[[link.eth0.class]]\nname = \"a\"\nmatch = {entry}\n"
    ));
    link.classes[0].matches[0].clone()
}

fn codes(text: &str) -> Vec<&'static str> {
    let found = parse("model.toml", text).expect_err("refused");
    found.iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn a_link_alone_has_the_default_class() {
    let link = link("\n[link.eth0]\nrate = \"2.5gbit\"\n");
    assert_eq!(link.rate_bps, 2_500_000_000);
    assert_eq!(link.framing, Framing::default());
    assert_eq!(link.pacing, Pacing::Timer);
    assert_eq!(link.packets, Packets::Auto);
    assert_eq!(link.tenants, []);
    assert_eq!(link.lag_max_ns, 10_000_000);
    let [default] = link.classes.as_slice() else {
        panic!("one class");
    };
    assert!(default.is_default && !default.per_flow && default.matches.is_empty());
    assert_eq!(default.name, "default");
    assert_eq!((default.rate_bps, default.ceil_bps), (None, None));
    assert_eq!((default.weight_milli, default.floor_bps), (1000, None));
    assert_eq!(default.tenant, None);
    assert_eq!(default.priority, 6);
    assert_eq!(default.queue_packets, 4000);
    assert_eq!(default.aqm.kind, AqmKind::FqCodel);
    assert_eq!(
        (default.aqm.target_ns, default.aqm.interval_ns),
        (5_000_000, 100_000_000)
    );
    assert_eq!(default.line, 2);
}

#[test]
fn a_timer_may_be_late_by_a_hundredth_of_the_fastest_classs_spacing() {
    let slack_ns = |of_link: &str, classes: &str| {
        let text = format!("[link.eth0]\nrate = \"1gbit\"\n{of_link}{classes}");
        parse("test.toml", &text).expect("a policy").links[0].slack_ns
    };
    let class = |name: &str, port: u16, rate: &str| {
        format!(
            "[[link.eth0.class]]\nname = \"{name}\"\nmatch = {{ dst_port = {port} }}\nrate = \"{rate}\"\n"
        )
    };
    // Without a paced class the link's own rate is what is paced.
    assert_eq!(slack_ns("", ""), 121);
    assert_eq!(slack_ns("", &class("slow", 1, "1mbit")), 10_000);
    let two = class("slow", 1, "1mbit") + &class("fast", 2, "100mbit");
    assert_eq!(slack_ns("", &two), 1_211);
    assert_eq!(slack_ns("slack = \"0us\"\n", &two), 0);
    assert_eq!(slack_ns("slack = \"1ms\"\n", &two), 1_000_000);
}

#[test]
fn a_class_has_twice_the_links_burst_but_no_shorter_one_than_tcps() {
    let bursts_us = |of_link: &str, of_class: &str| {
        let link = link(&format!(
            "[link.eth0]\nrate = \"1gbit\"\n{of_link}\n[[link.eth0.class]]\nname = \"web\"\n\
             match = {{ proto = \"tcp\" }}\n{of_class}\n"
        ));
        let classes = link.classes.iter().map(|class| class.burst_ns / 1000);
        (link.burst_ns / 1000, classes.collect::<Vec<_>>())
    };
    assert_eq!(bursts_us("", ""), (1000, vec![2000, 2000]));
    let flows = "rate = \"1mbit\"\nper_flow = true";
    assert_eq!(bursts_us("", flows), (1000, vec![1000, 2000]));
    assert_eq!(bursts_us("burst = \"4ms\"", ""), (4000, vec![8000, 8000]));
    assert_eq!(bursts_us("burst = \"50us\"", ""), (50, vec![1000, 1000]));
    let most = bursts_us("burst = \"100ms\"", "");
    assert_eq!(most, (100_000, vec![100_000, 100_000]));
    let own = bursts_us("burst = \"50us\"", "burst = \"100ms\"");
    assert_eq!(own, (50, vec![100_000, 1000]));
}

#[test]
fn classes_keep_their_order_and_have_their_defaults() {
    let link = link(
        r#"
        [link.eth0]
        rate = "1gbit"
        overhead = 24
        packets = "gso"
        lag_max = "0.1ms"
        [[link.eth0.class]]
        name = "default"
        rate = "1mbit"
        [[link.eth0.class]]
        name = "z"
        rate = "10mbit"
        match = { proto = "tcp" }
        [[link.eth0.class]]
        name = "a"
        priority = "background"
        queue_packets = 65535
        match = { proto = "udp" }
        "#,
    );
    assert_eq!(link.framing.overhead_bytes, 24);
    assert_eq!(link.packets, Packets::Gso);
    assert_eq!(link.lag_max_ns, 100_000);
    let seen: Vec<_> = link
        .classes
        .iter()
        .map(|c| {
            (
                c.name.as_str(),
                c.rate_bps,
                c.ceil_bps,
                c.priority,
                c.queue_packets,
                c.line,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("default", Some(1_000_000), Some(1_000_000), 3, 1000, 7),
            ("z", Some(10_000_000), Some(10_000_000), 3, 1000, 10),
            ("a", None, None, 7, 65535, 14),
        ]
    );
}

#[test]
fn shares_have_their_defaults() {
    let link = link(
        r#"
        [link.eth0]
        rate = "1gbit"
        pacing = "gap"
        [[link.eth0.tenant]]
        name = "acme"
        rate = "300mbit"
        floor = "10mbit"
        [[link.eth0.tenant]]
        name = "zeta"
        ceil = "500mbit"
        weight = 0x2
        priority = 0
        [[link.eth0.class]]
        name = "acme"
        tenant = "acme"
        match = { proto = "tcp" }
        [[link.eth0.class]]
        name = "b"
        tenant = "zeta"
        rate = "1.3mbit"
        ceil = "100mbit"
        per_flow = true
        match = { proto = "udp" }
        [[link.eth0.class]]
        name = "c"
        tenant = "zeta"
        ceil = "100mbit"
        floor = "1mbit"
        weight = 1.500
        per_flow = true
        queue_packets = 7
        match = { proto = "icmp" }
        "#,
    );
    assert_eq!(link.pacing, Pacing::Gap);
    let tenant = |name: &str, line| Tenant {
        name: name.to_owned(),
        rate_bps: None,
        ceil_bps: None,
        weight_milli: 1000,
        floor_bps: None,
        priority: 6,
        line,
    };
    assert_eq!(
        link.tenants,
        [
            Tenant {
                rate_bps: Some(300_000_000),
                ceil_bps: Some(300_000_000),
                weight_milli: 300_000,
                floor_bps: Some(10_000_000),
                priority: 3,
                ..tenant("acme", 5)
            },
            Tenant {
                ceil_bps: Some(500_000_000),
                weight_milli: 2000,
                priority: 0,
                ..tenant("zeta", 9)
            },
        ]
    );
    let seen: Vec<_> = link
        .classes
        .iter()
        .map(|c| {
            (
                c.tenant.as_deref(),
                (c.rate_bps, c.ceil_bps, c.floor_bps),
                c.weight_milli,
                c.priority,
                (c.per_flow, c.queue_packets),
            )
        })
        .collect();
    let (mbit, ceil) = (Some(1_000_000), Some(100_000_000));
    assert_eq!(
        seen,
        [
            (Some("acme"), (None, None, None), 1000, 6, (false, 4000)),
            (
                Some("zeta"),
                (Some(1_300_000), ceil, None),
                1300,
                3,
                (true, 100)
            ),
            (Some("zeta"), (None, ceil, mbit), 1500, 6, (true, 7)),
            (None, (None, None, None), 1000, 6, (false, 4000)),
        ]
    );
}

#[test]
fn weights_are_kept_to_the_third_decimal() {
    for (text, milli) in [
        ("1", 1000),
        ("0.001", 1),
        ("2.50000", 2500),
        ("400000", 400_000_000),
        ("1_000.5", 1_000_500),
    ] {
        let link = link(&format!(
            "[link.eth0]\nrate = \"1gbit\"\n[[link.eth0.class]]\nname = \"default\"\nweight = {text}\n"
        ));
        assert_eq!(link.classes[0].weight_milli, milli, "{text}");
    }
}

#[test]
fn owners_are_brought_to_their_normal_form() {
    let user = |entry: &str| terms(entry).user;
    assert_eq!(user("{ user = 1000 }"), Some(User::Id(1000)));
    assert_eq!(user(r#"{ user = "1000" }"#), Some(User::Id(1000)));
    assert_eq!(user("{ user = 0 }"), Some(User::Id(0)));
    for name in ["alice", "www-data", "alice@example.com", "_apt"] {
        assert_eq!(
            user(&format!("{{ user = \"{name}\" }}")),
            Some(User::Name(name.to_owned()))
        );
    }
    for text in ["a.slice/b", "/a.slice/b", "a.slice/b/"] {
        let cgroup = terms(&format!("{{ cgroup = \"{text}\" }}")).cgroup;
        assert_eq!(cgroup.as_deref(), Some("a.slice/b"));
    }
    let all = terms(
        r#"{ app = "tmux: server", user = "bob", cgroup = "x", unit = "a@b.service", registered = true, proto = 6 }"#,
    );
    assert_eq!(
        all.questions().collect::<Vec<_>>(),
        [
            Question::App("tmux: server".to_owned()),
            Question::User(User::Name("bob".to_owned())),
            Question::Cgroup("x".to_owned()),
            Question::Unit("a@b.service".to_owned()),
            Question::Registered,
        ]
    );
}

#[test]
fn links_come_in_file_order() {
    let text =
        "[link.z]\nrate=\"1gbit\"\n[link.a]\nrate=\"1gbit\"\n[link.\"m.1\"]\nrate=\"1gbit\"\n";
    let policy = parse("model.toml", text).unwrap();
    let devices: Vec<_> = policy
        .links
        .iter()
        .map(|link| link.device.as_str())
        .collect();
    assert_eq!(devices, ["z", "a", "m.1"]);
}

#[test]
fn rates_are_as_tc_has_them() {
    for (text, bps) in [
        ("1000bit", 1_000),
        ("1kbit", 1_000),
        ("1.5mbit", 1_500_000),
        ("1Gbit", 1_000_000_000),
        ("0.4tbit", 400_000_000_000),
        ("1kibit", 1_024),
        ("1mibit", 1_048_576),
        ("1.3mibit", 1_363_149),
        ("1gibit", 1_073_741_824),
        ("125bps", 1_000),
        ("1kbps", 8_000),
        ("1mbps", 8_000_000),
        ("1gbps", 8_000_000_000),
        ("25.000mbit", 25_000_000),
        ("0.000000001tbit", 1_000),
    ] {
        let link = link(&format!("[link.eth0]\nrate = \"{text}\"\n"));
        assert_eq!(link.rate_bps, bps, "{text}");
    }
}

#[test]
fn a_match_is_brought_to_its_normal_form() {
    let ports = terms(r#"{ dst_port = "443, 80,81-90,8000-8100,91,8050-8200" }"#);
    assert_eq!(ports.dst_ports, [80..=91, 443..=443, 8000..=8200]);
    assert_eq!(ports.proto, None);
    assert_eq!(
        terms(r#"{ src_port = "0-65535,7" }"#).src_ports,
        [0..=65535]
    );

    let host = terms(r#"{ src = "192.0.2.10", proto = "UDP" }"#);
    assert_eq!(host.family, Some(Family::Ipv4));
    assert_eq!(host.src.map(|prefix| prefix.len), Some(32));
    assert_eq!(host.proto, Some(17));

    let any_ipv6 = terms(r#"{ dst = "::/0" }"#);
    assert_eq!((any_ipv6.family, any_ipv6.dst), (Some(Family::Ipv6), None));
    assert_eq!(terms(r#"{ proto = "icmp6" }"#).family, Some(Family::Ipv6));

    for (text, dscp) in [
        ("\"ef\"", 46),
        ("\"af43\"", 38),
        ("\"cs5\"", 40),
        ("\"le\"", 1),
        ("63", 63),
    ] {
        assert_eq!(terms(&format!("{{ dscp = {text} }}")).dscp, Some(dscp));
    }
    let mark = terms(r#"{ mark = "0x10/0xff" }"#).mark;
    assert_eq!(
        mark,
        Some(Mark {
            value: 0x10,
            mask: 0xff
        })
    );
    assert_eq!(
        terms("{ mark = 0x10 }").mark,
        Some(Mark {
            value: 16,
            mask: u32::MAX
        })
    );
}

#[test]
fn as_many_classes_as_a_link_can_have_and_not_one_more() {
    let policy = |classes: usize| {
        let mut text = String::from("[link.eth0]\nrate = \"1gbit\"\n");
        for n in 1..=classes {
            text.push_str(&format!(
                "[[link.eth0.class]]\nname = \"c{n}\"\nmatch = {{ dst_port = {n} }}\n"
            ));
        }
        text
    };
    assert_eq!(link(&policy(4094)).classes.len(), 4095);
    assert_eq!(codes(&policy(4095)), [Code::TooManyClasses.as_str()]);
}

#[test]
fn tenants_take_places_of_classes_and_are_bounded_themselves() {
    let policy = |tenants: usize, classes: usize| {
        let mut text = String::from("[link.eth0]\nrate = \"1gbit\"\n");
        for n in 1..=tenants {
            text.push_str(&format!("[[link.eth0.tenant]]\nname = \"c{n}\"\n"));
        }
        for n in 1..=classes {
            let tenant = n.min(tenants);
            text.push_str(&format!(
                "[[link.eth0.class]]\nname = \"c{n}\"\ntenant = \"c{tenant}\"\n\
                 match = {{ dst_port = {n} }}\n"
            ));
        }
        text
    };
    assert_eq!(link(&policy(63, 4031)).tenants.len(), 63);
    assert_eq!(codes(&policy(63, 4032)), [Code::TooManyClasses.as_str()]);
    assert_eq!(codes(&policy(64, 64))[0], Code::TooManyTenants.as_str());
}

#[test]
fn the_same_question_counts_once() {
    let mut text = String::new();
    for device in ["a", "b"] {
        text.push_str(&format!(
            "[link.{device}]\nrate = \"1gbit\"\n[[link.{device}.class]]\nname = \"x\"\nmatch = ["
        ));
        for user in 0..32 {
            text.push_str(&format!("{{ user = {user} }}, "));
        }
        text.push_str("]\n");
    }
    assert!(parse("model.toml", &text).is_ok());
    text.push_str("[[link.b.class]]\nname = \"y\"\nmatch = { user = 32 }\n");
    assert_eq!(codes(&text), [Code::TooManyQuestions.as_str()]);
}

#[test]
fn diagnostics_tell_programs_what_they_tell_people() {
    let found = parse("a.toml", "[link.eth0]\nrate = \"25mb\"\n").expect_err("refused");
    assert_eq!(
        found.to_json(),
        json!([{
            "code": "takt::policy::bad_unit",
            "severity": "error",
            "message": "`mb` is not a unit of rate",
            "help": "write \"25mbit\" for megabits per second, or \"25mbps\" for megabytes per second",
            "file": "a.toml",
            "line": 2,
            "column": 8,
            "offending": "\"25mb\"",
        }])
    );
}

#[test]
fn what_only_the_host_knows_is_told_at_the_devices_name() {
    let text = "[link.a]\nrate = \"1gbit\"\n[link.eth7]\nrate = \"1gbit\"\n";
    let policy = parse("a.toml", text).unwrap();
    let error = policy.device_error(
        "eth7",
        "takt::device::missing",
        "there is no eth7",
        "see `ip link`",
    );
    let error = error.to_json();
    assert_eq!(error[0]["line"], 3);
    assert_eq!(error[0]["column"], 7);
    assert_eq!(error[0]["offending"], "eth7");
}

#[test]
fn every_code_has_a_name_and_an_explanation() {
    let names: std::collections::BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(names.len(), Code::ALL.len(), "names are unique");
    for code in Code::ALL {
        assert!(code.explanation().len() > 60, "{code} is hardly explained");
        assert!(
            code.explanation().lines().all(|line| line.len() <= 100),
            "{code} has long lines"
        );
        assert_eq!(Code::find(code.as_str()), Some(*code));
    }
    assert_eq!(Code::find("policy::bad_unit"), Some(Code::BadUnit));
    assert_eq!(Code::find("takt::policy::nothing"), None);
}

proptest::proptest! {
    #[test]
    fn rates_round_trip(rate_bps in 1_000u64..=400_000_000_000) {
        let text = format!("[link.eth0]\nrate = \"{}\"\n", format_rate(rate_bps));
        proptest::prop_assert_eq!(link(&text).rate_bps, rate_bps);
    }

    #[test]
    fn round_rates_round_trip(digits in 1u64..400, exponent in 3u32..10) {
        let rate_bps = digits * 10u64.pow(exponent);
        let text = format!("[link.eth0]\nrate = \"{}\"\n", format_rate(rate_bps));
        proptest::prop_assert_eq!(link(&text).rate_bps, rate_bps);
    }
}

const WLAN: &str = "[link.wlan0]\nrate = \"20mbit\"\n[link.eth0]\nrate = \"1gbit\"\n";

/// What the policy says of radio, and which of its links have stations.
fn radio(text: &str) -> (Radio, Vec<bool>) {
    let policy = parse("model.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let links = policy.links.iter().map(|link| link.has_stations).collect();
    (policy.radio.unwrap(), links)
}

#[test]
fn a_table_of_radio_alone_has_its_defaults() {
    let (radio, links) = radio(&format!("{WLAN}[radio]\n"));
    let points = [(0, 0), (400, 200_000), (1_000, 800_000), (1_400, 1_000_000)];
    let points = points.map(|(soc_centidb, weight_ppm)| Point {
        soc_centidb,
        weight_ppm,
    });
    let defaults = Radio {
        interval_ns: 200_000_000,
        smoothing_ppm: 500_000,
        decay_ppm: 700_000,
        law: WeightLaw::Piecewise {
            points: points.to_vec(),
        },
        links: None,
        source: RadioSource::None,
        listen: 7641,
        key_file: None,
        report: None,
    };
    assert_eq!(radio, defaults);
    assert_eq!(links, [true, true]);
    let of_each = parse("model.toml", &format!("{WLAN}[radio]\n")).unwrap();
    assert_eq!(of_each.links[0].classes[0].queue_packets, 100);
    let without = parse("model.toml", WLAN).unwrap();
    assert!(without.radio.is_none() && without.links.iter().all(|link| !link.has_stations));
}

#[test]
fn radio_says_what_it_means() {
    let (radio, links) = radio(&format!(
        r#"
        {WLAN}
        [radio]
        interval = "20ms"
        smoothing = 1
        decay = 0
        weight = "gb"
        threshold = -1.5
        links = ["wlan0"]
        source = "file"
        file = "snr.txt"
        key_file = "/etc/radio.key"
        report_to = "[2001:db8::1]:99"
        device = "wlan1"
        "#
    ));
    assert_eq!(links, [true, false]);
    assert_eq!(radio.interval_ns, 20_000_000);
    assert_eq!((radio.smoothing_ppm, radio.decay_ppm), (1_000_000, 0));
    let threshold_centidb = -150;
    assert_eq!(radio.law, WeightLaw::GoodBad { threshold_centidb });
    assert_eq!(radio.source, RadioSource::File("snr.txt".into()));
    let report = Report {
        to: "[2001:db8::1]:99".parse().unwrap(),
        device: "wlan1".to_owned(),
    };
    assert_eq!(radio.report, Some(report));
}

#[test]
fn reports_are_the_source_where_there_is_a_key_and_somebody_to_weigh() {
    let client = "report_to = \"192.0.2.1:7641\"\ndevice = \"wlan0\"\n";
    let key = "[radio]\nkey_file = \"radio.key\"\n";
    let source = |text: String| radio(&text).0.source;
    assert_eq!(source(format!("{WLAN}{key}")), RadioSource::Reports);
    assert_eq!(source(format!("{key}{client}")), RadioSource::None);
    let no_links = format!("{WLAN}{key}links = []\n{client}");
    assert_eq!(radio(&no_links).1, [false, false]);
    assert_eq!(source(no_links), RadioSource::None);
}

#[test]
fn points_are_pairs_of_a_strength_and_a_weight() {
    let (radio, _) = radio(&format!(
        "{WLAN}[radio]\npoints = [[-20, 0], [-0.25, 0.5], [60, 0.5]]\n"
    ));
    let points = [(-2_000, 0), (-25, 500_000), (6_000, 500_000)];
    let points = points.map(|(soc_centidb, weight_ppm)| Point {
        soc_centidb,
        weight_ppm,
    });
    let points = points.to_vec();
    assert_eq!(radio.law, WeightLaw::Piecewise { points });
}

const CROWD: &str = "[crowd]\ngroup = \"lab\"\nkey_file = \"crowd.key\"\ndevice = \"wlan0\"\n";

#[test]
fn a_crowd_is_a_policy_and_has_its_defaults() {
    let policy = parse("model.toml", CROWD).unwrap_or_else(|error| panic!("{error}"));
    let crowd = Crowd {
        group: "lab".to_owned(),
        key_file: "crowd.key".into(),
        device: "wlan0".to_owned(),
        interval_ns: 200_000_000,
        downloads: false,
        role: CrowdRole::Multicast,
    };
    assert_eq!(policy.crowd, Some(crowd));
    assert!(policy.links.is_empty() && policy.radio.is_none());
}

#[test]
fn a_crowd_has_an_aggregator_or_is_one() {
    let role = |more: &str| {
        let policy = parse("model.toml", &format!("{CROWD}{more}\n"));
        let crowd = policy.unwrap_or_else(|error| panic!("{error}")).crowd;
        crowd.map(|crowd| (crowd.has_bounds(), crowd.role))
    };
    let by = "192.0.2.1:7642".parse().unwrap();
    assert_eq!(
        role("aggregator = \"192.0.2.1:7642\""),
        Some((true, CrowdRole::Aggregated { by }))
    );
    assert_eq!(
        role("aggregate = true"),
        Some((false, CrowdRole::Aggregator))
    );
    assert_eq!(
        role("aggregate = false"),
        Some((true, CrowdRole::Multicast))
    );
}

#[test]
fn an_access_point_thins_on_its_link_and_may_be_in_no_group() {
    let thinning = |text: &str| {
        let links = "[link.eth0]\nrate = \"1gbit\"\n[link.wlan0]\nrate = \"20mbit\"\n";
        let policy = parse("model.toml", &format!("{text}{links}"));
        let policy = policy.unwrap_or_else(|error| panic!("{error}"));
        let thins = policy.links.iter().map(|link| link.thins_acks);
        (
            thins.collect::<Vec<_>>(),
            policy.crowd.map(|crowd| crowd.role),
        )
    };
    let alone = "[crowd]\naccess_point = true\ndevice = \"wlan0\"\n";
    assert_eq!(thinning(alone), (vec![false, true], None));
    for (more, role) in [
        ("aggregate = true\n", CrowdRole::Aggregator),
        ("", CrowdRole::Multicast),
    ] {
        let member = format!("{CROWD}{more}access_point = true\n");
        assert_eq!(thinning(&member), (vec![false, true], Some(role.clone())));
        let plain = format!("{CROWD}{more}access_point = false\n");
        assert_eq!(thinning(&plain), (vec![false, false], Some(role)));
    }
}

#[test]
fn downloads_are_bounded_where_the_policy_says_so() {
    let policy = parse("model.toml", &format!("{CROWD}downloads = true\n"));
    let crowd = policy.unwrap_or_else(|error| panic!("{error}")).crowd;
    assert!(crowd.is_some_and(|crowd| crowd.downloads));
}

#[test]
fn what_only_the_host_knows_of_a_crowd_is_told_at_its_device() {
    let policy = parse("model.toml", CROWD).unwrap();
    let error = policy.device_error("wlan0", "takt::device::missing", "it is gone", "plug it in");
    assert_eq!(error.to_json()[0]["line"], 4);
}

#[test]
fn a_download_has_its_links_classes_the_other_way_round() {
    let links = links(
        "[link.wan0]\nrate = \"38mbit\"\noverhead = 18\non_conflict = \"restore\"\n\
         download = { rate = \"240mbit\" }\n\
         [[link.wan0.class]]\nname = \"web\"\nrate = \"2mbit\"\nceil = \"38mbit\"\n\
         match = [{ dst = \"192.0.2.0/24\", dst_port = 443, proto = \"tcp\" }, { mark = 1 }]\n\
         [[link.wan0.class]]\nname = \"mine\"\nmatch = { user = \"root\" }\n\
         [[link.wan0.class]]\nname = \"bulk\"\npriority = \"background\"\nmatch = { src_port = 1 }\n",
    );
    let [link, download] = links.as_slice() else {
        panic!("two links");
    };
    assert_eq!((&*link.device, &link.download_of), ("wan0", &None));
    assert!(link.classes.iter().all(|class| !class.receive));
    assert_eq!(download.device, "wan0.download");
    assert_eq!(download.download_of.as_deref(), Some("wan0"));
    assert_eq!(
        (download.rate_bps, download.framing.overhead_bytes),
        (240_000_000, 18)
    );
    assert_eq!(download.on_conflict, OnConflict::Restore);
    let names: Vec<&str> = download.classes.iter().map(|class| &*class.name).collect();
    assert_eq!(names, ["web", "bulk", "default"]);
    let [web, bulk, _] = download.classes.as_slice() else {
        panic!("three classes");
    };
    assert_eq!((web.rate_bps, web.ceil_bps), (Some(2_000_000), None));
    let [entry] = web.matches.as_slice() else {
        panic!("one match");
    };
    assert_eq!(
        (entry.src, entry.dst),
        (link.classes[0].matches[0].dst, None)
    );
    assert_eq!(
        (&*entry.src_ports, &*entry.dst_ports),
        (&[443..=443][..], &[][..])
    );
    assert_eq!((bulk.gate, bulk.receive), (Some(Gate::Open), false));
    assert_eq!(bulk.matches[0].dst_ports, [1..=1]);
}

#[test]
fn a_download_may_have_classes_of_its_own() {
    let links = links(
        "[link.wan0]\nrate = \"38mbit\"\n\
         [[link.wan0.class]]\nname = \"web\"\nrate = \"30mbit\"\nmatch = { dst_port = 443 }\n\
         [link.wan0.download]\nrate = \"10mbit\"\n\
         [[link.wan0.download.class]]\nname = \"calls\"\nrate = \"1mbit\"\nceil = \"10mbit\"\n\
         match = { src_port = 5060 }\n",
    );
    let download = &links[1];
    let calls = &download.classes[0];
    assert_eq!((&*calls.name, calls.ceil_bps), ("calls", Some(10_000_000)));
    assert_eq!(calls.matches[0].src_ports, [5060..=5060]);
    assert_eq!(download.classes.len(), 2);
}

#[test]
fn any_link_may_thin_acknowledgements_but_no_download() {
    let links =
        links("[link.wan0]\nrate = \"5mbit\"\nacks = \"thin\"\ndownload = { rate = \"99mbit\" }\n");
    let thins: Vec<bool> = links.iter().map(|link| link.thins_acks).collect();
    assert_eq!(thins, [true, false]);
}

#[test]
fn packets_get_the_dscp_of_their_class_or_link() {
    let links = links(
        "[link.wan0]\nrate = \"38mbit\"\nwash = true\ndownload = { rate = \"240mbit\" }\n\
         [[link.wan0.class]]\nname = \"calls\"\nmatch = { dscp = \"ef\" }\nset_dscp = \"AF41\"\n\
         [link.lan0]\nrate = \"1gbit\"\n\
         download = { rate = \"1gbit\", wash = true }\n\
         [[link.lan0.class]]\nname = \"bulk\"\nmatch = { dst_port = 1 }\nset_dscp = 1\n\
         [link.eth0]\nrate = \"1gbit\"\nwash = true\n\
         download = { rate = \"1gbit\", wash = false }\n",
    );
    let set = links.iter().map(|link| {
        let classes = link.classes.iter().map(|class| link.dscp_of(class));
        (&*link.device, classes.collect::<Vec<_>>(), link.sets_dscp())
    });
    assert_eq!(
        set.collect::<Vec<_>>(),
        [
            ("wan0", vec![Some(34), Some(0)], true),
            ("wan0.download", vec![Some(34), Some(0)], true),
            ("lan0", vec![Some(1), None], true),
            ("lan0.download", vec![Some(1), Some(0)], true),
            ("eth0", vec![Some(0)], true),
            ("eth0.download", vec![None], false),
        ]
    );
}

/// As docs/policy.md writes it out.
const DIFFSERV4: &str = r#"
[[link.wan0.class]]
name = "voice"
floor = "4mbit"
match = [
  { dscp = "cs4" }, { dscp = "cs5" }, { dscp = "cs6" }, { dscp = "cs7" }, { dscp = "va" }, { dscp = "ef" },
]
[[link.wan0.class]]
name = "video"
floor = "8mbit"
match = [
  { dscp = "cs2" }, { dscp = "cs3" }, { dscp = "af21" }, { dscp = "af22" }, { dscp = "af23" }, { dscp = "af31" },
  { dscp = "af32" }, { dscp = "af33" }, { dscp = "af41" }, { dscp = "af42" }, { dscp = "af43" }, { dscp = 4 },
]
[[link.wan0.class]]
name = "bulk"
floor = "1mbit"
match = [{ dscp = "cs1" }, { dscp = "le" }]
[[link.wan0.class]]
name = "default"
priority = 5
"#;

/// Without the lines of their classes.
fn at_any_line(mut links: Vec<Link>) -> Vec<Link> {
    for class in links.iter_mut().flat_map(|link| &mut link.classes) {
        class.line = 0;
    }
    links
}

#[test]
fn a_preset_is_the_policy_that_it_stands_for() {
    let own =
        "[[link.wan0.class]]\nname = \"calls\"\nrate = \"1mbit\"\nmatch = { dscp = \"ef\" }\n";
    for own in ["", own] {
        let link = "[link.wan0]\nrate = \"16mbit\"\n";
        let without_ef = match own {
            "" => DIFFSERV4.to_owned(),
            _ => DIFFSERV4.replace(", { dscp = \"ef\" },", ","),
        };
        let written = links(&format!("{link}{own}{without_ef}"));
        let mut preset = links(&format!("{link}preset = \"diffserv4\"\n{own}"));
        for class in &mut preset[0].classes {
            let of_own = |entry: &takt_policy::Match| !own.is_empty() && entry.dscp == Some(46);
            if class.name == "voice" {
                class.matches.retain(|entry| !of_own(entry));
            }
        }
        assert_eq!(at_any_line(preset), at_any_line(written));
    }
}

#[test]
fn a_download_has_its_links_preset_with_shares_of_its_own_rate() {
    let links = links(
        "[link.wan0]\nrate = \"16mbit\"\npreset = \"diffserv4\"\ndownload = { rate = \"1.6mbit\" }\n\
         [[link.wan0.class]]\nname = \"web\"\nmatch = { dst_port = 443 }\n\
         [link.lan0]\nrate = \"16mbit\"\npreset = \"diffserv4\"\n\
         [[link.lan0.class]]\nname = \"default\"\nweight = 2\n\
         [link.lan0.download]\nrate = \"32mbit\"\n\
         [link.eth0]\nrate = \"16mbit\"\n\
         download = { rate = \"32mbit\", preset = \"diffserv4\" }\n\
         [[link.eth0.class]]\nname = \"web\"\nmatch = { dst_port = 443 }\n\
         [link.eth1]\nrate = \"16mbit\"\npreset = \"diffserv4\"\n\
         [link.eth1.download]\nrate = \"32mbit\"\n\
         [[link.eth1.download.class]]\nname = \"web\"\nmatch = { src_port = 443 }\n",
    );
    let floors = |index: usize| {
        let link: &Link = &links[index];
        let classes = link.classes.iter();
        let floors =
            classes.map(|class| (&*class.name, class.floor_bps.unwrap_or_default() / 1000));
        floors.collect::<Vec<_>>()
    };
    let [web, default] = [("web", 0), ("default", 0)];
    let of_link = [("voice", 4000), ("video", 8000), ("bulk", 1000)];
    let of_download = [("voice", 8000), ("video", 16_000), ("bulk", 2000)];
    assert_eq!(floors(0), [&[web][..], &of_link, &[default]].concat());
    let slow = [("voice", 400), ("video", 800), ("bulk", 100)];
    assert_eq!(floors(1), [&[web][..], &slow, &[default]].concat());
    assert_eq!(links[1].classes[0].matches[0].src_ports, [443..=443]);
    // The default class of the file stays, in both directions.
    assert_eq!(floors(3), [&[default][..], &of_download].concat());
    assert_eq!(links[3].classes[0].weight_milli, 2000);
    // One of its own divides the download by itself, and so do classes.
    assert_eq!(floors(5), [&of_download[..], &[default]].concat());
    assert_eq!(floors(7), [web, default]);
}

#[test]
fn a_framing_has_a_name_or_parts() {
    let framings = |keys: &str, of_download: &str| {
        let links = links(&format!(
            "[link.wan0]\nrate = \"10mbit\"\n{keys}\n[link.wan0.download]\nrate = \"20mbit\"\n{of_download}\n"
        ));
        [links[0].framing, links[1].framing]
    };
    let vdsl2 = Framing {
        overhead_bytes: 30,
        min_frame_bytes: 0,
        cells: Cells::Ptm,
        beyond: Beyond::Packet,
    };
    let parts = Framing {
        overhead_bytes: 8,
        min_frame_bytes: 64,
        cells: Cells::Atm,
        beyond: Beyond::Frame,
    };
    let named = "framing = \"pppoe-vdsl2\"";
    let in_parts = "overhead = 8\nmin_frame = 64\ncells = \"atm\"";
    let least = Framing {
        min_frame_bytes: 64,
        ..Framing::default()
    };
    assert_eq!(framings(named, ""), [vdsl2, vdsl2]);
    assert_eq!(framings(in_parts, ""), [parts, parts]);
    // A download that says something of it says all.
    assert_eq!(framings(named, in_parts), [vdsl2, parts]);
    assert_eq!(framings(in_parts, "min_frame = 64"), [parts, least]);
    assert_eq!(
        framings(named, "framing = \"raw\""),
        [vdsl2, Framing::default()]
    );
    // Of a device whose packets have 14 bytes of header, and of one whose packets have none.
    assert_eq!(vdsl2.on_device(14).overhead_bytes, 16);
    assert_eq!(vdsl2.on_device(0).overhead_bytes, 30);
    assert_eq!(parts.on_device(14), parts);
}

#[test]
fn a_line_that_changes_has_bounds_and_begins_at_the_base() {
    let text = "[link.wan0]\nreflectors = [\"9.9.9.9\", \"2620:fe::fe\"]\n\
                rate = { min = \"5mbit\", base = \"20mbit\", max = \"60mbit\" }\n\
                [[link.wan0.class]]\nname = \"web\"\nmatch = { proto = \"tcp\" }\nceil = \"50mbit\"\n\
                [link.wan0.download]\n\
                rate = { min = \"10mbit\", base = \"100mbit\", max = \"200mbit\" }\n";
    let links = links(text);
    let [wan0, download] = links.as_slice() else {
        panic!("two directions");
    };
    assert_eq!(wan0.rate_bps, 20_000_000);
    assert_eq!((wan0.least_bps(), wan0.most_bps()), (5_000_000, 60_000_000));
    // More than the base, and less than the line has at best.
    assert_eq!(wan0.classes[0].ceil_bps, Some(50_000_000));
    assert_eq!(download.rate_bps, 100_000_000);
    for link in &links {
        let autorate = link.autorate.as_ref().unwrap();
        let reflectors = autorate.reflectors.iter().map(ToString::to_string);
        assert_eq!(reflectors.collect::<Vec<_>>(), ["9.9.9.9", "2620:fe::fe"]);
    }

    // One direction may be fixed.
    let only = text.replace(
        "{ min = \"5mbit\", base = \"20mbit\", max = \"60mbit\" }",
        "\"60mbit\"",
    );
    let links = self::links(&only);
    assert_eq!(links[0].autorate, None);
    assert!(links[1].autorate.is_some());
}

#[test]
fn a_links_device_may_decide_instead_of_a_rate() {
    let text = "[link.eth0]\nrate = \"line\"\n[link.eth1]\nrate = \"1mbit\"\n\
                [[link.eth0.class]]\nname = \"a\"\nrate = \"3mbit\"\nmatch = { proto = \"udp\" }\n";
    let policy = takt_policy::parse("a.toml", text).unwrap();
    let by_device = policy.links.iter().map(|link| link.by_device);
    assert_eq!(by_device.collect::<Vec<_>>(), [true, false]);
    assert_eq!(policy.links[0].classes[0].rate_bps, Some(3_000_000));
    // It is left out where it says nothing.
    let shown = serde_json::to_string(&policy.links[1]).unwrap();
    assert!(!shown.contains("by_device"), "{shown}");
}
