//! The rooms of crates/host import each other in one direction only (docs/adr/0017).

use std::collections::{BTreeMap, BTreeSet};

use super::sources;

/// The first names after `crate::` in a file, without those of its unit tests.
fn imports(text: &str) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(list) => found.extend(heads(list)),
            None => found.extend(word(rest)),
        }
    }
    found
}

/// The first name of each entry of a list, up to its closing brace.
fn heads(list: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut depth = 1;
    let mut is_head = true;
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => is_head = true,
            _ if depth == 1 && is_head && !letter.is_whitespace() => {
                found.extend(word(&list[at..]));
                is_head = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

fn word(text: &str) -> Option<String> {
    let is_part = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
    let end = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

/// By room, the rooms that it imports.
fn rooms() -> BTreeMap<String, BTreeSet<String>> {
    let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources::below("crates/host/src", &["rs"]) {
        let within = source.path.strip_prefix("crates/host/src").unwrap();
        let first = within.iter().next().unwrap().to_string_lossy();
        let room = first.trim_end_matches(".rs").to_owned();
        // It names what the crate shows to others.
        if room == "lib" {
            continue;
        }
        let imported = imports(&source.text);
        let others = imported.into_iter().filter(|name| *name != room);
        rooms.entry(room.clone()).or_default().extend(others);
    }
    let known: BTreeSet<String> = rooms.keys().cloned().collect();
    for imported in rooms.values_mut() {
        imported.retain(|name| known.contains(name));
    }
    rooms
}

/// Rooms that import none of the others can be taken away; what is left when there are none such
/// imports in a circle.
fn circle(mut rooms: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    while let Some(bottom) = rooms.iter().find(|(_, imported)| imported.is_empty()) {
        let bottom = bottom.0.clone();
        rooms.remove(&bottom);
        for imported in rooms.values_mut() {
            imported.remove(&bottom);
        }
    }
    rooms
}

#[test]
fn rooms_import_in_one_direction() {
    let rooms = rooms();
    assert!(rooms.len() > 10, "{rooms:#?}");
    let circle = circle(rooms);
    assert!(circle.is_empty(), "these import in a circle: {circle:#?}");
}

#[test]
fn imports_are_found_in_lists_and_paths() {
    let text =
        "use crate::{\n    a::{b, c::d},\n    e,\n};\nfn f() { crate::g::h() } // crate::i\n";
    let found = imports(text);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "e", "g"]);
}

#[test]
fn a_circle_is_found_above_what_it_stands_on() {
    let rooms = [
        ("a", vec!["b"]),
        ("b", vec!["c", "d"]),
        ("c", vec!["a"]),
        ("d", vec![]),
    ];
    let rooms = rooms.map(|(name, imported)| {
        let imported = imported.into_iter().map(str::to_owned).collect();
        (name.to_owned(), imported)
    });
    let left: Vec<String> = circle(rooms.into()).into_keys().collect();
    assert_eq!(left, ["a", "b", "c"]);
}
