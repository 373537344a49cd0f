//! What `bpftool` and profiles show of Takt: every program, map and function of an object carries
//! the name of its folder below `bpf/`, and is told from all others by the 15 letters that the
//! kernel keeps.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// `BPF_OBJ_NAME_LEN`, without the zero at its end.
const SHOWN: usize = 15;

/// A name that ends so is only a map's shape: the map is never created.
const SHAPE: &str = "_shape";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Program,
    Map,
    Function,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Symbol {
    kind: Kind,
    name: String,
    file: PathBuf,
}

impl Symbol {
    /// The folder, which is the prefix too.
    fn room(&self) -> &str {
        let folder = self.file.parent().and_then(Path::file_name);
        folder.and_then(|name| name.to_str()).unwrap()
    }

    fn shown(&self) -> &str {
        &self.name[..self.name.len().min(SHOWN)]
    }
}

/// The word before `end` in a line.
fn word_before<'a>(line: &'a str, end: &str) -> &'a str {
    let before = line.split(end).next().unwrap().trim_end();
    let start = before.rfind(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric());
    &before[start.map_or(0, |at| at + 1)..]
}

/// What one file defines; `section` is that of the line before, if it names one.
fn symbols(file: &Path, text: &str) -> Vec<Symbol> {
    let mut section = "";
    let mut found = Vec::new();
    for line in text.lines() {
        let function = line.strip_prefix("static ").unwrap_or(line);
        let named = if line.ends_with("SEC(\".maps\");") {
            Some((Kind::Map, word_before(line, "SEC(")))
        } else if let Some(per_link) = line.strip_prefix("PER_LINK(") {
            Some((Kind::Map, per_link.split(',').next().unwrap()))
        } else if section == ".struct_ops.link" {
            Some((Kind::Map, word_before(line, "=")))
        } else if let Some((_, program)) = line.split_once("BPF_PROG(") {
            Some((Kind::Program, program.split([',', ')']).next().unwrap()))
        } else if !section.is_empty() {
            Some((Kind::Program, word_before(line, "(")))
        } else if function.starts_with("__noinline ") {
            Some((Kind::Function, word_before(line, "(")))
        } else {
            None
        };
        found.extend(named.map(|(kind, name)| Symbol {
            kind,
            name: name.to_owned(),
            file: file.to_owned(),
        }));
        section = line
            .strip_prefix("SEC(\"")
            .and_then(|rest| rest.strip_suffix("\")"))
            .unwrap_or_default();
    }
    found.retain(|symbol| !symbol.name.ends_with(SHAPE));
    found
}

fn all() -> Vec<Symbol> {
    let bpf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
    let mut found = Vec::new();
    for room in fs::read_dir(bpf).unwrap() {
        for file in fs::read_dir(room.unwrap().path()).unwrap() {
            let file = file.unwrap().path();
            found.extend(symbols(&file, &fs::read_to_string(&file).unwrap()));
        }
    }
    found
}

#[test]
fn finds_what_a_file_defines() {
    let text = r#"
char LICENSE[] SEC("license") = "Dual BSD/GPL";
} takt_room_map SEC(".maps");
	} name SEC(".maps")
PER_LINK(takt_room_links, port_map);
} port_shape SEC(".maps");
__noinline u32 takt_room_find(struct takt_port *port TAKT_ARG,
static __noinline int takt_room_bring(u64 queue)
SEC("struct_ops/enqueue")
int BPF_PROG(takt_room_enqueue, struct task_struct *p, u64 enq_flags)
SEC("iter/tcp")
int takt_room_all(struct bpf_iter__tcp *ctx)
SEC(".struct_ops.link")
struct Qdisc_ops takt_room_ops = {
"#;
    let names: Vec<_> = symbols(Path::new("room/file.h"), text)
        .into_iter()
        .map(|symbol| (symbol.kind, symbol.name))
        .collect();
    let expected = [
        (Kind::Map, "takt_room_map"),
        (Kind::Map, "takt_room_links"),
        (Kind::Function, "takt_room_find"),
        (Kind::Function, "takt_room_bring"),
        (Kind::Program, "takt_room_enqueue"),
        (Kind::Program, "takt_room_all"),
        (Kind::Map, "takt_room_ops"),
    ]
    .map(|(kind, name)| (kind, name.to_owned()));
    assert_eq!(names, expected);
}

#[test]
fn symbols_carry_the_name_of_their_folder() {
    let found = all();
    assert!(found.len() > 80, "{}", found.len());
    for symbol in &found {
        let prefix = match symbol.room() {
            "include" => "takt_".to_owned(),
            room => format!("takt_{room}"),
        };
        assert!(symbol.name.starts_with(&prefix), "{symbol:?}");
    }
}

/// A map that two objects share has one definition, in a header that both include.
#[test]
fn no_two_show_the_same_name() {
    let mut shown = BTreeMap::new();
    for symbol in all() {
        let length = match symbol.kind {
            // Of functions, the whole name is shown.
            Kind::Function => symbol.name.len(),
            _ => symbol.shown().len(),
        };
        let key = (symbol.kind, symbol.name[..length].to_owned());
        if let Some(other) = shown.insert(key, symbol.clone()) {
            panic!("{symbol:?} and {other:?} look alike");
        }
    }
}
