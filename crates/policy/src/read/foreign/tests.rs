//! Every word, in every table.

use std::collections::HashSet;

use super::*;
use crate::parse;

use Place::*;

/// What the policy says to a key in this table.
#[track_caller]
fn told(key: &str, place: Place) -> String {
    let text = with_line(place, &format!("\"{key}\" = 1"));
    let found = parse("foreign.toml", &text).expect_err("the key is unknown");
    let json = found.to_json();
    let of_key = |error: &&serde_json::Value| {
        error["code"] == "takt::policy::unknown_key"
            && error["message"]
                .as_str()
                .is_some_and(|message| message.contains(&format!("`{key}`")))
    };
    let error = json.as_array().expect("a list").iter().find(of_key);
    let error = error.unwrap_or_else(|| panic!("{key} in {place:?}: {found}"));
    error["help"].as_str().expect("a help").to_owned()
}

/// A policy with this line in this table, and without what the line replaces.
fn with_line(place: Place, line: &str) -> String {
    let key = |line: &str| {
        let key = line.split([' ', '=', ']']).next();
        key.unwrap_or_default().to_owned()
    };
    let tables = [
        (Link, "[link.wlan0]", "rate = \"1gbit\""),
        (Tenant, "[[link.wlan0.tenant]]", "name = \"acme\""),
        (
            Class,
            "[[link.wlan0.class]]",
            "name = \"stream\"\nmatch = { proto = \"tcp\", src_port = 1 }",
        ),
        (Download, "[link.wlan0.download]", "rate = \"1gbit\""),
        (
            Radio,
            "[radio]",
            "key_file = \"radio.key\"\nreport_to = \"192.0.2.1:7641\"\ndevice = \"wlan0\"",
        ),
        (
            Crowd,
            "[crowd]",
            "group = \"lab\"\nkey_file = \"crowd.key\"\ndevice = \"wlan0\"",
        ),
        (Beats, "[beats]", ""),
        (
            Task,
            "[[task]]",
            "name = \"mixer\"\nperiod = \"40ms\"\nbudget = \"8ms\"",
        ),
    ];
    let is_header = place == File && line.starts_with('[');
    let mut text = if place == File && !is_header {
        format!("{line}\n")
    } else {
        String::new()
    };
    // Stations exclude what other lines say, and a line may be a download.
    let alone = [Radio, Download];
    let tables = tables.into_iter();
    let tables = tables.filter(|(table, ..)| !alone.contains(table) || place == *table);
    for (table, header, lines) in tables {
        let of_match = place.around() == Some(table);
        let added = if of_match {
            format!("match = {{ {line} }}")
        } else if place == table {
            line.to_owned()
        } else {
            String::new()
        };
        // The default class has no match.
        let is_default = added == "name = \"default\"";
        let kept = lines
            .lines()
            .filter(|line| key(line) != key(&added) && !(is_default && key(line) == "match"));
        let kept: Vec<&str> = kept.chain([added.as_str()]).collect();
        text.push_str(&format!("{header}\n{}\n", kept.join("\n")));
    }
    if is_header {
        text.push_str(&format!("{line}\nrate = \"1gbit\"\n"));
    }
    text
}

/// Each hint that a table gives, with its word.
fn hints() -> impl Iterator<Item = (&'static str, Place, &'static Hint)> {
    WORDS.iter().flat_map(|word| {
        let names = word.names.iter();
        names.flat_map(|name| {
            let hints = word.hints.iter();
            hints.flat_map(move |hint| hint.told_in.iter().map(move |place| (*name, *place, hint)))
        })
    })
}

