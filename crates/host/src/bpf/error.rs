//! Why programs and maps could not be loaded, opened or changed.

use std::path::PathBuf;

use thiserror::Error;

use crate::{
    error::Error,
    os::{OsError, capability, files::Shortage, lacking::Lacking},
};

/// BPF, or the kernel built without something.
#[derive(Debug, Error)]
pub enum BpfError {
    /// The kernel is too old, or built without something.
    #[error("this kernel lacks {feature} ({since})")]
    KernelLacks {
        /// What it lacks.
        feature: &'static str,
        /// The version or the configuration that has it.
        since: &'static str,
    },
    /// The kernel refuses programs of a kind before it looks at them, although this process may load
    /// programs.
    #[error(
        "this kernel refuses {feature} without a reason; they need {since}, and \
         kernel lockdown or a security module may forbid them (/sys/kernel/security has lockdown and lsm)"
    )]
    KernelRefuses {
        /// Which programs.
        feature: &'static str,
        /// The version and the configuration that have them.
        since: &'static str,
    },
    /// There is no BPF file system for pins, which keep programs in the kernel when takt is
    /// gone.
    #[error("no BPF file system at {path}; mount it: mount -t bpf bpf {path}")]
    NoBpffs {
        /// Where it is looked for first.
        path: &'static str,
    },
    /// Other users could replace takt's programs there.
    #[error(
        "the BPF file system at {path} has mode {mode:04o}, so that every user can replace what is \
         pinned there; give it the sticky bit: chmod +t {path}"
    )]
    OpenBpffs {
        /// Where it is mounted.
        path: PathBuf,
        /// Its root's permissions.
        mode: u32,
    },
    /// The maps in the kernel are not laid out as this takt reads them.
    #[error(
        "the programs in the kernel were loaded by another version of takt (layout {found}, \
         this one has {expected}); `takt apply`, without --confirm, hands over to this one, and \
         `takt revert` removes them"
    )]
    OtherVersion {
        /// Of the kernel's maps; 0: unknown.
        found: u32,
        /// This takt's: TAKT_LINK_ABI, TAKT_BEATS_ABI or TAKT_CROWD_ABI.
        expected: u32,
    },
    /// Likewise, and other namespaces use them.
    #[error(
        "{what} of other network namespaces were made by another version of takt{}; run `takt \
         revert` there, then here again",
        named(names)
    )]
    OtherVersionElsewhere {
        /// `links`, `tasks` or `congestion windows`.
        what: &'static str,
        /// Those that are known by name.
        names: Vec<String>,
    },
    /// The programs of another version were gone when those of this one failed.
    #[error(
        "{source}; the programs of the previous version were already gone, so everything was \
         reverted, as by `takt revert`"
    )]
    NotHandedOver {
        /// What failed.
        source: Error,
    },
    /// The kernel has every feature needed, and still refused a program.
    #[error("the kernel refused the program: {source}\n{log}")]
    Load {
        /// libbpf's error.
        source: libbpf_rs::Error,
        /// The last lines of libbpf's and the verifier's log.
        log: String,
    },
    /// A system call about maps or loaded programs failed.
    #[error("{doing}: {source}")]
    Bpf {
        /// What was tried.
        doing: &'static str,
        /// libbpf's error.
        source: libbpf_rs::Error,
    },
}

fn named(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!(" ({})", names.join(", ")),
    }
}

impl BpfError {
    /// Whether maps in the kernel are not laid out as this takt reads them.
    pub(crate) fn is_other_version(error: &Error) -> bool {
        matches!(error.of(), Some(Self::OtherVersion { .. }))
    }

    /// The kernel has one error for many refusals, so look for the reason.
    pub(crate) fn of(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Error {
        move |source| {
            if let Some(shortage) = Shortage::of_bpf(&source) {
                return OsError::short_of_files(doing, shortage);
            }
            if let Some(lacking) = Lacking::of_bpf(&source) {
                let doing = doing.to_owned();
                return OsError::Lacking { doing, lacking }.into();
            }
            let is_refused = source.kind() == libbpf_rs::ErrorKind::PermissionDenied;
            let why = is_refused.then(capability::refusal).flatten();
            why.unwrap_or_else(|| Self::Bpf { doing, source }.into())
        }
    }
}
