//! What can go wrong on the host's side of the lab.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the lab needs the program {program}; install it with: apt-get install {package}")]
    MissingProgram {
        program: &'static str,
        package: &'static str,
    },

    #[error("{doing}: {source}")]
    Io { doing: String, source: io::Error },

    #[error("{command} failed ({status}):\n{stderr}")]
    Program {
        command: String,
        status: std::process::ExitStatus,
        stderr: String,
    },

    #[error("neither XDG_CACHE_HOME nor HOME is set, so there is nowhere to keep kernels")]
    NoCacheDir,

    #[error(
        "apt knows no Debian archive to fetch kernels from; run `apt-get update` on a Debian \
         machine first (the lab takes mirror and keyring from apt's own settings)"
    )]
    NoDebianArchive,

    #[error("no kernel matches {spec:?}; there are: {}", known.join(", "))]
    NoSuchKernel { spec: String, known: Vec<String> },

    #[error(
        "kernel {release} was unpacked into {dir} but has no {what} there; remove that directory and try again"
    )]
    IncompleteKernel {
        release: String,
        dir: PathBuf,
        what: &'static str,
    },

    #[error("{path}: {why}")]
    AddedFile { path: PathBuf, why: String },

    #[error("{path} needs the shared library {library}, which this machine does not have")]
    MissingLibrary { path: PathBuf, library: String },

    #[error("module {path}: {why}")]
    Module { path: PathBuf, why: String },

    #[error("no command to run in the lab")]
    NoCommand,

    #[error("the lab kernel complained:\n{0}")]
    Splat(String),

    #[error("the lab could not be set up: {0}")]
    Guest(String),

    #[error("the lab machine ended without an exit status{}", tail(.0))]
    NoStatus(String),

    #[error("the lab machine was still running after {} s and was stopped; its console ended with:\n{console}", timeout.as_secs())]
    Timeout { timeout: Duration, console: String },
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