#[test]
fn each_word_has_its_hint() {
    for (key, place, help) in [
        (
            "limit",
            Link,
            "write it like this: rate = \"100mbit\" for the device, or queue_packets = 1000 in a \
            [[link.DEV.class]] for the length of a queue",
        ),
        (
            "limit",
            Class,
            "write it like this: ceil = \"50mbit\" for a limit, or queue_packets = 1000 for the \
            length of a queue",
        ),
        ("bandwidth", Link, "write it like this: rate = \"100mbit\""),
        (
            "bandwidth",
            Tenant,
            "write it like this: rate = \"25mbit\" for a guarantee, or ceil = \"50mbit\" for a \
            limit",
        ),
        (
            "bandwidth",
            File,
            "write it like this: rate = \"100mbit\" in [link.DEV]",
        ),
        (
            "ingress",
            Link,
            "what a device receives is a table of its own; write download = { rate = \"240mbit\" }",
        ),
        (
            "ingress",
            File,
            "what a device receives is a table of its own; write download = { rate = \"240mbit\" } \
            in [link.DEV]",
        ),
        (
            "download",
            Class,
            "write it like this: download = { rate = \"240mbit\" } in [link.DEV]",
        ),
        ("download", Crowd, "write it like this: downloads = true"),
        (
            "egress",
            Link,
            "a link is for what its device sends; write rate = \"100mbit\"",
        ),
        (
            "upload",
            Class,
            "a class is of what its device sends; write ceil = \"50mbit\" for a \
            limit",
        ),
        (
            "port",
            Match,
            "write it like this: dst_port = 443 for the receiver's, or src_port = 443 for the \
            sender's",
        ),
        ("port", Radio, "write it like this: listen = 7641"),
        ("sport", Match, "write it like this: src_port = 443"),
        (
            "dport",
            Class,
            "write it like this: match = { dst_port = 443 }",
        ),
        (
            "dport",
            Link,
            "write it like this: match = { dst_port = 443 } in a [[link.DEV.class]]",
        ),
        (
            "mac",
            Match,
            "Takt does not match MAC addresses, but IP addresses; write src = \
            \"192.0.2.0/24\"",
        ),
        (
            "not",
            Match,
            "a match has no negation, and the first class in the file that matches \
            wins: put a class that matches the exceptions before this one",
        ),
        (
            "container",
            Match,
            "a container is found by its control group: run it with \
            --cgroup-parent=web.slice; write cgroup = \"web.slice\"",
        ),
        (
            "container",
            Task,
            "a container is found by its control group: run it with \
            --cgroup-parent=studio.slice; write match = { cgroup = \"studio.slice\" }",
        ),
        (
            "schedule",
            Class,
            "a policy has no times of day: let timers of systemd run `takt apply` \
            with one policy or another",
        ),
        (
            "schedule",
            Task,
            "write it like this: period = \"40ms\" for how often it runs, or offset = \"5ms\" for \
            when in its period",
        ),
        (
            "cburst",
            Class,
            "burst is a time, for rate and ceil alike; write burst = \"1ms\"",
        ),
        (
            "quantum",
            Class,
            "classes share by weight, not by a quantum of bytes; write weight = 2",
        ),
        (
            "r2q",
            Link,
            "classes share by weight, so there is no quantum to compute: leave it out",
        ),
        ("overhead", Class, "`overhead` belongs in [link.DEV]"),
        ("mpu", Link, "write it like this: min_frame = 64"),
        (
            "prio",
            Class,
            "write it like this: priority = 3 (0 goes first)",
        ),
        (
            "prio",
            Link,
            "write it like this: priority = 3 in a [[link.DEV.class]] (0 goes first)",
        ),
        (
            "priority",
            Link,
            "`priority` belongs in a [[link.DEV.tenant]] or a [[link.DEV.class]]",
        ),
        (
            "priority",
            Task,
            "among tasks there are no priorities: in its slots a thread goes before \
            all ordinary ones",
        ),
        (
            "ceiling",
            Class,
            "write it like this: ceil = \"50mbit\" for a limit",
        ),
        (
            "maxrate",
            Class,
            "write it like this: ceil = \"50mbit\" for a limit",
        ),
        ("max_rate", Link, "write it like this: rate = \"100mbit\""),
        (
            "min_rate",
            Class,
            "write it like this: rate = \"25mbit\" for a guarantee",
        ),
        (
            "latency",
            Class,
            "write it like this: target = \"5ms\" for the delay that a queue may keep",
        ),
        ("target", Link, "`target` belongs in a [[link.DEV.class]]"),
        (
            "interval",
            Tenant,
            "`interval` belongs in a [[link.DEV.class]]",
        ),
        ("interval", Task, "write it like this: period = \"40ms\""),
        (
            "nat",
            Link,
            "hosts behind NAT are told apart by themselves; classes by their addresses need marks, \
            from nft; write share = \"hosts\", or match = { mark = \"0x10\" } in a \
            [[link.DEV.class]]",
        ),
        ("wash", Class, "write it like this: set_dscp = \"cs0\""),
        (
            "squash_ingress",
            Download,
            "write it like this: wash = true",
        ),
        (
            "set_dscp_class",
            Class,
            "write it like this: set_dscp = \"ef\"",
        ),
        (
            "diffserv4",
            Class,
            "write it like this: preset = \"diffserv4\" in [link.DEV]",
        ),
        (
            "diffserv3",
            Class,
            "there are no tins: make a class for each kind of traffic, by DSCP; \
            write match = { dscp = \"ef\" }",
        ),
        (
            "autorate",
            Link,
            "a line that changes has rate = { min = …, base = …, max = … }, and reflectors = [ … ] in \
             [link.DEV] to measure it by",
        ),
        (
            "handle",
            Class,
            "classes have names instead of numbers; write name = \"web\"",
        ),
        (
            "parent",
            Class,
            "a class is below its link, or below a tenant of it; write tenant = \
            \"acme\"",
        ),
        (
            "classid",
            Link,
            "classes have names instead of numbers; write name = \"web\" in a \
            [[link.DEV.class]]",
        ),
        ("fwmark", Match, "write it like this: mark = \"0x10\""),
        (
            "tos",
            Match,
            "the DSCP is the upper six bits of this byte; write dscp = \"ef\"",
        ),
        (
            "dscp",
            Class,
            "write it like this: match = { dscp = \"ef\" } to tell the class by it, or \
            set_dscp = \"ef\" to set it",
        ),
        ("uid", Match, "write it like this: user = \"alice\""),
        (
            "user",
            Class,
            "`user` belongs in the match: match = { user = … }",
        ),
        (
            "user",
            TaskMatch,
            "tasks are not found by user; write unit = \"mixer.service\"",
        ),
        (
            "pod",
            Match,
            "a policy does not know pods; takt-kubernetes limits a pod by its \
            annotation kubernetes.io/egress-bandwidth",
        ),
        ("device", File, "write it like this: [link.eth0]"),
        (
            "interface",
            Link,
            "the table's name is the device; write [link.eth0]",
        ),
        ("iface", Crowd, "write it like this: device = \"wlan0\""),
        ("cpu_quota", Task, "write it like this: budget = \"8ms\""),
        (
            "cpus",
            Link,
            "a link has: rate, reflectors, overhead, framing, min_frame, cells, pacing, packets, \
            burst, lag_max, slack, horizon, beyond_horizon, ecn, acks, share, wash, on_conflict, \
            backend, preset, tenant, class, download",
        ),
        ("cpuset", Beats, "write it like this: cpus = \"0-3,6\""),
        ("runtime", Task, "write it like this: budget = \"8ms\""),
        (
            "deadline",
            Task,
            "a task has no deadline: its slots are at the same time in every \
            period; write offset = \"5ms\" for when in its period",
        ),
        ("app", TaskMatch, "write it like this: command = \"mixer\""),
        ("class", File, "`class` belongs in [link.DEV]"),
        ("links", File, "did you mean `link`?"),
    ] {
        assert_eq!(told(key, place), help, "{key} in {place:?}");
    }
}

