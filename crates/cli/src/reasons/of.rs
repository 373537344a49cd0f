//! The reason of an error. Every kind of error has one: a new kind without a reason does not
//! compile.

use takt_daemon::{AskError, Code};
use takt_host::{Barred, Error, Foreign, NoUser, PlanError, Undecided, places::JoinError};

use super::{Reason, host, places, policies, taktd};

impl From<&Error> for &'static Reason {
    fn from(error: &Error) -> Self {
        match error {
            Error::KernelLacks { .. } => &host::KERNEL_LACKS,
            Error::Capability { .. } => &host::CAPABILITY,
            Error::Barred(Barred::UserNamespace) => &host::USER_NAMESPACE,
            Error::Barred(Barred::Seccomp) => &host::SECCOMP,
            Error::Barred(Barred::Lockdown) => &host::LOCKDOWN,
            Error::Barred(Barred::SecurityModule { .. }) => &host::SECURITY_MODULE,
            Error::TooManyFiles { .. } => &host::TOO_MANY_FILES,
            Error::NoBpffs { .. } => &host::NO_BPFFS,
            Error::OpenBpffs { .. } => &host::OPEN_BPFFS,
            Error::NoCgroup2 => &host::NO_CGROUP2,
            Error::NoIfb => &host::NO_IFB,
            Error::NoIngress { .. } => &host::NO_INGRESS,
            Error::Foreign(foreign) => foreign.into(),
            Error::NoCrowd => &host::NO_CROWD,
            Error::NoStations { .. } => &host::STATIONS,
            Error::TooManyStations { .. } => &host::TOO_MANY_STATIONS,
            Error::TooManyLinks { .. } => &host::TOO_MANY_LINKS,
            Error::OtherVersion { .. } | Error::OtherVersionElsewhere => &host::OTHER_VERSION,
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
            Error::Pending(_) => &host::PENDING,
            Error::NothingPending => &host::NOTHING_PENDING,
            Error::NotConfirmable(_) => &host::NOT_CONFIRMABLE,
            Error::PendingElsewhere { .. } => &host::PENDING_ELSEWHERE,
            Error::NotConfirmed { .. } => &host::NOT_CONFIRMED,
            Error::NotRestorable { .. } => &host::NOT_RESTORABLE,
            Error::Guard { .. } => &host::GUARD,
            Error::NotTakenBack { .. } => &host::NOT_TAKEN_BACK,
        }
    }
}

impl From<&Foreign> for &'static Reason {
    fn from(foreign: &Foreign) -> Self {
        match foreign {
            Foreign::NeedsReplace { .. } => &host::QDISC_IN_THE_WAY,
            Foreign::Irreplaceable { .. } => &host::QDISC_IRREPLACEABLE,
            Foreign::Changed { .. } => &host::QDISC_CHANGED,
            Foreign::Congestion { .. } => &host::CONGESTION_CHANGED,
            Foreign::Gone { .. } => &host::DEVICE_GONE,
        }
    }
}

impl From<&Undecided> for &'static Reason {
    fn from(error: &Undecided) -> Self {
        match error {
            Undecided::NoDevice { .. } => &policies::DEVICE_MISSING,
            Undecided::Plan { problem, .. } => match problem {
                PlanError::GapOverhead { .. } => &policies::NO_GAP,
                PlanError::TooManyRules | PlanError::TooManyTuples { .. } | PlanError::Crowded => {
                    &policies::TOO_MANY_RULES
                }
            },
            Undecided::NoGap { .. } => &policies::NO_GAP,
            Undecided::NoReceive { .. } => &policies::NO_RECEIVE,
            Undecided::NoTime(_) => &policies::DOES_NOT_FIT,
            Undecided::NoUser(error) => error.into(),
            Undecided::Host(error) => error.into(),
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
            JoinError::MayNotJoin(_) => &places::MAY_NOT_JOIN,
            JoinError::TooMany(_) => &places::TOO_MANY,
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
                // Without taktd the same refusals have the same names.
                Code::NoBeats => &places::NOT_LOADED,
                Code::BadBeat => &taktd::BAD_BEAT,
                Code::NoPlace => &taktd::NO_PLACE,
                Code::MayNotJoin => &places::MAY_NOT_JOIN,
                Code::NoRoom => &places::NO_ROOM,
                Code::Failed => &taktd::FAILED,
            },
        }
    }
}
