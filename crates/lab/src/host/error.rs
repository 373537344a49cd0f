//! Errors on the host's side of the lab.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why the lab did not run a command, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program is neither on this machine's path nor where `ip` and `tc` may be.
    #[error("the lab needs the program {program}; install it with: apt-get install {package}")]
    MissingProgram {
        /// The program's name.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },

    /// The machine has no takt to run.
    #[error("there is no takt at {path}, beside takt-lab; `make build` makes both")]
    NoTakt {
        /// Where it should be.
        path: PathBuf,
    },

    /// A system call of the lab failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// The kernel's error.
        source: io::Error,
    },

    /// A program of this machine ended with an error.
    #[error("{command} failed ({status}):\n{stderr}")]
    Program {
        /// The program's name.
        command: String,
        /// Its exit status or signal.
        status: std::process::ExitStatus,
        /// Its error output.
        stderr: String,
    },

    /// The environment has no directory for caches.
    #[error("neither XDG_CACHE_HOME nor HOME is set, so the lab has no place for its downloads")]
    NoCacheDir,

    /// Apt has no list of packages, or none of Debian's.
    #[error(
        "apt knows no Debian archive to fetch from; run `apt-get update` on a Debian \
         machine first (the lab takes mirror and keyring from apt's own settings)"
    )]
    NoDebianArchive,

    /// Neither the cache nor the archive has such a kernel.
    #[error("no kernel matches {spec:?}; there are: {}", known.join(", "))]
    NoSuchKernel {
        /// The kernel that was asked for.
        spec: String,
        /// The available releases.
        known: Vec<String>,
    },

    /// A downloaded kernel is incomplete.
    #[error(
        "kernel {release} was unpacked into {dir} but has no {what} there; remove that directory and try again"
    )]
    IncompleteKernel {
        /// As `uname -r` prints it.
        release: String,
        /// Its directory in the cache.
        dir: PathBuf,
        /// The missing file.
        what: &'static str,
    },

    /// The machine's emulator is older than the lab needs, or it has none, and none was fetched.
    #[error(
        "the lab needs QEMU {oldest} or newer; this machine has {found}, and fetching one failed: {source}"
    )]
    OldEmulator {
        /// The oldest version that will do.
        oldest: String,
        /// The machine's version.
        found: String,
        /// Why none was fetched.
        source: Box<Error>,
    },

    /// The backport is older than the lab needs, too.
    #[error("{suites} has {version}")]
    OldBackport {
        /// Where it was looked for.
        suites: String,
        /// Its version.
        version: String,
    },

    /// The fetched emulator cannot start on this machine.
    #[error(
        "the lab's emulator needs the shared library {library}, which this machine does not have; \
         install it with: apt-get install {package}"
    )]
    EmulatorLibrary {
        /// The library as `ldd` names it.
        library: String,
        /// The Debian package that brings it.
        package: &'static str,
    },

    /// A file to be added does not exist, or has the name of another.
    #[error("{path}: {why}")]
    AddedFile {
        /// The path as given.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },

    /// The program could not start in the machine.
    #[error("{path} needs the shared library {library}, which this machine does not have")]
    MissingLibrary {
        /// The program's file.
        path: PathBuf,
        /// The library as `ldd` names it.
        library: String,
    },

    /// A module of the kernel's cannot be unpacked.
    #[error("module {path}: {why}")]
    Module {
        /// Its file in the cache.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },

    /// The machine would have nothing to do.
    #[error("no command to run in the lab")]
    NoCommand,

    /// A warning, an oops or the like, and the kernel's messages after it: the run has failed,
    /// whatever the command's status.
    #[error("the lab kernel complained:\n{0}")]
    Splat(String),

    /// The step that the machine's first process could not do before the command, and the
    /// console's last lines.
    #[error("the lab could not be set up: {0}")]
    Guest(String),

    /// The console's last lines, or the emulator's.
    #[error("the lab machine ended without an exit status{}", tail(.0))]
    NoStatus(String),

    /// The run exceeded its time limit by the host's clock.
    #[error("the lab machine was still running after {} s and was stopped; its console ended with:\n{console}", timeout.as_secs())]
    Timeout {
        /// The limit.
        timeout: Duration,
        /// The console's last lines.
        console: String,
    },
}

fn tail(last_words: &str) -> String {
    if last_words.is_empty() {
        String::new()
    } else {
        format!("; it last said:\n{last_words}")
    }
}

/// Adds to an I/O error what was being done.
pub(super) trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|e| Error::Io {
            doing: what(),
            source: e.into(),
        })
    }
}
