//! The packages that a change affects.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::Context;
use serde::Deserialize;

/// Sources outside of packages, and the packages that are made of them or test them.
const OUTSIDE: [(&str, &[&str]); 7] = [
    ("algo/", &["takt-algo"]),
    ("bpf/", &["takt-host"]),
    ("bpf/vectors/", &["takt-vectors"]),
    ("include/", &["takt-beats"]),
    ("docs/", &["takt-manual", "takt-report"]),
    ("README.md", &["takt-manual", "takt-report"]),
    ("examples/", &["takt-policy"]),
];

/// `cargo metadata`.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    path: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

/// The packages of the workspace.
#[derive(Debug)]
pub struct Packages(Metadata);

/// What a change affects.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// Packages with a file that changed.
    pub changed: BTreeSet<String>,
    /// Those that depend on them, directly or not.
    pub dependents: BTreeSet<String>,
    /// The names of integration tests of the former.
    pub tests: BTreeSet<String>,
}

impl Packages {
    /// Reads the output of `cargo metadata`.
    pub fn read(json: &str) -> anyhow::Result<Packages> {
        let metadata = serde_json::from_str(json).context("cargo metadata")?;
        Ok(Packages(metadata))
    }

    /// `files` are paths in the repository.
    pub fn affected<'a>(&self, files: impl IntoIterator<Item = &'a str>) -> Affected {
        let mut changed = BTreeSet::new();
        for file in files {
            changed.extend(self.owner(file).map(str::to_owned));
            let outside = OUTSIDE
                .iter()
                .filter(|(beginning, _)| file.starts_with(beginning));
            let names = outside.flat_map(|(_, names)| names.iter());
            changed.extend(names.map(|&name| name.to_owned()));
        }
        let all = self.with_dependents(&changed);
        Affected {
            dependents: all.difference(&changed).cloned().collect(),
            tests: self.integration_tests(&changed),
            changed,
        }
    }

    fn owner(&self, file: &str) -> Option<&str> {
        let path = self.0.workspace_root.join(file);
        let owns = |package: &&Package| {
            let folder = package.manifest_path.parent();
            folder.is_some_and(|folder| path.starts_with(folder))
        };
        self.0
            .packages
            .iter()
            .find(owns)
            .map(|package| package.name.as_str())
    }

    fn with_dependents(&self, changed: &BTreeSet<String>) -> BTreeSet<String> {
        let mut dependents: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for package in &self.0.packages {
            for dependency in package.dependencies.iter().filter(|it| it.path.is_some()) {
                dependents
                    .entry(&dependency.name)
                    .or_default()
                    .push(&package.name);
            }
        }
        let mut all = BTreeSet::new();
        let mut new: Vec<&str> = changed.iter().map(String::as_str).collect();
        while let Some(name) = new.pop() {
            if all.insert(name.to_owned()) {
                new.extend(dependents.get(name).into_iter().flatten());
            }
        }
        all
    }

    fn integration_tests(&self, changed: &BTreeSet<String>) -> BTreeSet<String> {
        let packages = self.0.packages.iter();
        let packages = packages.filter(|package| changed.contains(&package.name));
        let targets = packages.flat_map(|package| &package.targets);
        let tests = targets.filter(|target| target.kind == ["test"]);
        tests.map(|target| target.name.clone()).collect()
    }
}

impl Affected {
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }

    /// Whether a package's unit tests are run.
    pub fn includes(&self, package: &str) -> bool {
        self.changed.contains(package) || self.dependents.contains(package)
    }
}

/// The files that a list of git's names.
pub fn lines(said: &str) -> impl Iterator<Item = &str> {
    said.lines()
        .filter(|line| !Path::new(line).as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, on: &[&str]) -> String {
        let on = on
            .iter()
            .map(|on| format!(r#"{{"name":"{on}","path":"/t/crates/{on}"}}"#));
        let on: Vec<_> = on
            .chain([r#"{"name":"libc","path":null}"#.to_owned()])
            .collect();
        format!(
            r#"{{"name":"{name}","manifest_path":"/t/crates/{name}/Cargo.toml","dependencies":[{}],"targets":[{{"kind":["test"],"name":"{name}-tests"}},{{"kind":["lib"],"name":"{name}"}}]}}"#,
            on.join(",")
        )
    }

    fn packages() -> Packages {
        let packages = [
            package("takt-algo", &[]),
            package("takt-host", &["takt-algo"]),
            package("takt", &["takt-host"]),
            package("takt-wlan", &[]),
        ];
        let json = format!(
            r#"{{"packages":[{}],"workspace_root":"/t"}}"#,
            packages.join(",")
        );
        Packages::read(&json).unwrap()
    }

    fn names(set: &BTreeSet<String>) -> Vec<&str> {
        set.iter().map(String::as_str).collect()
    }

    #[test]
    fn dependents_of_dependents_are_affected() {
        let affected = packages().affected(["algo/link.h", "CHANGELOG.md"]);
        assert_eq!(names(&affected.changed), ["takt-algo"]);
        assert_eq!(names(&affected.dependents), ["takt", "takt-host"]);
        assert_eq!(names(&affected.tests), ["takt-algo-tests"]);
        assert!(affected.includes("takt") && !affected.includes("takt-wlan"));
    }

    #[test]
    fn a_file_belongs_to_its_package() {
        let affected = packages().affected(["crates/takt/src/main.rs"]);
        assert_eq!(names(&affected.changed), ["takt"]);
        assert!(affected.dependents.is_empty());
        assert!(packages().affected(["CHANGELOG.md"]).is_empty());
    }

    #[test]
    fn packages_that_are_named_here_exist() {
        for (_, names) in OUTSIDE {
            for name in names {
                let folder = name.trim_start_matches("takt-");
                let path = format!("{}/../{folder}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
                assert!(Path::new(&path).exists(), "{name}");
            }
        }
    }
}
