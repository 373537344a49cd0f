//! The test programs that cargo built.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    pub package: String,
    pub target: Target,
    pub executable: PathBuf,
    /// The package's folder, in which cargo runs the program.
    pub folder: PathBuf,
}

/// The tests in the sources of a library or of a program, or a file or folder of `tests`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    Library,
    Binary(String),
    Tests(String),
}

/// A line of `cargo --message-format=json`.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    package_id: Option<String>,
    target: Option<MessageTarget>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct MessageTarget {
    kind: Vec<String>,
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

impl Program {
    /// Takt's own tests in virtual machines, which take longer than all others.
    pub fn is_laboratory(&self) -> bool {
        self.package == "takt" && self.boots_machines()
    }

    /// Whether it needs an emulator.
    pub fn boots_machines(&self) -> bool {
        self.target == Target::Tests("lab".to_owned())
    }

    /// Whether it mostly waits for time to pass, so that it takes no processor from others.
    pub fn mostly_waits(&self) -> bool {
        let is = |package: &str, name: &str| {
            self.package == package && self.target == Target::Tests(name.to_owned())
        };
        is("takt-fleet", "fleet") || is("takt-kubernetes", "cluster")
    }

    /// Its name for readers.
    pub fn label(&self) -> String {
        match &self.target {
            Target::Library => format!("{} (library)", self.package),
            Target::Binary(name) => format!("{} (program {name})", self.package),
            Target::Tests(name) => format!("{} {name}", self.package),
        }
    }
}

/// The test programs in cargo's messages, sorted by package. Lines that are no JSON are other
/// programs' output.
pub fn built(messages: &str) -> Vec<Program> {
    let mut found: Vec<_> = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter_map(program)
        .collect();
    found.sort();
    found
}

fn program(message: Message) -> Option<Program> {
    if message.reason != "compiler-artifact" || !message.profile?.test {
        return None;
    }
    let target = message.target?;
    let target = match target.kind.first()?.as_str() {
        "bin" => Target::Binary(target.name),
        "test" => Target::Tests(target.name),
        "lib" | "rlib" | "cdylib" | "staticlib" => Target::Library,
        _ => return None,
    };
    let folder = message.manifest_path?.parent().map(Path::to_owned)?;
    Some(Program {
        package: package_name(&message.package_id?, &folder)?,
        target,
        executable: message.executable?,
        folder,
    })
}

/// Of `path+file:///takt/crates/cli#takt@0.1.0`; a package that is called like its folder has the
/// version only.
fn package_name(id: &str, folder: &Path) -> Option<String> {
    let (_, fragment) = id.rsplit_once('#')?;
    match fragment.split_once('@') {
        Some((name, _version)) => Some(name.to_owned()),
        None => Some(folder.file_name()?.to_str()?.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, kind: &str, name: &str, is_test: bool) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"path+file:///takt/crates/{id}","manifest_path":"/takt/crates/cli/Cargo.toml","target":{{"kind":["{kind}"],"crate_types":["bin"],"name":"{name}"}},"profile":{{"opt_level":"3","test":{is_test}}},"executable":"/target/{name}-1"}}"#
        )
    }

    #[test]
    fn test_programs_are_found_among_other_messages() {
        let messages = [
            line("cli#takt@0.1.0", "test", "lab", true),
            line("cli#takt@0.1.0", "bin", "takt", false),
            line("cli#0.1.0", "bin", "takt", true),
            line("cli#takt@0.1.0", "lib", "takt", true),
            "   Compiling takt".to_owned(),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ]
        .join("\n");
        let found = built(&messages);
        let labels: Vec<_> = found.iter().map(Program::label).collect();
        assert_eq!(labels, ["cli (program takt)", "takt (library)", "takt lab"]);
        assert_eq!(found[2].folder, Path::new("/takt/crates/cli"));
        assert_eq!(found[2].executable, Path::new("/target/lab-1"));
    }

    #[test]
    fn only_one_program_is_the_laboratory() {
        let found = built(
            &[
                line("cli#takt@0.1.0", "test", "lab", true),
                line("fleet#takt-fleet@0.1.0", "test", "lab", true),
                line("fleet#takt-fleet@0.1.0", "test", "fleet", true),
            ]
            .join("\n"),
        );
        let of = |has: fn(&Program) -> bool| {
            let those = found.iter().filter(|program| has(program));
            those.map(Program::label).collect::<Vec<_>>()
        };
        assert_eq!(of(Program::is_laboratory), ["takt lab"]);
        assert_eq!(of(Program::boots_machines), ["takt lab", "takt-fleet lab"]);
        assert_eq!(of(Program::mostly_waits), ["takt-fleet fleet"]);
    }
}
