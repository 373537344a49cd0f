//! Turns documentation into manual pages, or into sections of programs' pages.

use std::{env, fs, path::Path};

use miniz_oxide::deflate::compress_to_vec;
use takt_manual::Page;

/// Documents, or one section of them, whose text follows what a page says of its program's command
/// line.
const SECTIONS: [(&str, &str, Option<&str>); 6] = [
    ("taktd.8", "daemon.md", None),
    ("takt-sim.1", "sim.md", None),
    ("takt-fleet.1", "fleet.md", None),
    ("takt-bench.1", "bench.md", None),
    (
        "takt-dispatch.1",
        "beats.md",
        Some("Kernels without the scheduler"),
    ),
    ("takt-kubernetes.1", "fleet.md", Some("Kubernetes")),
];

/// The best, and the slowest.
const LEVEL: u8 = 10;

fn main() {
    let source = concat!("takt ", env!("CARGO_PKG_VERSION"));
    let page = |name, section, about| Page {
        name,
        section,
        source,
        about,
    };
    let policy = page("takt-policy", 5, "the policy of takt, key by key");
    write("takt-policy.5", &policy.of(&read("policy.md")));
    let concepts = page("takt", 7, "concepts: what takt decides, and its words");
    write("takt.7", &concepts.of(&read("concepts.md")));
    for (name, document, heading) in SECTIONS {
        let text = read(document);
        let text = heading.map_or(text.as_str(), |heading| section(&text, heading));
        write(name, &takt_manual::sections(text));
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// From this heading of the second level to the next one.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let begin = text.find(&format!("\n## {heading}\n"));
    let rest = &text[begin.unwrap_or_else(|| panic!("there is no section {heading}")) + 1..];
    rest.find("\n## ").map_or(rest, |end| &rest[..=end])
}

fn read(name: &str) -> String {
    let path = format!("../../docs/{name}");
    println!("cargo::rerun-if-changed={path}");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Compressed, to a third.
fn write(name: &str, page: &str) {
    let directory = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let path = Path::new(&directory).join(format!("{name}.z"));
    fs::write(path, compress_to_vec(page.as_bytes(), LEVEL))
        .expect("cargo's directory can be written");
}
