//! The commands of cargo that the suite runs.

use std::{
    env,
    ffi::OsString,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::Command,
};

/// One profile for all: the property tests are long, and `takt` is built in it.
const RELEASE: &[&str] = &["--release"];
/// Compiles what changed in less time (Cargo.toml).
const QUICK: &[&str] = &["--profile", "quick"];
const LABORATORY: &str = "lab";
/// takt-bpf-build has no tests, and is built for build scripts anyway.
const PACKAGES: [&str; 3] = ["--workspace", "--exclude", "takt-bpf-build"];
/// Of integration tests, all but those called `lab`.
const WITHOUT_MACHINES: [&str; 6] = ["--lib", "--bins", "--test", "[!l]*", "--test", "l[!a]*"];

/// Which tests are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    All,
    /// Those that need no virtual machine.
    WithoutMachines,
    /// Takt's laboratory.
    Laboratory,
    /// All unit tests, and the integration tests with these names.
    Of {
        tests: Vec<String>,
        has_laboratory: bool,
    },
}

impl Selection {
    /// cargo's arguments.
    fn targets(&self) -> Vec<&str> {
        match self {
            // Examples and benchmarks have no tests; clippy compiles them.
            Selection::All => vec!["--lib", "--bins", "--tests"],
            Selection::WithoutMachines => WITHOUT_MACHINES.to_vec(),
            Selection::Laboratory => vec!["--test", LABORATORY],
            Selection::Of {
                tests,
                has_laboratory,
            } => {
                let mut targets = vec!["--lib", "--bins"];
                let laboratory = has_laboratory.then_some(LABORATORY);
                for test in tests.iter().map(String::as_str).chain(laboratory) {
                    targets.extend(["--test", test]);
                }
                targets
            }
        }
    }

    fn profile(&self) -> &'static [&'static str] {
        match self {
            Selection::Of { .. } => QUICK,
            _ => RELEASE,
        }
    }
}

/// How cargo is called.
#[derive(Debug, Clone)]
pub struct Cargo {
    program: OsString,
    /// For each cargo that builds: `$CARGO_FLAGS`.
    flags: Vec<String>,
    is_coloured: bool,
}

impl Cargo {
    pub fn from_environment() -> Cargo {
        let flags = env::var("CARGO_FLAGS").unwrap_or_default();
        let has_colours = io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none();
        Cargo {
            program: env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            flags: flags.split_whitespace().map(str::to_owned).collect(),
            is_coloured: has_colours && env::var_os("CARGO_TERM_COLOR").is_none(),
        }
    }

    pub fn format_check(&self) -> Command {
        let mut cargo = self.command("fmt");
        cargo.args(["--all", "--check"]);
        cargo
    }

    /// No test links the model of caches: the emulator loads it when it starts.
    pub fn plugin(&self) -> Command {
        let mut cargo = self.building("build", RELEASE);
        cargo.args(["--package", "takt-caches-plugin"]);
        cargo
    }

    /// An error for each warning, in all code or in that of some tests.
    pub fn clippy(&self, selection: &Selection) -> Command {
        let mut cargo = self.building("clippy", RELEASE);
        cargo.arg("--workspace");
        match selection {
            Selection::Of { .. } => cargo.args(selection.targets()),
            _ => cargo.arg("--all-targets"),
        };
        cargo.args(["--", "-D", "warnings"]);
        cargo
    }

    /// Builds test programs, and writes messages that [`crate::program::built`] reads.
    pub fn build_tests(&self, selection: &Selection) -> Command {
        let mut cargo = self.building("test", selection.profile());
        cargo.args(PACKAGES).args(selection.targets());
        cargo.args(["--no-run", "--message-format=json-render-diagnostics"]);
        cargo
    }

    /// The tests in the documentation of libraries.
    pub fn documentation_tests(&self) -> Command {
        let mut cargo = self.building("test", RELEASE);
        cargo.args(PACKAGES).args(["--doc", "--no-fail-fast"]);
        cargo
    }

    /// What cargo knows of the workspace's packages.
    pub fn metadata(&self) -> Command {
        let mut cargo = self.command("metadata");
        cargo.args(["--no-deps", "--format-version", "1"]);
        cargo
    }

    fn building(&self, what: &str, profile: &[&str]) -> Command {
        let mut cargo = self.command(what);
        cargo.args(&self.flags).args(profile);
        cargo
    }

    fn command(&self, what: &str) -> Command {
        let mut cargo = Command::new(&self.program);
        cargo.arg(what);
        // The build's messages are in a file, and a pipe may follow: cargo sees no terminal.
        if self.is_coloured {
            cargo.env("CARGO_TERM_COLOR", "always");
        }
        cargo
    }

    /// What a test program finds in its environment when cargo runs it.
    pub fn environment(&self, folder: &Path) -> Vec<(&'static str, OsString)> {
        vec![
            ("CARGO", self.program.clone()),
            ("CARGO_MANIFEST_DIR", folder.into()),
        ]
    }
}

/// Where cargo builds.
pub fn target_folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}
