//! The difference between two policies: the one in force, and another.
//!
//! Policies are compared as the JSON that `takt check` prints, so that no key is forgotten here.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value, json};
use takt_planner::backend::{Kernel, choose};
use takt_policy::Policy;

use super::values::{shown, summary};

/// Lists whose entries have names, and what one of them is called.
const LISTS: [(&str, &str); 5] = [
    ("links", ""),
    ("tenants", "tenant"),
    ("classes", "class"),
    ("tasks", "task"),
    ("members", "member"),
];

/// They follow from others.
const KEYS_LEFT_OUT: [&str; 3] = ["line", "is_default", "warnings"];

/// One thing that is different.
#[derive(Debug, PartialEq, Serialize)]
pub struct Change {
    /// Such as `eth0`, `eth0 class stream`, `beats task mixer` or `radio`.
    what: String,
    /// The key that changes, `None` if all of it comes or goes.
    name: Option<String>,
    change: Kind,
    from: Value,
    to: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Added,
    Changed,
    Removed,
}

/// From one policy, if there is one, to another, with the backends that links get on a kernel.
pub fn difference(before: Option<&Policy>, after: &Policy, kernel: &Kernel) -> Vec<Change> {
    let mut changes = Vec::new();
    let before = before.map_or(json!({}), |policy| comparable(policy, kernel));
    compare("", "", &before, &comparable(after, kernel), &mut changes);
    changes
}

/// As lines that begin with `+`, `~` or `-`; one for each thing.
pub fn text(changes: &[Change]) -> String {
    let of_one = changes.chunk_by(|a, b| a.name.is_some() && b.name.is_some() && a.what == b.what);
    let lines = of_one.map(|of_one| {
        let what = &of_one[0].what;
        match of_one[0].change {
            Kind::Added => format!("+ {what}: {}\n", summary(&of_one[0].to)),
            Kind::Removed => format!("- {what}: {}\n", summary(&of_one[0].from)),
            Kind::Changed => {
                let keys: Vec<String> = of_one.iter().map(Change::key).collect();
                format!("~ {what}: {}\n", keys.join(", "))
            }
        }
    });
    lines.collect()
}

impl Change {
    fn whole(what: &str, change: Kind, from: &Value, to: &Value) -> Self {
        Self {
            what: what.to_owned(),
            name: None,
            change,
            from: from.clone(),
            to: to.clone(),
        }
    }

    /// `rate 25mbit -> 30mbit`.
    fn key(&self) -> String {
        let path = self.name.as_deref().unwrap_or_default();
        let (name, from) = shown(path, &self.from);
        let (_, to) = shown(path, &self.to);
        format!("{name} {from} -> {to}")
    }
}

fn comparable(policy: &Policy, kernel: &Kernel) -> Value {
    let mut value = json!(policy);
    for (link, place) in policy.links.iter().zip(0..) {
        if let Ok(offer) = choose(link, kernel) {
            value["links"][place]["backend"] = json!(offer.backend);
        }
        if link.by_device {
            value["links"][place]["rate_bps"] = json!("line");
            value["links"][place]["by_device"] = Value::Null;
        }
        if link.has_default_slack() {
            value["links"][place]["slack_ns"] = Value::Null;
        }
        for shares in ["tenants", "classes"] {
            let shares = value["links"][place][shares].as_array_mut();
            shares
                .into_iter()
                .flatten()
                .for_each(leave_out_what_follows);
        }
    }
    value
}

/// Leaves out what only follows from the rate: it is no difference of its own.
fn leave_out_what_follows(share: &mut Value) {
    let Some(rate_bps) = share["rate_bps"].as_u64() else {
        return;
    };
    if share["ceil_bps"] == rate_bps {
        share["ceil_bps"] = Value::Null;
    }
    if share["weight_milli"] == (rate_bps + 500) / 1000 {
        share["weight_milli"] = Value::Null;
    }
}

/// Compares what is at `path` of a thing; both are empty for the policy itself.
fn compare(what: &str, path: &str, before: &Value, after: &Value, changes: &mut Vec<Change>) {
    if before == after {
        return;
    }
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            entries(what, path, before, after, changes);
        }
        (Value::Null, _) if path.is_empty() => {
            changes.push(Change::whole(what, Kind::Added, before, after));
        }
        (_, Value::Null) if path.is_empty() => {
            changes.push(Change::whole(what, Kind::Removed, before, after));
        }
        _ => changes.push(Change {
            name: Some(path.to_owned()),
            ..Change::whole(what, Kind::Changed, before, after)
        }),
    }
}

