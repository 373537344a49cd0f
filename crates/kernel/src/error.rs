//! What can go wrong on a host, by what the user can do about it.

use std::{io, path::PathBuf};

use thiserror::Error;

use crate::{beats::Ended, netlink::NetlinkError};

#[derive(Debug, Error)]
pub enum Error {
    /// The kernel is too old, or built without something.
    #[error("this kernel lacks {feature} ({since}){}", reason.as_ref().map(|r| format!(": {r}")).unwrap_or_default())]
    KernelLacks {
        feature: &'static str,
        since: &'static str,
        reason: Option<String>,
    },
    #[error("{missing} is missing; run takt as root, or give it that capability")]
    Capability { missing: &'static str },
    #[error("no BPF file system at {path}; mount it: mount -t bpf bpf {path}")]
    NoBpffs { path: &'static str },
    #[error("no cgroup2 file system is mounted; mount it: mount -t cgroup2 none /sys/fs/cgroup")]
    NoCgroup2,
    #[error(
        "this kernel has no devices of kind ifb, which incoming background traffic goes through \
         (CONFIG_IFB; `modprobe ifb` says what is missing); receive = false in the classes with \
         priority = \"background\" does without"
    )]
    NoIfb,
    #[error(
        "this kernel takes no program on a device's ingress, which incoming background traffic \
         needs: {source}; receive = false in the classes with priority = \"background\" does \
         without"
    )]
    NoIngress { source: libbpf_rs::Error },
    /// Somebody else's qdisc is in the way, or ours is gone.
    #[error("{0}; {remedy}", remedy = _0.remedy())]
    Foreign(#[from] Foreign),
    #[error(
        "the congestion control takt is gone while a policy with [crowd] is in force; apply it again"
    )]
    NoCrowd,
    #[error("stations of {device}: {problem}")]
    NoStations {
        device: String,
        problem: &'static str,
    },
    #[error("{device} has 256 stations already, and there is room for no more; forget some")]
    TooManyStations { device: String },
    #[error("{link_count} devices are managed already, and the programs hold no more")]
    TooManyLinks { link_count: usize },
    #[error(
        "the programs in the kernel were loaded by another version of takt (layout {found}, \
         this one has {expected}); run `takt revert`, then apply again"
    )]
    OtherVersion { found: u32, expected: u32 },
    #[error(
        "{doing}: {source}; until that is mended, links with pacing = \"gap\" pace by the timer, and \
         what the background's gate holds waits for the processor it was held on"
    )]
    Helper {
        doing: &'static str,
        source: io::Error,
    },
    #[error(
        "the scheduler {name} is loaded, and the kernel runs one such scheduler at a time; stop it \
         first"
    )]
    OtherScheduler { name: String },
    #[error(
        "threads are on the beat of {policy}, which was applied in another network namespace; \
         `takt revert` there ends it"
    )]
    BeatsElsewhere { policy: String },
    #[error(
        "the kernel ended the scheduler of beats: {ended}; `takt apply` loads it anew, `takt \
         revert` takes away what is left of it"
    )]
    BeatsEnded { ended: Ended },
    #[error("the time slots that remain cannot be planned: {reason}")]
    NoPlan { reason: String },
    #[error("setting {knob} while there are beats, or putting it back: {source}")]
    NetworkLevel { knob: String, source: io::Error },
    #[error("process {pid} cannot be moved to the background: {reason}")]
    NotMoved { pid: i32, reason: String },
    #[error("{device} tells no signal: {reason}")]
    NoSignal {
        device: String,
        reason: &'static str,
    },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{path} is not a record takt wrote: {reason}")]
    BadRecord { path: PathBuf, reason: String },
    #[error("{doing}: {source}")]
    Netlink { doing: String, source: NetlinkError },
    #[error("the kernel refused the program: {source}\n{log}")]
    Load {
        source: libbpf_rs::Error,
        log: String,
    },
    #[error("{doing}: {source}")]
    Bpf {
        doing: &'static str,
        source: libbpf_rs::Error,
    },
    #[error(
        "{first}; and taking back what had been done before that failed, too: {}",
        list(also)
    )]
    NotTakenBack { first: Box<Error>, also: Vec<Error> },
}

fn list(errors: &[Error]) -> String {
    let each: Vec<String> = errors.iter().map(Error::to_string).collect();
    each.join("; ")
}

/// The host's queueing is not as takt left it, or not takt's to change.
#[derive(Debug, Error)]
pub enum Foreign {
    #[error("{device} already carries somebody else's qdisc: {kind} {handle}")]
    NeedsReplace {
        device: String,
        kind: String,
        handle: String,
    },
    #[error(
        "{device} carries a {kind} {handle} with {what} below it, which takt could not put back"
    )]
    Irreplaceable {
        device: String,
        kind: String,
        handle: String,
        what: &'static str,
    },
    #[error(
        "{device} no longer carries takt's qdisc but {found}: somebody changed it, so it was left \
         as it is"
    )]
    Changed { device: String, found: String },
    #[error(
        "net.ipv4.tcp_congestion_control is {found} and no longer takt: somebody changed it, so it \
         was left as it is"
    )]
    Congestion { found: String },
}

impl Foreign {
    /// The device that it is about, if it is about one.
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::NeedsReplace { device, .. }
            | Self::Irreplaceable { device, .. }
            | Self::Changed { device, .. } => Some(device),
            Self::Congestion { .. } => None,
        }
    }

    /// What the user can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::NeedsReplace { .. } => "`takt apply --replace` puts takt in its place, and \
                                          `takt revert` puts it back"
                .to_owned(),
            Self::Irreplaceable { device, .. } => {
                format!("if you mean it, take it away first: tc qdisc del dev {device} root")
            }
            Self::Changed { device, .. } => format!("look: tc qdisc show dev {device}"),
            Self::Congestion { .. } => "look: sysctl net.ipv4.tcp_congestion_control".to_owned(),
        }
    }
}

impl Error {
    /// What went wrong, and what then went wrong on taking back what had been done before.
    pub(crate) fn after(self, undoing: impl IntoIterator<Item = Result<(), Self>>) -> Self {
        let also: Vec<Self> = undoing.into_iter().filter_map(Result::err).collect();
        match also.is_empty() {
            true => self,
            false => Self::NotTakenBack {
                first: Box::new(self),
                also,
            },
        }
    }

    pub(crate) fn netlink(doing: impl Into<String>) -> impl FnOnce(NetlinkError) -> Self {
        let doing = doing.into();
        |source| Self::Netlink { doing, source }
    }

    pub(crate) fn bpf(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |source| Self::Bpf { doing, source }
    }

    pub(crate) fn helper(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Helper { doing, source }
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_taken_back_is_said_with_what_went_wrong_first() {
        let file = |path: &str| Error::file(path)(io::ErrorKind::NotFound.into());
        assert!(matches!(file("a").after([Ok(())]), Error::File { .. }));
        assert_eq!(
            file("a")
                .after([Ok(()), Err(file("b")), Err(file("c"))])
                .to_string(),
            "a: entity not found; and taking back what had been done before that failed, too: \
             b: entity not found; c: entity not found"
        );
    }
}
