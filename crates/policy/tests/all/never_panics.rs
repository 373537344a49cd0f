//! Whatever the text, `parse` returns, and what it returns can be shown.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use takt_policy::parse;

/// The parts policies are made of, right and wrong ones.
const PARTS: &[&str] = &[
    "[link.eth0]\n",
    "[[link.eth0.class]]\n",
    "[link]\n",
    "[radio]\n",
    "weight = \"gb\"\n",
    "points = [[0, 0.0], [4, 0.2]]\n",
    "points = ",
    "threshold = ",
    "interval = ",
    "smoothing = ",
    "decay = ",
    "links = ",
    "source = ",
    "report_to = ",
    "device = ",
    "key_file = ",
    "listen = ",
    "rate = ",
    "[[link.eth0.tenant]]\n",
    "name = ",
    "tenant = ",
    "ceil = ",
    "weight = ",
    "floor = ",
    "per_flow = ",
    "pacing = ",
    "app = ",
    "user = ",
    "cgroup = ",
    "unit = ",
    "registered = ",
    "match = ",
    "[beats]\n",
    "[[task]]\n",
    "[[task]]\nname = \"a\"\nperiod = \"40ms\"\nbudget = \"8ms\"\n",
    "period = ",
    "budget = ",
    "offset = ",
    "lead = ",
    "grid = ",
    "free = ",
    "cpus = ",
    "batch = ",
    "overrun = ",
    "members = ",
    "thread = ",
    "command = ",
    "\"40ms\"",
    "\"8ms\"",
    "\"100us\"",
    "\"1000000000s\"",
    "\"0-8191\"",
    "\"3-1\"",
    "0.0625",
    "priority = ",
    "overhead = ",
    "framing = ",
    "cells = ",
    "\"pppoe-ptm ether-vlan\"",
    "lag_max = ",
    "class = ",
    "proto = ",
    "dst = ",
    "dst_port = ",
    "dscp = ",
    "mark = ",
    "family = ",
    "\"1gbit\"",
    "\"25mb\"",
    "\"0\"",
    "\"-1bit\"",
    "\"99999999999999999999gbit\"",
    "\"1.00000000000000000000001kbit\"",
    "\"udp\"",
    "\"default\"",
    "\"5004-5100\"",
    "\"0-65535,1\"",
    "\"10.0.0.0/8\"",
    "\"::/0\"",
    "\"0x10/0xff\"",
    "\"a/b/../c/\"",
    "\"nginx.service\"",
    "\"a-name-of-sixteen\"",
    "\"ünïcödé-näme\"",
    "1.5",
    "400000.0001",
    "{ ",
    " }",
    "[",
    "]",
    ", ",
    "\n",
    "\r\n",
    "\r",
    "=",
    "\"",
    "'",
    "\"\"\"",
    "#",
    "☃",
    "\u{feff}",
    "\u{202e}",
    "\u{1b}[31m",
    "\0",
    "5",
    "-5",
    "0x1F",
    "1e400",
    "nan",
    "true",
    "1979-05-27",
    "\\u001b",
];

const EXAMPLES: &[&str] = &[
    "media-server",
    "home-gateway",
    "two-ports",
    "tenants",
    "per-flow",
    "audio",
    "plc",
];

fn exercise(text: &str) {
    match parse("any.toml", text) {
        Ok(policy) => {
            let _ = policy.warnings.render(true);
            let _ = format!("{policy:?}");
        }
        Err(found) => {
            assert!(!found.is_empty());
            let rendered = found.render(false);
            assert!(rendered.len() < 100_000, "{} bytes", rendered.len());
            assert!(
                !rendered.contains(|c: char| c.is_control() && c != '\n'),
                "{rendered:?}"
            );
            for entry in found.to_json().as_array().unwrap() {
                let line = entry["line"].as_u64().unwrap() as usize;
                assert!((1..=text.split('\n').count()).contains(&line));
            }
        }
    }
}

proptest! {
    #[test]
    fn on_any_text(text in "\\PC{0,200}") {
        exercise(&text);
    }

    #[test]
    fn on_any_bytes_that_are_text(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        exercise(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn on_any_parts(parts in proptest::collection::vec(proptest::sample::select(PARTS), 0..60)) {
        exercise(&parts.concat());
    }

    #[test]
    fn on_a_policy_with_a_change(
        which in 0..EXAMPLES.len(),
        at in any::<prop::sample::Index>(),
        removed in 0..20usize,
        inserted in proptest::sample::select(PARTS),
    ) {
        let example = EXAMPLES[which];
        let path = format!("{}/../../examples/{example}.toml", env!("CARGO_MANIFEST_DIR"));
        let text: Vec<char> = fs::read_to_string(Path::new(&path)).unwrap().chars().collect();
        let start = at.index(text.len());
        let end = (start + removed).min(text.len());
        let changed: String = text[..start]
            .iter()
            .copied()
            .chain(inserted.chars())
            .chain(text[end..].iter().copied())
            .collect();
        exercise(&changed);
    }

    #[test]
    fn at_every_cut(which in 0..EXAMPLES.len(), at in any::<prop::sample::Index>()) {
        let example = EXAMPLES[which];
        let path = format!("{}/../../examples/{example}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(Path::new(&path)).unwrap();
        let mut end = at.index(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        exercise(&text[..end]);
    }
}
