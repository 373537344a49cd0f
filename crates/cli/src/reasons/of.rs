//! The reason of an error. Every kind of error has one: a new kind without a reason does not
//! compile.

use takt_daemon::{AskError, Code};
use takt_host::{
    Barred, BeatsError, BpfError, Cause, CrowdError, Error, Foreign, HelperError, LinkError,
    NoUser, OsError, PlanError, RadioError, StateError, TrialError, Undecided,
    reservations::JoinError,
};

use super::{Reason, host, policies, reservations, taktd};

impl From<&Error> for &'static Reason {
    fn from(error: &Error) -> Self {
        match error.cause() {
            Cause::Os(error) => error.into(),
            Cause::State(error) => error.into(),
            Cause::Bpf(error) => error.into(),
            Cause::Foreign(foreign) => foreign.into(),
            Cause::Link(error) => error.into(),
            Cause::Beats(error) => error.into(),
            Cause::Crowd(error) => error.into(),
            Cause::Radio(error) => error.into(),
            Cause::Helper(error) => error.into(),
            Cause::Trial(error) => error.into(),
            Cause::NotTakenBack(_) => &host::NOT_TAKEN_BACK,
        }
    }
}

impl From<&OsError> for &'static Reason {
    fn from(error: &OsError) -> Self {
        match error {
            OsError::Capability { .. } => &host::CAPABILITY,
            OsError::Barred(Barred::UserNamespace) => &host::USER_NAMESPACE,
            OsError::Barred(Barred::Seccomp) => &host::SECCOMP,
            OsError::Barred(Barred::Lockdown) => &host::LOCKDOWN,
            OsError::Barred(Barred::SecurityModule { .. }) => &host::SECURITY_MODULE,
            OsError::TooManyFiles { .. } => &host::TOO_MANY_FILES,
            OsError::Lacking { .. } => &host::LACKING,
            OsError::NoCgroup2 => &host::NO_CGROUP2,
            OsError::NoProc => &host::NO_PROC,
            OsError::NotTried { .. } => &host::NOT_TRIED,
            OsError::File { .. } => &host::FILE,
            OsError::Netlink { .. } => &host::NETLINK,
        }
    }
}

impl From<&StateError> for &'static Reason {
    fn from(error: &StateError) -> Self {
        match error {
            StateError::Untrusted { .. } => &host::UNTRUSTED,
            StateError::Busy { .. } => &host::BUSY,
            StateError::BadRecord { .. } => &host::BAD_RECORD,
        }
    }
}

impl From<&BpfError> for &'static Reason {
    fn from(error: &BpfError) -> Self {
        match error {
            BpfError::KernelLacks { .. } => &host::KERNEL_LACKS,
            BpfError::KernelRefuses { .. } => &host::KERNEL_REFUSES,
            BpfError::NoBpffs { .. } => &host::NO_BPFFS,
            BpfError::OpenBpffs { .. } => &host::OPEN_BPFFS,
            BpfError::OtherVersion { .. } | BpfError::OtherVersionElsewhere { .. } => {
                &host::OTHER_VERSION
            }
            BpfError::NotHandedOver { .. } => &host::NOT_HANDED_OVER,
            BpfError::Load { .. } => &host::LOAD,
            BpfError::Bpf { .. } => &host::BPF,
        }
    }
}

impl From<&LinkError> for &'static Reason {
    fn from(error: &LinkError) -> Self {
        match error {
            LinkError::NoIfb => &host::NO_IFB,
            LinkError::NoIngress { .. } => &host::NO_INGRESS,
            LinkError::NoDriverSocket { .. } => &host::DRIVER_SOCKET,
            LinkError::TooManyLinks { .. } => &host::TOO_MANY_LINKS,
            LinkError::NoStations { .. } => &host::STATIONS,
            LinkError::TooManyStations { .. } => &host::TOO_MANY_STATIONS,
            LinkError::NotMoved { .. } => &host::NOT_MOVED,
        }
    }
}

impl From<&BeatsError> for &'static Reason {
    fn from(error: &BeatsError) -> Self {
        match error {
            BeatsError::OtherScheduler { .. } => &host::OTHER_SCHEDULER,
            BeatsError::BeatsElsewhere { .. } => &host::BEATS_ELSEWHERE,
            BeatsError::CgroupLimits { .. } => &host::CGROUP_LIMITS,
            BeatsError::BeatsEnded { .. } => &host::BEATS_ENDED,
            BeatsError::NotStarted { .. } => &host::NOT_STARTED,
            BeatsError::NoPlan { .. } => &host::NO_PLAN,
            BeatsError::SoftirqTiers { .. } => &host::SOFTIRQ_TIERS,
        }
    }
}

