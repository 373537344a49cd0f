//! `takt explain` knows every word that an output shows: keys of JSON, words that are values there,
//! and headings of tables.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    machine::DEFAULT,
    shell::run,
    takt::{POLICY, apply, takt},
    wire::Wire,
};

/// Keys whose values are words of takt's, and not of the user's.
const WORDS_OF: [&str; 9] = [
    "backend",
    "backends",
    "capability",
    "device_state",
    "feature",
    "known_by",
    "promise",
    "state",
    "waits_for",
];

const STATIONS: &str = "[link.near1]\nrate = \"100mbit\"\n\
    [[link.near1.tenant]]\nname = \"t\"\nrate = \"20mbit\"\n\
    [[link.near1.class]]\nname = \"a\"\ntenant = \"t\"\nrate = \"10mbit\"\n\
    match = { proto = \"udp\" }\n\
    [[link.near1.class]]\nname = \"bulk\"\npriority = \"background\"\nfloor = \"1mbit\"\n\
    match = { proto = \"tcp\" }\n\
    [radio]\n[crowd]\ngroup = \"lab\"\nkey_file = \"explained.key\"\ndevice = \"near1\"\n\
    [[task]]\nname = \"x\"\nperiod = \"40ms\"\nbudget = \"8ms\"\n";
const FLOWS: &str = "[link.near1]\nrate = \"100mbit\"\n\
    [[link.near1.class]]\nname = \"a\"\nrate = \"10mbit\"\nper_flow = true\n\
    match = { proto = \"udp\" }\n";
const TREE: &str = "[link.near1]\nrate = \"100mbit\"\nbackend = \"tree\"\n";

fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                found.insert(key.clone());
                let words = value.as_array().into_iter().flatten().chain([value]);
                let words = words.filter_map(Value::as_str);
                if WORDS_OF.contains(&key.as_str()) {
                    found.extend(words.map(str::to_owned));
                }
                collect(value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

/// Columns are two blanks apart, or more.
fn headings(text: &str, first: &str) -> Vec<String> {
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with(first));
    let columns = line.unwrap_or_default().split("  ");
    let columns = columns.map(str::trim).filter(|column| !column.is_empty());
    columns.map(str::to_owned).collect()
}

fn outputs(found: &mut BTreeSet<String>) {
    for command in [
        "status --flows --tasks",
        "doctor",
        &format!("check --explain {POLICY}"),
    ] {
        let ran = takt(&format!("{command} --output json"));
        collect(&ran.json(), found);
    }
    let text = takt("status --flows --tasks").stdout;
    for first in ["class", "cpu", "task", "station"] {
        found.extend(headings(&text, first));
    }
    for view in [
        "links",
        "classes",
        "flows",
        "stations",
        "neighbours",
        "tasks",
        "tcp",
    ] {
        let ran = takt(&format!("top {view} --batch --count 1 --output json"));
        collect(&ran.json(), found);
    }
}

#[test]
fn every_word_that_is_shown() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        takt("crowd key /lab/explained.key").ok();
        let mut found = BTreeSet::new();
        for policy in [STATIONS, FLOWS, TREE] {
            apply(policy).ok();
            run(&format!("ping -qc 1 -W 1 {}", wire.far_v4()));
            outputs(&mut found);
            takt("revert").ok();
        }
        let unknown: Vec<&String> = { found.iter() }
            .filter(|word| {
                let mut explain = std::process::Command::new("takt");
                let told = explain.args(["explain", word]).output().unwrap();
                !told.status.success()
            })
            .collect();
        assert!(found.len() > 200, "{}", found.len());
        assert!(unknown.is_empty(), "{unknown:?}");
    });
}
