//! The JSON schema takes what the parser takes, says the defaults that the parser has, and is the
//! one in `docs/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::Value;
use takt_policy::{json_schema, parse, traffic};

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::draft7::new(&json_schema()).unwrap());

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The first objection of the schema to a policy, as an editor shows it.
fn objection(text: &str) -> Option<String> {
    let policy: toml::Table = toml::from_str(text).unwrap();
    let policy = serde_json::to_value(policy).unwrap();
    let mut errors = VALIDATOR.iter_errors(&policy);
    errors
        .next()
        .map(|error| format!("{}: {error}", error.instance_path()))
}

/// Every policy in a folder, with its name.
fn policies(folder: &Path) -> Vec<(String, String)> {
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| {
            (
                path.display().to_string(),
                fs::read_to_string(path).unwrap(),
            )
        })
        .collect()
}

#[test]
fn the_published_schema_is_this_one() {
    let published = fs::read_to_string(root().join("docs/policy.schema.generated.json")).unwrap();
    let schema = format!("{:#}\n", json_schema());
    assert!(
        published == schema,
        "write the output of `takt schema` to it"
    );
}

#[test]
fn the_published_schema_of_traffic_is_this_one() {
    let published = fs::read_to_string(root().join("docs/traffic.schema.generated.json")).unwrap();
    let schema = format!("{:#}\n", traffic::json_schema());
    assert!(
        published == schema,
        "write the output of `takt sim --schema` to it"
    );
}

#[test]
fn every_example_of_traffic_is_valid_and_names_the_schema() {
    let validator = jsonschema::draft7::new(&traffic::json_schema()).unwrap();
    for (name, text) in policies(&root().join("examples/traffic")) {
        let file: toml::Table = toml::from_str(&text).unwrap();
        let file = serde_json::to_value(file).unwrap();
        let objection = validator.iter_errors(&file).next();
        assert!(objection.is_none(), "{name}: {objection:?}");
        assert!(
            text.starts_with("#:schema ../../docs/traffic.schema.generated.json\n"),
            "{name}"
        );
    }
}

#[test]
fn every_example_is_valid_and_names_the_schema() {
    for (name, text) in policies(&root().join("examples")) {
        assert_eq!(objection(&text), None, "{name}");
        assert!(
            text.starts_with("#:schema ../docs/policy.schema.generated.json\n"),
            "{name}"
        );
    }
}

#[test]
fn policies_that_the_parser_takes_are_valid() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut accepted = 0;
    for folder in ["bad", "warned"] {
        for (name, text) in policies(&tests.join(folder)) {
            if parse(&name, &text).is_ok() {
                assert_eq!(objection(&text), None, "{name}");
                accepted += 1;
            }
        }
    }
    assert!(accepted > 0);
}

/// A link with a class and a station, a crowd and a task; a line goes into each.
fn whole(section: &str, line: &str) -> String {
    let sections = [
        ("link", "[link.eth0]\nrate = \"1gbit\""),
        ("tenant", "[[link.eth0.tenant]]\nname = \"acme\""),
        (
            "class",
            "[[link.eth0.class]]\nname = \"web\"\nmatch = { proto = \"tcp\" }",
        ),
        ("radio", "[radio]\nkey_file = \"radio.key\""),
        (
            "crowd",
            "[crowd]\ngroup = \"lab\"\nkey_file = \"crowd.key\"\ndevice = \"wlan0\"",
        ),
        ("beats", "[beats]"),
        (
            "task",
            "[[task]]\nname = \"mixer\"\nperiod = \"40ms\"\nbudget = \"8ms\"",
        ),
    ];
    let filled = sections.map(|(name, text)| {
        if name == section {
            format!("{text}\n{line}\n")
        } else {
            format!("{text}\n\n")
        }
    });
    filled.concat()
}

