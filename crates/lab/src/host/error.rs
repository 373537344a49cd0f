//! What can go wrong on the host's side of the lab.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why the lab did not run a command, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program of this machine's is neither on the path nor where `ip` and `tc` may lie.
    #[error("the lab needs the program {program}; install it with: apt-get install {package}")]
    MissingProgram {
        /// Its name.
        program: &'static str,
        /// Debian's, which has it.
        package: &'static str,
    },

    /// A system call of the lab's own failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// The kernel's answer.
        source: io::Error,
    },

    /// A program of this machine ended with an error.
    #[error("{command} failed ({status}):\n{stderr}")]
    Program {
        /// Its name.
        command: String,
        /// How it ended.
        status: std::process::ExitStatus,
        /// What it complained about.
        stderr: String,
    },

    /// The environment does not say where caches are.
    #[error("neither XDG_CACHE_HOME nor HOME is set, so there is nowhere to keep kernels")]
    NoCacheDir,

    /// Apt has no list of packages, or none of Debian's.
    #[error(
        "apt knows no Debian archive to fetch kernels from; run `apt-get update` on a Debian \
         machine first (the lab takes mirror and keyring from apt's own settings)"
    )]
    NoDebianArchive,

    /// Neither the cache nor the archive has one.
    #[error("no kernel matches {spec:?}; there are: {}", known.join(", "))]
    NoSuchKernel {
        /// As it was asked for.
        spec: String,
        /// The releases that there are.
        known: Vec<String>,
    },

    /// What was fetched is not whole, or not any more.
    #[error(
        "kernel {release} was unpacked into {dir} but has no {what} there; remove that directory and try again"
    )]
    IncompleteKernel {
        /// As `uname -r` prints it.
        release: String,
        /// Its place in the cache.
        dir: PathBuf,
        /// What was looked for.
        what: &'static str,
    },

    /// A file to be added is none, or bears the name of another.
    #[error("{path}: {why}")]
    AddedFile {
        /// As it was given.
        path: PathBuf,
        /// What is the matter with it.
        why: String,
    },

    /// The program could not start in the machine.
    #[error("{path} needs the shared library {library}, which this machine does not have")]
    MissingLibrary {
        /// The program's file.
        path: PathBuf,
        /// As `ldd` calls it.
        library: String,
    },

    /// A module of the kernel's cannot be unpacked.
    #[error("module {path}: {why}")]
    Module {
        /// Its file in the cache.
        path: PathBuf,
        /// What is the matter with it.
        why: String,
    },

    /// The machine would have nothing to do.
    #[error("no command to run in the lab")]
    NoCommand,

    /// A warning, an oops or the like, and what the kernel said after it: the run has failed,
    /// whatever the command's status.
    #[error("the lab kernel complained:\n{0}")]
    Splat(String),

    /// What the machine's first process could not do before the command, and the console's last
    /// lines.
    #[error("the lab could not be set up: {0}")]
    Guest(String),

    /// The console's last lines, or the emulator's.
    #[error("the lab machine ended without an exit status{}", tail(.0))]
    NoStatus(String),

    /// The run took longer by the host's clock than it may.
    #[error("the lab machine was still running after {} s and was stopped; its console ended with:\n{console}", timeout.as_secs())]
    Timeout {
        /// How long that is.
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

/// Attaches to an I/O error what was being done when it happened.
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
