//! What a policy means: the defaults, the units, the normal forms.

use serde_json::json;
use takt_policy::{Code, Family, Link, Mark, Packets, format_rate, parse};

fn link(text: &str) -> Link {
    let policy = parse("model.toml", text).unwrap_or_else(|error| panic!("{error}"));
    policy.links.into_iter().next().unwrap()
}

/// The only match of the only class.
fn terms(entry: &str) -> takt_policy::Match {
    let link = link(&format!(
        "[link.eth0]\nrate = \"1gbit\"\n[[link.eth0.class]]\nname = \"a\"\nmatch = {entry}\n"
    ));
    link.classes[0].matches[0].clone()
}

fn codes(text: &str) -> Vec<Code> {
    let found = parse("model.toml", text).expect_err("refused");
    found.iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn a_link_alone_has_the_default_class() {
    let link = link("\n[link.eth0]\nrate = \"2.5gbit\"\n");
    assert_eq!(link.rate_bps, 2_500_000_000);
    assert_eq!(link.overhead_bytes, 0);
    assert_eq!(link.packets, Packets::Mtu);
    assert_eq!(link.lag_max_ns, 10_000_000);
    let [default] = link.classes.as_slice() else {
        panic!("one class");
    };
    assert!(default.is_default && !default.guaranteed && default.matches.is_empty());
    assert_eq!(default.name, "default");
    assert_eq!(default.rate_bps, link.rate_bps);
    assert_eq!(default.priority, 6);
    assert_eq!(default.queue_packets, 1000);
    assert_eq!(default.line, 2);
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
    assert_eq!(link.overhead_bytes, 24);
    assert_eq!(link.packets, Packets::Gso);
    assert_eq!(link.lag_max_ns, 100_000);
    let seen: Vec<_> = link
        .classes
        .iter()
        .map(|c| {
            (
                c.name.as_str(),
                c.rate_bps,
                c.guaranteed,
                c.priority,
                c.queue_packets,
                c.line,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("default", 1_000_000, true, 3, 1000, 7),
            ("z", 10_000_000, true, 3, 1000, 10),
            ("a", 1_000_000_000, false, 7, 65535, 14),
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
    assert_eq!(codes(&policy(4095)), [Code::TooManyClasses]);
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
        Code::DeviceMissing,
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