#[test]
fn defaults_are_what_the_parser_takes() {
    let without = parse("without.toml", &whole("", "")).unwrap();
    let schema = json_schema();
    let link = &schema["properties"]["link"]["additionalProperties"];
    let mut seen = 0;
    for (section, table) in [
        ("link", link),
        ("tenant", &link["properties"]["tenant"]["items"]),
        ("class", &link["properties"]["class"]["items"]),
        ("radio", &schema["properties"]["radio"]),
        ("crowd", &schema["properties"]["crowd"]),
        ("beats", &schema["properties"]["beats"]),
        ("task", &schema["properties"]["task"]["items"]),
    ] {
        for (key, property) in table["properties"].as_object().unwrap() {
            let Some(default) = property.get("default") else {
                continue;
            };
            let text = whole(section, &format!("{key} = {default}"));
            let with = parse("with.toml", &text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(with.links, without.links, "{section}.{key}");
            assert_eq!(with.radio, without.radio, "{section}.{key}");
            assert_eq!(with.crowd, without.crowd, "{section}.{key}");
            assert_eq!(with.beats, without.beats, "{section}.{key}");
            assert_eq!(objection(&text), None, "{section}.{key}");
            seen += 1;
        }
    }
    assert!(seen > 20);
}

/// Each spelling of a value that the parser takes, and its key.
const RIGHT: &[(&str, &str)] = &[
    ("link", "overhead = 0x18"),
    ("link", "framing = \"docsis\""),
    ("link", "framing = \"pppoe-ptm ether-vlan\""),
    ("link", "min_frame = 64"),
    ("link", "cells = \"atm\""),
    ("link", "lag_max = \"0.5ms\""),
    ("tenant", "rate = \"0.5GBIT\""),
    ("tenant", "weight = 2"),
    ("tenant", "weight = 0.001"),
    ("class", "rate = \"1mibit\""),
    ("class", "ceil = \"100mbps\""),
    ("class", "priority = \"3\""),
    ("class", "priority = \"background\""),
    ("radio", "points = [[-20, 0], [60.0, 1.0]]"),
    ("radio", "links = [\"eth0\"]"),
    (
        "radio",
        "report_to = \"[2001:db8::1]:7641\"\ndevice = \"wlan0\"",
    ),
    ("crowd", "aggregator = \"192.0.2.1:7642\""),
    ("beats", "join = \"EXAMPLE\\\\audio\""),
    ("beats", "cpus = \"0 - 3, 6\""),
    ("task", "cpus = 1"),
    ("task", "members = [\"decode\", \"a b\"]"),
    (
        "task",
        "match = { command = \"mixer\", unit = \"a@b.service\" }",
    ),
];

const RIGHT_MATCHES: &[&str] = &[
    "proto = \"UDP\"",
    "proto = 0x11",
    "proto = \"0x11\"",
    "src = \"2001:db8::/32\", dst = \"::1\"",
    "src = \"192.0.2.0/24\"",
    "src_port = 443, dst_port = \"80, 443,0x1f90 - 9000\"",
    "dscp = \"CS1\"",
    "dscp = \"default\"",
    "mark = \"0x10/0xff\"",
    "app = \"ünï\"",
    "user = \"www-data\"",
    "user = 1000",
    "cgroup = \"/backup.slice/\"",
    "registered = true",
];

#[test]
fn every_spelling_is_valid() {
    let matches = RIGHT_MATCHES.iter().map(|terms| {
        let class = "[[link.eth0.class]]\nname = \"b\"";
        ("class", format!("{class}\nmatch = [{{ {terms} }}]"))
    });
    let lines = RIGHT
        .iter()
        .map(|(section, line)| (*section, (*line).to_owned()));
    for (section, line) in lines.chain(matches) {
        let text = whole(section, &line);
        if let Err(error) = parse("right.toml", &text) {
            panic!("{error}");
        }
        assert_eq!(objection(&text), None, "{text}");
    }
}

#[test]
fn mistakes_are_refused_by_both() {
    for (section, line) in [
        ("link", "lagmax = \"1ms\""),
        ("link", "lag_max = 1"),
        ("link", "lag_max = \"1 ms\""),
        ("link", "overhead = 257"),
        ("link", "framing = \"dsl\""),
        (
            "link",
            "framing = \"docsis ether-vlan ether-vlan ether-vlan\"",
        ),
        ("link", "min_frame = 257"),
        ("link", "cells = \"ATM\""),
        ("link", "overhead = \"24\""),
        ("link", "pacing = \"GAP\""),
        ("link", "ecn = \"true\""),
        ("tenant", "rate = \"25mb\""),
        ("tenant", "rate = 25"),
        ("tenant", "weight = 0"),
        ("tenant", "class = 1"),
        ("class", "priority = 7"),
        ("class", "priority = \"high\""),
        ("class", "priority = \"+3\""),
        ("class", "queue_packets = 0"),
        ("class", "aqm = \"red\""),
        ("class", "[link.eth0.class.match]"),
        ("radio", "smoothing = 1.5"),
        ("radio", "points = [[0, 0, 0]]"),
        ("radio", "points = []"),
        ("radio", "source = \"file:a\""),
        ("radio", "listen = 0"),
        ("crowd", "aggregator = \"ap.example:7642\""),
        ("crowd", "aggregator = \"192.0.2.1:7641\""),
        ("beats", "free = 0.95"),
        ("beats", "batch = 65"),
        ("beats", "join = \"1 2\""),
        ("task", "overrun = \"kill\""),
        ("task", "members = []"),
        ("task", "match = { app = \"mixer\" }"),
        ("task", "match = [{ thread = \"mixer\" }]"),
    ] {
        let text = whole(section, line);
        assert!(parse("wrong.toml", &text).is_err(), "{text}");
        if toml::from_str::<toml::Table>(&text).is_ok() {
            assert!(objection(&text).is_some(), "{text}");
        }
    }
    for terms in [
        "proto = \"http\"",
        "proto = 256",
        "src = \"example.org\"",
        "dst_port = \"https\"",
        "dscp = \"af44\"",
        "dscp = 64",
        "mark = \"0x10/\"",
        "unit = \"nginx\"",
        "registered = false",
        "port = 80",
    ] {
        let text = format!(
            "[link.eth0]\nrate = \"1gbit\"\n[[link.eth0.class]]\nname = \"a\"\nmatch = {{ {terms} }}\n"
        );
        assert!(parse("wrong.toml", &text).is_err(), "{text}");
        assert!(objection(&text).is_some(), "{text}");
    }
    for text in [
        "[link.eth0]\n",
        "[link.\"a/b\"]\nrate = \"1gbit\"\n",
        "[[task]]\nname = \"a\"\n",
    ] {
        assert!(parse("wrong.toml", text).is_err(), "{text}");
        assert!(objection(text).is_some(), "{text}");
    }
}

#[test]
fn every_key_has_a_line() {
    fn walk(table: &Value) {
        for (key, property) in table["properties"].as_object().into_iter().flatten() {
            let line = property["description"].as_str().unwrap_or_default();
            assert!(line.len() > 10 && !line.ends_with('.'), "{key}: {line}");
            walk(property);
            walk(&property["items"]);
            walk(&property["additionalProperties"]);
            walk(&property["anyOf"][0]);
        }
    }
    walk(&json_schema());
}

proptest! {
    /// A changed example that the parser still takes.
    #[test]
    fn what_the_parser_takes_is_valid(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        removed in 0..6usize,
        inserted in "[a-z0-9 .,/_-]{0,4}",
    ) {
        static EXAMPLES: LazyLock<Vec<(String, String)>> =
            LazyLock::new(|| policies(&root().join("examples")));
        let (name, example) = &EXAMPLES[which.index(EXAMPLES.len())];
        let mut text: Vec<char> = example.chars().collect();
        let start = at.index(text.len());
        let end = (start + removed).min(text.len());
        text.splice(start..end, inserted.chars());
        let text: String = text.into_iter().collect();
        if parse(name, &text).is_ok() {
            prop_assert_eq!(objection(&text), None, "{}", text);
        }
    }
}
