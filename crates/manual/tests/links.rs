//! The documentation's links lead to files, directories and headings that exist, and each page is in
//! the site's table of contents.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const PLACES: [&str; 4] = ["", "docs", "docs/adr", "docs/results"];

/// Every document, by its path within the repository.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in PLACES {
        for entry in fs::read_dir(Path::new(ROOT).join(place)).unwrap() {
            let name = entry.unwrap().file_name();
            if Path::new(&name).extension().is_some_and(|it| it == "md") {
                found.push(Path::new(place).join(name));
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

/// Where the document's links and pictures lead.
fn links(markdown: &str) -> Vec<String> {
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES);
    let targets = events.filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url),
        _ => None,
    });
    targets.map(String::from).collect()
}

/// The anchors of its headings, as GitHub and mdBook make them.
fn anchors(markdown: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut heading = None;
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let text = heading.take().unwrap_or_default().to_lowercase();
                let kept = text.chars().filter_map(|each| match each {
                    ' ' => Some('-'),
                    '-' | '_' => Some(each),
                    _ => each.is_alphanumeric().then_some(each),
                });
                found.insert(kept.collect());
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    found
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(normal.pop(), "{}", path.display()),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

/// The file that a link of this document names; `None`: it is elsewhere.
fn target(document: &Path, link: &str) -> Option<(PathBuf, String)> {
    if link.contains("://") {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let file = match path {
        "" => document.to_owned(),
        path => normal(&document.parent().unwrap().join(path)),
    };
    Some((file, anchor.to_owned()))
}

#[test]
fn every_link_leads_somewhere() {
    let mut dead = Vec::new();
    let mut count = 0;
    for document in documents() {
        for link in links(&read(&document)) {
            let Some((file, anchor)) = target(&document, &link) else {
                continue;
            };
            count += 1;
            let exists = Path::new(ROOT).join(&file).exists();
            if !exists || !(anchor.is_empty() || anchors(&read(&file)).contains(&anchor)) {
                dead.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(count > 200, "{count}");
    assert_eq!(dead, [""; 0]);
}

/// `scripts/docs` adds the decisions.
#[test]
fn every_page_is_in_the_table_of_contents() {
    let contents = Path::new("docs/SUMMARY.md");
    let listed: Vec<PathBuf> = links(&read(contents))
        .iter()
        .filter_map(|link| Some(target(contents, link)?.0))
        .collect();
    for document in documents() {
        let is_listed = listed.contains(&document) || document.starts_with("docs/adr");
        assert!(is_listed || document == contents, "{}", document.display());
    }
    let once: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(once.len(), listed.len());
}
