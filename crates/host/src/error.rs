//! What can go wrong on a host, by what the user can do about it.

use std::{io, path::PathBuf};

use thiserror::Error;

use crate::{
    apply::pending::PendingStatus,
    beats::Ended,
    os::{capability, files::Shortage, flock::Holder, netlink::NetlinkError, privilege::Barred},
};

/// Why the host could not be examined or changed.
#[derive(Debug, Error)]
pub enum Error {
    /// The kernel is too old, or built without something.
    #[error("this kernel lacks {feature} ({since})")]
    KernelLacks {
        /// What it lacks.
        feature: &'static str,
        /// The version or the configuration that has it.
        since: &'static str,
    },
    /// This process lacks a capability.
    #[error("{missing} is missing; run takt as root, or give it that capability")]
    Capability {
        /// By its name in `capabilities(7)`.
        missing: &'static str,
    },
    /// The capabilities suffice, but something else denies BPF.
    #[error("{0}")]
    Barred(#[from] Barred),
    /// A file, a socket, a map or a program could not be opened, because too many are open.
    #[error("{doing}: too many open files; {shortage}")]
    TooManyFiles {
        /// What was tried.
        doing: String,
        /// Whose limit it is.
        shortage: Shortage,
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
    /// There is no cgroup2 file system, which background groups and the recognition of sockets'
    /// owners need.
    #[error("no cgroup2 file system is mounted; mount it: mount -t cgroup2 none /sys/fs/cgroup")]
    NoCgroup2,
    /// An ifb was to be made, and the kernel has no such devices.
    #[error(
        "this kernel has no devices of kind ifb, which incoming background traffic goes through \
         (CONFIG_IFB; `modprobe ifb` says what is missing); receive = false in the classes with \
         priority = \"background\" does without"
    )]
    NoIfb,
    /// The program was loaded, but could not be attached to the device (tcx).
    #[error(
        "this kernel takes no program on a device's ingress, which incoming background traffic \
         needs: {source}; receive = false in the classes with priority = \"background\" does \
         without"
    )]
    NoIngress {
        /// The kernel's answer.
        source: libbpf_rs::Error,
    },
    /// Another program's qdisc is in the way, or takt's is gone.
    #[error("{0}; {remedy}", remedy = _0.remedy())]
    Foreign(#[from] Foreign),
    /// Terms were to be put in force, and the congestion control's pins were removed.
    #[error(
        "the congestion control takt is gone while a policy with [crowd] is in force; apply it again"
    )]
    NoCrowd,
    /// A device's table of stations cannot be opened, or its link knows stations by another
    /// kind of address.
    #[error("stations of {device}: {problem}")]
    NoStations {
        /// The requested device.
        device: String,
        /// The reason and, if there is one, the remedy.
        problem: &'static str,
    },
    /// There is no room for another station's weight (TAKT_STATIONS in algo/station.h).
    #[error("{device} has 256 stations already, and there is room for no more; forget some")]
    TooManyStations {
        /// The device of the link.
        device: String,
    },
    /// There is no number left for another link (TAKT_LINKS in bpf/link/link_maps.h).
    #[error("{link_count} devices are managed already, and the programs hold no more")]
    TooManyLinks {
        /// Of all network namespaces, receive sides included.
        link_count: usize,
    },
    /// The maps in the kernel are not laid out as this takt reads them.
    #[error(
        "the programs in the kernel were loaded by another version of takt (layout {found}, \
         this one has {expected}); run `takt revert`, then apply again"
    )]
    OtherVersion {
        /// Of the kernel's maps; 0: unknown.
        found: u32,
        /// This takt's: TAKT_LINK_ABI, TAKT_BEATS_ABI or TAKT_CROWD_ABI.
        expected: u32,
    },
    /// Likewise; this namespace has no such links any more, but others have.
    #[error(
        "links of other network namespaces were made by another version of takt; run `takt revert` \
         there, then here again"
    )]
    OtherVersionElsewhere,
    /// The helper did not start, did not answer, or failed.
    #[error(
        "{doing}: {source}; until that is mended, links with pacing = \"gap\" pace by the timer, and \
         what the background's gate holds waits for the processor it was held on"
    )]
    Helper {
        /// What was tried.
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// Everything was undone, but the helper still runs.
    #[error("everything was taken back, but the helper does not end: {source}")]
    HelperStays {
        /// Which process it is, and what it does.
        source: io::Error,
    },
    /// Drivers' names are read through a socket (ethtool), which could not be opened.
    #[error("opening a socket to ask drivers through: {source}")]
    NoDriverSocket {
        /// The kernel's answer.
        source: io::Error,
    },
    /// Beats cannot be loaded over another program's sched_ext scheduler.
    #[error(
        "the scheduler {name} is loaded, and the kernel runs one such scheduler at a time; stop it \
         first"
    )]
    OtherScheduler {
        /// Its name in the kernel.
        name: String,
    },
    /// A policy declares tasks, but another network namespace's policy has them already: there
    /// is one scheduler.
    #[error(
        "threads are on the beat of {policy}, which was applied in another network namespace; \
         `takt revert` there ends it"
    )]
    BeatsElsewhere {
        /// The name of that policy's file.
        policy: String,
    },
    /// A thread cannot join: the kernel ended the scheduler.
    #[error(
        "the kernel ended the scheduler of beats: {ended}; `takt apply` loads it anew, `takt \
         revert` takes away what is left of it"
    )]
    BeatsEnded {
        /// Why.
        ended: Ended,
    },
    /// Only tasks were to be removed, and the planner refused the rest.
    #[error("the time slots that remain cannot be planned: {reason}")]
    NoPlan {
        /// The planner's refusal.
        reason: String,
    },
    /// Threaded packet processing or small batches could not be set or restored.
    #[error("setting {knob} while there are beats, or putting it back: {source}")]
    NetworkLevel {
        /// Its file, in /sys or /proc/sys.
        knob: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A process could not be moved into a control group below its own.
    #[error("process {pid} cannot be moved to the background: {reason}")]
    NotMoved {
        /// Its number in /proc.
        pid: i32,
        /// The reason.
        reason: String,
    },
    /// The signal strength at a device was requested, and is unknown.
    #[error("{device} tells no signal: {reason}")]
    NoSignal {
        /// The requested device.
        device: String,
        /// The device is missing or not wireless, or the kernel has no support for wireless
        /// devices.
        reason: &'static str,
    },
    /// A file could not be read, written, made or removed.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A file in the place of takt's own belongs to another user, or other users can change it.
    #[error(
        "{path} is {found} that belongs to user {uid} and has mode {mode:04o}; takt goes by what \
         root alone can change. Look who made it, and take it away: {remove} {path}"
    )]
    Untrusted {
        /// Its path.
        path: PathBuf,
        /// Its kind, such as `a directory`.
        found: &'static str,
        /// Its owner.
        uid: u32,
        /// Its permissions.
        mode: u32,
        /// The command that removes it.
        remove: &'static str,
    },
    /// Another takt is changing the host, and did not end in time.
    #[error(
        "{holder} has been changing this host for more than {waited_s} s, and one takt does at a \
         time. Nothing was done. Wait until that ends, or end it"
    )]
    Busy {
        /// The process that has the lock.
        holder: Holder,
        /// How long it was waited for.
        waited_s: u64,
    },
    /// A record of takt's cannot be read or written.
    #[error(
        "{path} is not a record this takt can use: {reason}; `takt revert` ends what it is about"
    )]
    BadRecord {
        /// The file below /run/takt.
        path: PathBuf,
        /// Where it goes wrong, or which version wrote it.
        reason: String,
    },
    /// A request about devices, qdiscs or the namespace failed.
    #[error("{doing}: {source}")]
    Netlink {
        /// What was tried.
        doing: String,
        /// Why it failed.
        source: NetlinkError,
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
    /// A change was requested while a policy waits to be confirmed.
    #[error("{0}")]
    Pending(Box<PendingStatus>),
    /// A policy was to be confirmed or taken back, and none waits.
    #[error("no policy waits to be confirmed")]
    NothingPending,
    /// A policy was to be confirmed that is not in force, or not yet.
    #[error("{0}; it can no longer be confirmed")]
    NotConfirmable(Box<PendingStatus>),
    /// A waiting policy was to be taken back in another network namespace than its own.
    #[error(
        "{policy} was applied in another network namespace; `takt cancel` there takes it back, or \
         it goes at the end of its time"
    )]
    PendingElsewhere {
        /// The name of its file.
        policy: String,
    },
    /// A policy was not confirmed, and has been taken back.
    #[error("not confirmed: what was there before is restored{}", but_for(left))]
    NotConfirmed {
        /// What was changed meanwhile, and left alone.
        left: Vec<String>,
    },
    /// The state before a policy on trial could not be restored, or is unknown.
    #[error("what is in force could not be put back: {reason}")]
    NotRestorable {
        /// Why.
        reason: String,
    },
    /// The guard, which takes back what is not confirmed, did not start.
    #[error("starting the guard of --confirm: {source}; nothing was changed")]
    Guard {
        /// Why it failed.
        source: io::Error,
    },
    /// A change failed half-way, and undoing it failed in part.
    #[error(
        "{first}; and taking back what had been done before that failed, too: {}",
        list(also)
    )]
    NotTakenBack {
        /// The first error.
        first: Box<Error>,
        /// What could not be undone.
        also: Vec<Error>,
    },
}