fn entries(
    what: &str,
    path: &str,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    changes: &mut Vec<Change>,
) {
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut keys: Vec<&String> = keys.into_iter().collect();
    keys.retain(|key| !KEYS_LEFT_OUT.contains(&key.as_str()));
    // What a thing is made of comes after its own keys; of the policy, links come first.
    keys.sort_by_key(|key| one_of(key).is_some() != what.is_empty());
    for key in keys {
        let (before, after) = (&of(before, key), &of(after, key));
        match (one_of(key), what, path) {
            (Some(one), _, _) => list(what, key, one, before, after, changes),
            (None, "", _) => compare(key, "", before, after, changes),
            (None, _, "") => compare(what, key, before, after, changes),
            _ => compare(what, &format!("{path}.{key}"), before, after, changes),
        }
    }
}

/// Compares entries of the same name, and the order of those that stay.
fn list(
    what: &str,
    key: &str,
    one: &str,
    before: &Value,
    after: &Value,
    changes: &mut Vec<Change>,
) {
    let (before, after) = (names(before), names(after));
    let find = |list: &[(String, Value)], name: &str| {
        let found = list.iter().find(|(other, _)| other == name);
        found.map_or(Value::Null, |(_, value)| value.clone())
    };
    let stay = |list: &[(String, Value)], others: &[(String, Value)]| -> Vec<String> {
        let names = list.iter().map(|(name, _)| name.clone());
        names.filter(|name| !find(others, name).is_null()).collect()
    };
    let (from, to) = (stay(&before, &after), stay(&after, &before));
    if from != to {
        changes.push(Change {
            name: Some(format!("order of {key}")),
            ..Change::whole(what, Kind::Changed, &json!(from), &json!(to))
        });
    }
    let gone = before
        .iter()
        .filter(|(name, _)| find(&after, name).is_null());
    for (name, _) in after.iter().chain(gone) {
        let parts = [what, one, name]
            .into_iter()
            .filter(|part| !part.is_empty());
        let what = parts.collect::<Vec<_>>().join(" ");
        compare(
            &what,
            "",
            &find(&before, name),
            &find(&after, name),
            changes,
        );
    }
}

fn of(map: &Map<String, Value>, key: &str) -> Value {
    map.get(key).cloned().unwrap_or_default()
}

fn one_of(key: &str) -> Option<&'static str> {
    LISTS
        .iter()
        .find(|(list, _)| *list == key)
        .map(|(_, one)| *one)
}

