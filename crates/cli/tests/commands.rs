//! Every command that a help text, a page, a message or `takt explain` names is one that takt
//! takes: its words are parsed by the program itself, which then shows its help instead of doing
//! it. What `takt explain` is said to know is looked up.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const TAKT: &str = env!("CARGO_BIN_EXE_takt");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Where texts that people read lie. Decisions and the log of changes are of their time.
const FOLDERS: [&str; 4] = ["docs", "crates", "contrib", "packaging"];
const OF_THEIR_TIME: [&str; 3] = ["docs/adr", "docs/results", "CHANGELOG.md"];

/// Options that take a value, which a text speaks of without one.
const SPOKEN_OF: [&str; 5] = [
    "takt apply --confirm",
    "takt check --kernel",
    "takt flows --record",
    "takt fleet push --none --to",
    "takt sim --beside",
];

/// What stands for a word of the user's, and a word that fits.
const PLACEHOLDERS: [(&str, &str); 14] = [
    ("FILE", "policy.toml"),
    ("POLICY", "policy.toml"),
    ("DIR", "policy"),
    ("DIRECTORY", "policy"),
    ("CMD", "true"),
    ("COMMAND", "true"),
    ("ADDR", "192.0.2.7"),
    ("DB", "12"),
    ("RELEASE", "6.1"),
    ("HOST", "web1"),
    ("NAME", "pacing"),
    ("CODE", "held"),
    ("WORD", "late"),
    (
        "ed25519:…",
        "ed25519:pkzmbDPhHpI4ifpz5D22g6zfk8LmxMUIFKZs7yyKL8U",
    ),
];

/// Files of the repository below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        let relative = path.strip_prefix(ROOT).expect("below");
        if OF_THEIR_TIME.iter().any(|left| relative.starts_with(left)) {
            continue;
        }
        if path.is_dir() {
            files(&path, found);
        } else if path
            .extension()
            .is_some_and(|ext| ext == "md" || ext == "rs")
        {
            found.push(path);
        }
    }
}

/// Where a text has examples.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Between fences.
    Page,
    /// Behind the word.
    Help,
    /// Nowhere.
    Source,
}

/// Commands between backticks, and in examples. The text of a program goes on behind a line's end,
/// and a backslash there.
fn commands_of(text: &str, kind: Kind) -> Vec<String> {
    let quoted = text
        .split('`')
        .filter(|part| part.starts_with("takt ") || part.starts_with("sudo takt "));
    let one_line = |command: &str| {
        let words = command.split_whitespace();
        let words = words.filter(|word| !["\\", "//", "///", "//!"].contains(word));
        words.collect::<Vec<_>>().join(" ")
    };
    quoted.chain(examples(text, kind)).map(one_line).collect()
}

fn examples(text: &str, kind: Kind) -> Vec<&str> {
    let mut is_example = false;
    let mut found = Vec::new();
    for line in text.lines() {
        match kind {
            Kind::Page if line.trim_start().starts_with("```") => is_example = !is_example,
            Kind::Help if line.starts_with("Example") => is_example = true,
            _ => {}
        }
        let line = line.trim().trim_start_matches("$ ");
        let command = line.strip_prefix("sudo ").unwrap_or(line);
        if is_example && command.starts_with("takt ") {
            found.push(command);
        }
    }
    found
}

/// The words of one command of a line, without comments, pipes and directions.
fn words(line: &str) -> Option<Vec<String>> {
    let line = line.strip_prefix("sudo ").unwrap_or(line);
    let mut words = Vec::new();
    for word in line.split_whitespace() {
        if ["#", "|", ">", "||", "&&", ";"].contains(&word) || word.starts_with('#') {
            break;
        }
        words.push(word.trim_end_matches([',', ';']).to_owned());
    }
    // Made of other words by a program, or by a shell.
    let is_made = |word: &String| word.contains(['{', '<', '\\', '\'', '"']);
    (!words.iter().any(is_made)).then_some(words)
}

fn filled(words: &[String]) -> Vec<&str> {
    let fill = |word: &String| {
        let found = PLACEHOLDERS.iter().find(|(name, _)| name == word);
        found.map(|(_, value)| *value)
    };
    words
        .iter()
        .filter(|word| *word != "…" && *word != "...")
        .map(|word| fill(word).unwrap_or(word))
        .collect()
}

fn takt<'a>(words: impl IntoIterator<Item = &'a str>) -> Output {
    Command::new(TAKT)
        .args(words)
        .output()
        .expect("takt starts")
}

/// Why takt does not take a command.
fn refusal(words: &[&str]) -> Option<String> {
    let rest = &words[1..];
    let told = match rest {
        ["explain", word] => takt(["explain", word]),
        _ => {
            // What comes behind `--` is another program's.
            let end = rest
                .iter()
                .position(|word| *word == "--")
                .unwrap_or(rest.len());
            let (ours, others) = rest.split_at(end);
            takt(
                ours.iter()
                    .copied()
                    .chain(["--help"])
                    .chain(others.iter().copied()),
            )
        }
    };
    let said = String::from_utf8_lossy(&told.stderr);
    (!told.status.success()).then(|| said.lines().next().unwrap_or_default().to_owned())
}

/// The help of a command, and of all below it.
fn helps(command: &[&str], found: &mut Vec<String>) {
    let told = takt(command.iter().copied().chain(["--help"]));
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.status.success(), "{command:?}");
    let of_commands = text.split("Commands:\n").nth(1).unwrap_or_default();
    let of_commands = of_commands.split("\n\n").next().unwrap_or_default();
    let names = of_commands.lines().filter_map(|line| {
        let is_name = line.starts_with("  ") && !line.starts_with("   ");
        line.split_whitespace()
            .next()
            .filter(|name| is_name && *name != "help")
    });
    for name in names {
        helps(&[command, &[name]].concat(), found);
    }
    found.push(text);
}

#[test]
fn that_texts_name_are_taken() {
    let mut sources = vec![Path::new(ROOT).join("README.md")];
    for folder in FOLDERS {
        files(&Path::new(ROOT).join(folder), &mut sources);
    }
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    for path in sources {
        let text = fs::read_to_string(&path).expect("a source");
        let kind = if path.extension().is_some_and(|ext| ext == "md") {
            Kind::Page
        } else {
            Kind::Source
        };
        for command in commands_of(&text, kind) {
            places.entry(command).or_insert(path.display().to_string());
        }
    }
    let mut texts = Vec::new();
    helps(&[], &mut texts);
    for text in &texts {
        for command in commands_of(text, Kind::Help) {
            places.entry(command).or_insert("a help text".to_owned());
        }
    }
    let mut seen = BTreeSet::new();
    let mut refused = Vec::new();
    for (command, place) in &places {
        let Some(words) = words(command) else {
            continue;
        };
        let words = filled(&words);
        let is_spoken_of = SPOKEN_OF.contains(&words.join(" ").as_str());
        if is_spoken_of || !seen.insert(words.join(" ")) {
            continue;
        }
        if let Some(why) = refusal(&words) {
            refused.push(format!("{command} ({place}): {why}"));
        }
    }
    assert!(seen.len() > 100, "{} commands", seen.len());
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