fn list(errors: &[Error]) -> String {
    let each: Vec<String> = errors.iter().map(Error::to_string).collect();
    each.join("; ")
}

fn but_for(left: &[String]) -> String {
    match left {
        [] => String::new(),
        left => format!(", but for what was changed meanwhile: {}", left.join("; ")),
    }
}

/// The host's qdiscs are not as takt left them, or not takt's to change.
#[derive(Debug, Error)]
pub enum Foreign {
    /// A device has another program's qdisc, and takt was not told to replace it.
    #[error("{device} already carries somebody else's qdisc: {kind} {handle}")]
    NeedsReplace {
        /// Its name.
        device: String,
        /// The kind of its root qdisc.
        kind: String,
        /// The qdisc's handle, as `tc` prints it.
        handle: String,
    },
    /// Takt was told to replace a device's qdisc, and could not restore what hangs below it.
    #[error(
        "{device} carries a {kind} {handle} with {what} below it, which takt could not put back"
    )]
    Irreplaceable {
        /// Its name.
        device: String,
        /// The kind of its root qdisc.
        kind: String,
        /// The qdisc's handle, as `tc` prints it.
        handle: String,
        /// `further qdiscs`, `filters` or `classes`.
        what: &'static str,
    },
    /// Takt was to give a device back, whose root qdisc another program has replaced.
    #[error(
        "{device} no longer carries takt's qdisc but {found}: somebody changed it, so it was left \
         as it is"
    )]
    Changed {
        /// Its name.
        device: String,
        /// What is attached there: kind and handle, or the kernel's default.
        found: String,
    },
    /// The default congestion control was to be restored.
    #[error(
        "net.ipv4.tcp_congestion_control is {found} and no longer takt: somebody changed it, so it \
         was left as it is"
    )]
    Congestion {
        /// What it is now.
        found: String,
    },
    /// Takt was to return to a device that is gone.
    #[error("the device {device} is gone")]
    Gone {
        /// Its name.
        device: String,
    },
}