/// The entries of a list by their names.
fn names(list: &Value) -> Vec<(String, Value)> {
    let entries = list.as_array().into_iter().flatten();
    let name = |entry: &Value| {
        let name = entry.get("name").or_else(|| entry.get("device"));
        name.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    entries.map(|entry| (name(entry), entry.clone())).collect()
}

#[cfg(test)]
mod tests {
    use takt_policy::parse;

    use super::*;

    const OLD: &str = r#"
        [link.eth0]
        rate = "1gbit"
        [[link.eth0.class]]
        name = "stream"
        rate = "25mbit"
        match = { proto = "udp", dst_port = "5004-5100" }
        [[link.eth0.class]]
        name = "backup"
        priority = 5
        match = { dst = "192.0.2.0/24" }
    "#;

    fn policy(text: &str) -> Policy {
        parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn changes(before: &str, after: &str) -> Vec<Change> {
        let kernel = Kernel::of_release("6.18.0").expect("a release");
        let before = (!before.is_empty()).then(|| policy(before));
        difference(before.as_ref(), &policy(after), &kernel)
    }

    #[track_caller]
    fn assert_told(before: &str, after: &str, told: &str) {
        assert_eq!(text(&changes(before, after)), told);
    }

    #[test]
    fn without_a_policy_all_is_new() {
        assert_told("", OLD, "+ eth0: takt at 1gbit, 3 classes\n");
        let rest = "[radio]\nreport_to = \"192.0.2.1:7641\"\ndevice = \"a\"\nkey_file = \"/k\"\n\
                    [crowd]\ngroup = \"lab\"\nkey_file = \"/k\"\ndevice = \"wlan0\"\n\
                    [[task]]\nname = \"mixer\"\nperiod = \"40ms\"\nbudget = \"8ms\"\n";
        let told = "+ beats: grid 500us, 1 task\n+ crowd: lab on wlan0\n+ radio: reports from a\n";
        assert_told("", rest, told);
    }

    #[test]
    fn the_same_again_is_no_difference() {
        let moved = format!("# A comment moves all lines.\n{OLD}");
        assert_eq!(changes(OLD, &moved), []);
    }

    #[test]
    fn each_thing_has_a_line() {
        let new = r#"
            [link.eth0]
            rate = "900mbit"
            lag_max = "5ms"
            [[link.eth0.class]]
            name = "stream"
            rate = "30mbit"
            match = [{ proto = "udp", dst_port = 5004 }, { mark = 1, src = "2001:db8::/32" }]
            [[link.eth0.class]]
            name = "web"
            priority = "background"
            match = { registered = true }
            [[task]]
            name = "mixer"
            period = "40ms"
            budget = "8ms"
        "#;
        let told = "~ eth0: lag max 10ms -> 5ms, rate 1gbit -> 900mbit\n\
            ~ eth0 class stream: matches [dst_ports 5004-5100 proto 17] -> [dst_ports 5004 proto 17 \
            | family ipv6 mark 0x1 src 2001:db8::/32], rate 25mbit -> 30mbit\n\
            + eth0 class web: priority background\n\
            - eth0 class backup: priority 5\n\
            + beats: grid 500us, 1 task\n";
        assert_told(OLD, new, told);
    }

    #[test]
    fn what_follows_from_the_rate_is_no_difference() {
        let new = OLD.replace("\"25mbit\"", "\"25mbit\"\nweight = 25\nceil = \"26mbit\"");
        let told = "~ eth0 class stream: aqm kind codel -> fq_codel, ceil none -> 26mbit, queue \
                    packets 1000 -> 4000\n";
        assert_told(OLD, &new, told);
    }

    #[test]
    fn the_order_of_classes_counts() {
        let (head, tail) = OLD.split_at(OLD.rfind("[[").expect("two classes"));
        let place = head.find("[[").expect("two classes");
        let turned = format!("{}{tail}{}", &head[..place], &head[place..]);
        let told = "~ eth0: order of classes stream backup default -> backup stream default\n";
        assert_told(OLD, &turned, told);
    }

    #[test]
    fn a_change_is_told_to_programs() {
        let new = OLD.replace("25mbit", "30mbit").replace("eth0", "eth1");
        let told = json!(changes(OLD, &new));
        assert_eq!(told[0]["what"], "eth1");
        assert_eq!(told[0]["change"], "added");
        assert_eq!(told[0]["from"], Value::Null);
        assert_eq!(told[1]["what"], "eth0");
        assert_eq!(told[1]["change"], "removed");
        let told = json!(changes(OLD, &OLD.replace("25mbit", "30mbit")));
        let expected = json!({"what": "eth0 class stream", "name": "rate_bps", "change": "changed",
            "from": 25_000_000, "to": 30_000_000});
        assert_eq!(told, json!([expected]));
    }

    #[test]
    fn parts_change_in_parts() {
        let task = "[[task]]\nname = \"mixer\"\nperiod = \"40ms\"\nbudget = \"8ms\"\n";
        let new = format!(
            "{}[beats]\nfree = 0.25\njoin = \"all\"\n",
            task.replace("8ms", "4ms")
        );
        let told = "~ beats: free 0.0625 -> 0.25, join group takt -> all\n\
                    ~ beats task mixer: budget 8ms -> 4ms\n";
        assert_told(task, &new, told);
        let radio = format!("{OLD}[radio]\nweight = \"gb\"\nthreshold = 6.5\n");
        let told = text(&changes(OLD, &radio));
        assert!(
            told.starts_with("~ eth0: has stations false -> true\n"),
            "{told}"
        );
        assert!(told.ends_with("+ radio: source none\n"), "{told}");
        let lower = radio.replace("6.5", "-1.25");
        assert_told(
            &radio,
            &lower,
            "~ radio: law threshold 6.5 dB -> -1.25 dB\n",
        );
    }
}