impl From<&CrowdError> for &'static Reason {
    fn from(error: &CrowdError) -> Self {
        match error {
            CrowdError::NoCrowd => &host::NO_CROWD,
        }
    }
}

impl From<&RadioError> for &'static Reason {
    fn from(error: &RadioError) -> Self {
        match error {
            RadioError::NoSignal { .. } => &host::NO_SIGNAL,
        }
    }
}

impl From<&HelperError> for &'static Reason {
    fn from(error: &HelperError) -> Self {
        match error {
            HelperError::Helper { .. } => &host::HELPER,
            HelperError::HelperStays { .. } => &host::HELPER,
        }
    }
}

impl From<&TrialError> for &'static Reason {
    fn from(error: &TrialError) -> Self {
        match error {
            TrialError::Pending(_) => &host::PENDING,
            TrialError::NothingPending => &host::NOTHING_PENDING,
            TrialError::NotConfirmable(_) => &host::NOT_CONFIRMABLE,
            TrialError::PendingElsewhere { .. } => &host::PENDING_ELSEWHERE,
            TrialError::NotConfirmed { .. } => &host::NOT_CONFIRMED,
            TrialError::NotRestorable { .. } => &host::NOT_RESTORABLE,
            TrialError::Guard { .. } => &host::GUARD,
        }
    }
}

impl From<&Foreign> for &'static Reason {
    fn from(foreign: &Foreign) -> Self {
        match foreign {
            Foreign::NeedsReplace { .. } => &host::QDISC_IN_THE_WAY,
            Foreign::Irreplaceable { .. } => &host::QDISC_IRREPLACEABLE,
            Foreign::Unproved { .. } => &host::QDISC_UNPROVED,
            Foreign::NotRestored { .. } => &host::QDISC_NOT_RESTORED,
            Foreign::Changed { .. } => &host::QDISC_CHANGED,
            Foreign::NameTaken { .. } => &host::NAME_TAKEN,
            Foreign::Congestion { .. } => &host::CONGESTION_CHANGED,
            Foreign::Gone { .. } => &host::DEVICE_GONE,
        }
    }
}

impl From<&Undecided> for &'static Reason {
    fn from(error: &Undecided) -> Self {
        match error {
            Undecided::NoDevice { .. } => &policies::DEVICE_MISSING,
            Undecided::TwoNames { .. } => &policies::TWO_NAMES,
            Undecided::Plan { problem, .. } => match problem {
                PlanError::GapOverhead { .. } | PlanError::GapFraming => &policies::NO_GAP,
                PlanError::TooManyRules | PlanError::TooManyTuples { .. } | PlanError::Crowded => {
                    &policies::TOO_MANY_RULES
                }
            },
            Undecided::NoGap { .. } => &policies::NO_GAP,
            Undecided::NoPushBack { .. } => &policies::NO_PUSH_BACK,
            Undecided::NoReceive { .. } => &policies::NO_RECEIVE,
            Undecided::NoBackend { .. } => &policies::NO_BACKEND,
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
            JoinError::NotLoaded => &reservations::NOT_LOADED,
            JoinError::NoTask { .. } => &reservations::NO_TASK,
            JoinError::NoMember { .. } => &reservations::NO_MEMBER,
            JoinError::Group { .. } => &reservations::GROUP,
            JoinError::Taken { .. } => &reservations::TAKEN,
            JoinError::Joined { .. } => &reservations::JOINED,
            JoinError::Invalid(_) => &reservations::INVALID,
            JoinError::MayNotJoin(_) => &reservations::MAY_NOT_JOIN,
            JoinError::TooMany(_) => &reservations::TOO_MANY,
            JoinError::NoRoom(_) => &reservations::NO_ROOM,
            JoinError::Host(error) => error.into(),
        }
    }
}

impl From<&takt_daemon::Error> for &'static Reason {
    fn from(error: &takt_daemon::Error) -> Self {
        match error {
            takt_daemon::Error::Running { .. } => &taktd::RUNNING,
            takt_daemon::Error::Foreign { .. } => &taktd::FOREIGN,
            takt_daemon::Error::Passed { .. } => &taktd::PASSED,
            takt_daemon::Error::Metrics { .. } => &taktd::METRICS,
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
                Code::NoBeats => &reservations::NOT_LOADED,
                Code::BadBeat => &taktd::BAD_BEAT,
                Code::NoPlace => &taktd::NO_PLACE,
                Code::MayNotJoin => &reservations::MAY_NOT_JOIN,
                Code::NoRoom => &reservations::NO_ROOM,
                Code::Failed => &taktd::FAILED,
            },
        }
    }
}