#[test]
fn each_line_is_valid_where_it_goes() {
    for (name, place, hint) in hints() {
        for line in hint.lines {
            let text = with_line(line.place(place), line.text);
            assert!(text.contains(line.text), "{name}: {text}");
            if let Err(errors) = parse("foreign.toml", &text) {
                panic!("{name} in {place:?}: {errors}");
            }
        }
    }
}

#[test]
fn each_line_is_of_a_key_that_its_table_has() {
    for (name, place, hint) in hints() {
        for line in hint.lines {
            let words = line.text.trim_start_matches('[').split([' ', '.']);
            let key = words.into_iter().next().unwrap_or_default();
            assert!(line.place(place).schema().has(key), "{name}: {}", line.text);
        }
    }
}

#[test]
fn words_are_told_where_they_are_no_keys_and_once_in_a_table() {
    let mut seen = HashSet::new();
    for (name, place, hint) in hints() {
        let key: String = bare(name).collect();
        let mut keys = place.schema().names();
        assert!(
            !keys.any(|known| bare(known).eq(key.chars())),
            "{name} in {place:?}"
        );
        assert!(
            seen.insert((key, format!("{place:?}"))),
            "{name} in {place:?}"
        );
        assert!(!hint.fact.is_empty() || !hint.lines.is_empty(), "{name}");
    }
}

#[test]
fn a_word_has_one_meaning() {
    let mut seen = HashSet::new();
    for name in WORDS.iter().flat_map(|word| word.names) {
        assert!(seen.insert(bare(name).collect::<String>()), "{name}");
    }
}

/// In any table and spelling a word gets its own hint, or the keys that there are: none that is
/// only spelled much like it.
#[test]
fn no_word_is_taken_for_a_slip() {
    for name in WORDS.iter().flat_map(|word| word.names) {
        for place in Place::ALL {
            if place.schema().has(name) {
                continue;
            }
            let whole = instead_of(name, place);
            assert_eq!(told(name, place), whole, "{name} in {place:?}");
            assert!(!whole.starts_with("did you mean"), "{name}: {whole}");
            assert!(!whole.ends_with('.'), "{name}: {whole}");
            for spelled in [name.replace('_', "-"), name.to_uppercase()] {
                assert_eq!(instead_of(&spelled, place), whole, "{spelled} in {place:?}");
            }
        }
    }
}

/// The hint as it is before it is fitted into a message.
fn instead_of(key: &str, place: Place) -> String {
    let schema = place.schema();
    crate::read::section::instead(key, schema)
        .unwrap_or_else(|| format!("a {} has: {}", schema.what, schema.list()))
}

/// A key is told to belong only in tables that have it.
#[test]
fn keys_of_other_tables_are_told_where_they_belong() {
    for place in Place::ALL {
        let keys = Place::ALL.iter().flat_map(|other| other.schema().names());
        for key in keys.filter(|key| !place.schema().has(key)) {
            let Some(help) = place.elsewhere(key) else {
                continue;
            };
            let (told, belongs) = help.split_once(" belongs in ").expect("where it belongs");
            assert_eq!(told, format!("`{key}`"));
            for table in belongs.split(" or ") {
                let is_told = |other: &&Place| match table.split_once(": match = {") {
                    Some(("the match", _)) => other.around() == Some(place),
                    _ => other.shown() == table,
                };
                let told = Place::ALL.iter().find(is_told).expect("a table");
                assert!(told.schema().has(key), "{key} in {place:?}: {help}");
            }
        }
    }
}
