//! Which reason an error is. Every kind of error has one: a new kind does not compile without.

use takt_daemon::{AskError, Code};
use takt_kernel::{Error, Foreign, NoUser, places::JoinError};

use super::{Reason, host, places, taktd};

impl From<&Error> for &'static Reason {
    fn from(error: &Error) -> Self {
        match error {
            Error::KernelLacks { .. } => &host::KERNEL_LACKS,
            Error::Capability { .. } => &host::CAPABILITY,
            Error::NoBpffs { .. } => &host::NO_BPFFS,
            Error::OpenBpffs { .. } => &host::OPEN_BPFFS,
            Error::NoCgroup2 => &host::NO_CGROUP2,
            Error::NoIfb => &host::NO_IFB,
            Error::NoIngress { .. } => &host::NO_INGRESS,
            Error::Foreign(Foreign::NeedsReplace { .. }) => &host::QDISC_IN_THE_WAY,
            Error::Foreign(Foreign::Irreplaceable { .. }) => &host::QDISC_IRREPLACEABLE,
            Error::Foreign(Foreign::Changed { .. }) => &host::QDISC_CHANGED,
            Error::Foreign(Foreign::Congestion { .. }) => &host::CONGESTION_CHANGED,
            Error::NoCrowd => &host::NO_CROWD,
            Error::NoStations { .. } => &host::STATIONS,
            Error::TooManyStations { .. } => &host::TOO_MANY_STATIONS,
            Error::TooManyLinks { .. } => &host::TOO_MANY_LINKS,
            Error::OtherVersion { .. } => &host::OTHER_VERSION,
            Error::Helper { .. } | Error::HelperStays { .. } => &host::HELPER,
            Error::NoDriverSocket { .. } => &host::DRIVER_SOCKET,
            Error::OtherScheduler { .. } => &host::OTHER_SCHEDULER,
            Error::BeatsElsewhere { .. } => &host::BEATS_ELSEWHERE,
            Error::BeatsEnded { .. } => &host::BEATS_ENDED,
            Error::NoPlan { .. } => &host::NO_PLAN,
            Error::NetworkLevel { .. } => &host::NETWORK_LEVEL,
            Error::NotMoved { .. } => &host::NOT_MOVED,
            Error::NoSignal { .. } => &host::NO_SIGNAL,
            Error::File { .. } => &host::FILE,
            Error::Untrusted { .. } => &host::UNTRUSTED,
            Error::Busy { .. } => &host::BUSY,
            Error::BadRecord { .. } => &host::BAD_RECORD,
            Error::Netlink { .. } => &host::NETLINK,
            Error::Load { .. } => &host::LOAD,
            Error::Bpf { .. } => &host::BPF,
            Error::NotTakenBack { .. } => &host::NOT_TAKEN_BACK,
        }
    }
}

impl From<&NoUser> for &'static Reason {
    fn from(_: &NoUser) -> Self {
        &host::NO_USER
    }
}

impl From<&JoinError> for &'static Reason {
    fn from(error: &JoinError) -> Self {
        match error {
            JoinError::NotLoaded => &places::NOT_LOADED,
            JoinError::NoTask { .. } => &places::NO_TASK,
            JoinError::NoMember { .. } => &places::NO_MEMBER,
            JoinError::Group { .. } => &places::GROUP,
            JoinError::Taken { .. } => &places::TAKEN,
            JoinError::Joined { .. } => &places::JOINED,
            JoinError::Invalid(_) => &places::INVALID,
            JoinError::NoRoom(_) => &places::NO_ROOM,
            JoinError::Host(error) => error.into(),
        }
    }
}

impl From<&takt_daemon::Error> for &'static Reason {
    fn from(error: &takt_daemon::Error) -> Self {
        match error {
            takt_daemon::Error::Running { .. } => &taktd::RUNNING,
            takt_daemon::Error::Foreign { .. } => &taktd::FOREIGN,
            takt_daemon::Error::File { .. } => &taktd::FILE,
            takt_daemon::Error::System { .. } => &taktd::SYSTEM,
            takt_daemon::Error::Kernel(error) => error.into(),
        }
    }
}

impl From<&AskError> for &'static Reason {
    fn from(error: &AskError) -> Self {
        match error {
            AskError::NotRunning => &taktd::NOT_RUNNING,
            AskError::Failed(_) => &taktd::TALK,
            AskError::Refused(refusal) => match refusal.code {
                Code::Malformed => &taktd::MALFORMED,
                Code::BadAddress => &taktd::BAD_ADDRESS,
                Code::BadPort => &taktd::BAD_PORT,
                Code::BadLifetime => &taktd::BAD_LIFETIME,
                Code::NotYours => &taktd::NOT_YOURS,
                Code::NotRegistered => &taktd::NOT_REGISTERED,
                Code::TooMany => &taktd::TOO_MANY,
                Code::TooFast => &taktd::TOO_FAST,
                Code::Busy => &taktd::BUSY,
                Code::NoBeats => &taktd::NO_BEATS,
                Code::BadBeat => &taktd::BAD_BEAT,
                Code::NoPlace => &taktd::NO_PLACE,
                Code::NoRoom => &taktd::NO_ROOM,
                Code::Failed => &taktd::FAILED,
            },
        }
    }
}