impl Foreign {
    /// The device concerned, if there is one.
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::NeedsReplace { device, .. }
            | Self::Irreplaceable { device, .. }
            | Self::Changed { device, .. }
            | Self::Gone { device } => Some(device),
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
            Self::Gone { .. } => "`ip link` lists the devices of this network namespace".to_owned(),
        }
    }
}

impl Error {
    /// The first error, with the errors of undoing what had been done before.
    pub(crate) fn after(self, undoing: impl IntoIterator<Item = Self>) -> Self {
        let also: Vec<Self> = undoing.into_iter().collect();
        match also.is_empty() {
            true => self,
            false => Self::NotTakenBack {
                first: Box::new(self),
                also,
            },
        }
    }

    /// Whether the cause is a missing file.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    pub(crate) fn netlink(doing: impl Into<String>) -> impl FnOnce(NetlinkError) -> Self {
        let doing = doing.into();
        |source| match Shortage::of(source.errno()) {
            Some(shortage) => Self::TooManyFiles { doing, shortage },
            None => Self::Netlink { doing, source },
        }
    }

    /// The kernel has one error for many refusals, so look for the reason.
    pub(crate) fn bpf(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |source| {
            if let Some(shortage) = Shortage::of_bpf(&source) {
                return Self::short_of_files(doing, shortage);
            }
            let is_refused = source.kind() == libbpf_rs::ErrorKind::PermissionDenied;
            let why = is_refused.then(capability::refusal).flatten();
            why.unwrap_or(Self::Bpf { doing, source })
        }
    }

    pub(crate) fn helper(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::too_many_files(doing, &source).unwrap_or(Self::Helper { doing, source })
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| {
            Self::too_many_files(path.display(), &source).unwrap_or(Self::File { path, source })
        }
    }

    pub(crate) fn network_level(knob: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let knob = knob.into();
        |source| Self::too_many_files(&knob, &source).unwrap_or(Self::NetworkLevel { knob, source })
    }

    /// For reading drivers' names.
    pub(crate) fn driver_socket(source: io::Error) -> Self {
        let doing = "opening a socket to ask drivers through";
        Self::too_many_files(doing, &source).unwrap_or(Self::NoDriverSocket { source })
    }

    /// Whether the cause is a limit of open files.
    pub fn too_many_files(doing: impl std::fmt::Display, source: &io::Error) -> Option<Self> {
        let shortage = Shortage::of(source.raw_os_error())?;
        Some(Self::short_of_files(doing, shortage))
    }

    pub(crate) fn short_of_files(doing: impl std::fmt::Display, shortage: Shortage) -> Self {
        let doing = doing.to_string();
        Self::TooManyFiles { doing, shortage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_taken_back_is_said_with_what_went_wrong_first() {
        let file = |path: &str| Error::file(path)(io::ErrorKind::NotFound.into());
        assert!(matches!(file("a").after([]), Error::File { .. }));
        assert_eq!(
            file("a").after([file("b"), file("c")]).to_string(),
            "a: entity not found; and taking back what had been done before that failed, too: \
             b: entity not found; c: entity not found"
        );
    }
}
