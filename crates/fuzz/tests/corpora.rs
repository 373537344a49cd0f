//! Every kept input, and for seconds inputs that are like them.

use std::fs;

use proptest::{
    prelude::*,
    sample::Index,
    test_runner::{Config, TestRunner},
};
use takt_fuzz::{TARGETS, Target};

/// Changed inputs of each target.
const CASES: u32 = 30_000;

/// What parsers read beside bytes as they come: ends of ranges, and what separates and nests.
const TOKENS: &[&[u8]] = &[
    b"\0",
    b"\n",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"=",
    b":",
    b"-",
    b".",
    b"e9",
    b"0",
    b"18446744073709551615",
    b"-1",
    b"null",
    b"\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x7f",
    b"\x80",
];

#[derive(Debug, Clone)]
enum Edit {
    Flip(Index, u8),
    Insert(Index, &'static [u8]),
    Remove(Index, usize),
    /// From one place to another.
    Copy(Index, usize, Index),
    /// The rest is another input's.
    Join(Index, Index, Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let place = any::<Index>;
    prop_oneof![
        (place(), 1u8..).prop_map(|(at, bits)| Edit::Flip(at, bits)),
        (place(), prop::sample::select(TOKENS)).prop_map(|(at, token)| Edit::Insert(at, token)),
        (place(), 1..20usize).prop_map(|(at, length)| Edit::Remove(at, length)),
        (place(), 1..40usize, place()).prop_map(|(at, length, to)| Edit::Copy(at, length, to)),
        (place(), place(), place()).prop_map(|(at, other, from)| Edit::Join(at, other, from)),
    ]
}

fn apply(edit: &Edit, input: &mut Vec<u8>, all: &[Vec<u8>]) {
    let within = |at: &Index, bytes: &[u8]| at.index(bytes.len() + 1);
    match edit {
        Edit::Flip(at, bits) if !input.is_empty() => {
            let at = at.index(input.len());
            input[at] ^= bits;
        }
        Edit::Flip(..) => {}
        Edit::Insert(at, token) => {
            let at = within(at, input);
            input.splice(at..at, token.iter().copied());
        }
        Edit::Remove(at, length) => {
            let at = within(at, input);
            let end = (at + length).min(input.len());
            input.drain(at..end);
        }
        Edit::Copy(at, length, to) => {
            let at = within(at, input);
            let copied = input[at..(at + length).min(input.len())].to_vec();
            let to = within(to, input);
            input.splice(to..to, copied);
        }
        Edit::Join(at, other, from) => {
            let at = within(at, input);
            input.truncate(at);
            let other = other.get(all);
            input.extend(&other[within(from, other)..]);
        }
    }
}

/// All kept inputs of a target, in an order that does not change.
fn inputs(target: &Target) -> Vec<Vec<u8>> {
    let folders = target.folders().into_iter();
    let mut paths: Vec<_> = folders
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn fuzz(name: &str) {
    let target = TARGETS.into_iter().find(|target| target.name == name);
    let target = target.unwrap();
    let all = inputs(&target);
    assert!(!all.is_empty());
    for input in &all {
        (target.run)(input);
    }
    let mut runner = TestRunner::new(Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    });
    let edits = prop::collection::vec(edit(), 1..8);
    let ran = runner.run(&(any::<Index>(), edits), |(which, edits)| {
        let mut input = which.get(&all).clone();
        for edit in &edits {
            apply(edit, &mut input, &all);
        }
        (target.run)(&input);
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn capture() {
    fuzz("capture");
}

#[test]
fn capacities() {
    fuzz("capacities");
}

#[test]
fn control() {
    fuzz("control");
}

#[test]
fn fleet() {
    fuzz("fleet");
}

#[test]
fn netlink() {
    fuzz("netlink");
}

#[test]
fn packet() {
    fuzz("packet");
}

#[test]
fn policy() {
    fuzz("policy");
}

#[test]
fn recording() {
    fuzz("recording");
}

#[test]
fn reports() {
    fuzz("reports");
}

#[test]
fn state() {
    fuzz("state");
}

#[test]
fn traffic() {
    fuzz("traffic");
}

#[test]
fn every_corpus_has_a_target() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    for entry in fs::read_dir(corpus).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(TARGETS.iter().any(|target| target.name == name), "{name}");
    }
}
