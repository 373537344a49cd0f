//! The policy of a directory: `policy.toml` in it, then `policy.d/*.toml` by their names.
//!
//! Each file is a policy of its own, and they are one policy together. A link is in one of them, and
//! so are the settings of radio, crowd and beats: of two files that say something about the same
//! thing, neither wins. Tasks may be in several.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::{explain, read_text};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::findings::Findings;
use crate::source::{Source, Span, join};
use crate::{Code, parse};

const MAIN: &str = "policy.toml";
const MORE: &str = "policy.d";
const EXTENSION: &str = "toml";

/// The most files in [`MORE`].
const FILES_MAX: usize = 256;

/// Tables that stand in one file.
const SINGLE: [&str; 3] = ["radio", "crowd", "beats"];

/// The name and the text of all files. Those of a single one are as they are.
pub(super) fn read_all(folder: &Path) -> Result<(String, String), Diagnostics> {
    let files = files(folder)?;
    let mut texts = Vec::new();
    for path in &files {
        texts.push((path.display().to_string(), read_text(path)?));
    }
    match &mut texts[..] {
        [only] => Ok(std::mem::take(only)),
        _ => {
            for (name, text) in &texts {
                stands_alone(name, text)?;
            }
            let all = join(
                texts
                    .iter()
                    .map(|(name, text)| (name.as_str(), text.as_str())),
            );
            name_sections_once(folder, &all, &texts)?;
            Ok((folder.display().to_string(), all))
        }
    }
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Diagnostics> {
    let name = folder.display().to_string();
    let main = folder.join(MAIN);
    let more = folder.join(MORE);
    let mut files = Vec::new();
    if more.is_dir() {
        let unreadable = |error: &std::io::Error| {
            let name = more.display().to_string();
            Diagnostics::of_file(&name, explain(&name, error))
        };
        for entry in std::fs::read_dir(&more).map_err(|error| unreadable(&error))? {
            let path = entry.map_err(|error| unreadable(&error))?.path();
            if is_policy(&path) {
                files.push(path);
            }
            if files.len() > FILES_MAX {
                return Err(Diagnostics::of_file(&name, too_many(&more)));
            }
        }
    }
    files.sort_unstable();
    if main.exists() {
        files.insert(0, main);
    }
    if files.is_empty() {
        Err(Diagnostics::of_file(&name, without_policy(&name)))
    } else {
        Ok(files)
    }
}

/// Editors leave hidden files and such with other endings.
fn is_policy(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_hidden = name.is_none_or(|name| name.starts_with('.'));
    !is_hidden && path.extension().is_some_and(|found| found == EXTENSION)
}

fn without_policy(name: &str) -> Diagnostic {
    Diagnostic::error(
        Code::IsDirectory,
        format!("{name} is a directory without {MAIN} and {MORE}/*.{EXTENSION}"),
        "name a policy file in it, or a directory with one of these names",
    )
}

fn too_many(more: &Path) -> Diagnostic {
    Diagnostic::error(
        Code::TooManyFiles,
        format!("{} has more than {FILES_MAX} files", more.display()),
        "put several links into one file",
    )
}

/// A file that is no policy could change what the file before it says.
fn stands_alone(name: &str, text: &str) -> Result<(), Diagnostics> {
    parse(name, text).map(drop)
}

fn name_sections_once(
    folder: &Path,
    all: &str,
    texts: &[(String, String)],
) -> Result<(), Diagnostics> {
    let source = Source::new(&folder.display().to_string(), all);
    let mut findings = Findings::default();
    let mut first_by_section: BTreeMap<String, (Span, &str)> = BTreeMap::new();
    let mut at = 0;
    for (name, text) in texts {
        // Each text ends where the comment before the next one begins.
        at += all[at..].find('\n').map_or(0, |end| end + 1);
        for (section, span) in sections(text) {
            let span = at + span.start..at + span.end;
            match first_by_section.get(&section) {
                Some((first, file)) => findings.add(twice(&section, file, name, &span, first)),
                None => {
                    first_by_section.insert(section, (span, name));
                }
            }
        }
        at += text.len() + usize::from(!text.ends_with('\n'));
    }
    findings.conclude(&source).map(drop)
}

fn twice(section: &str, first_file: &str, file: &str, span: &Span, first: &Span) -> Diagnostic {
    Diagnostic::error(
        Code::SectionTwice,
        format!("[{section}] is in {first_file} and in {file}"),
        "keep it in one of them",
    )
    .at(span, "again here")
    .at(first, "first here")
}

/// What a file says something about, with the position of its first mention.
fn sections(text: &str) -> Vec<(String, Span)> {
    let (file, _) = DeTable::parse_recoverable(text);
    let mut found = Vec::new();
    for (key, value) in file.get_ref() {
        let name = key.get_ref();
        match value.get_ref() {
            DeValue::Table(links) if name == "link" => {
                for device in links.keys() {
                    found.push((format!("{name}.{}", device.get_ref()), device.span()));
                }
            }
            _ if SINGLE.contains(&name.as_ref()) => found.push((name.to_string(), key.span())),
            _ => {}
        }
    }
    found
}
