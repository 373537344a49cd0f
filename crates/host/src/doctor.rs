//! Which of Takt's features this host supports, found out by trying.

use serde::Serialize;
use takt_planner::backend::Feature;

use crate::{
    beats::{self, Scheduler, kernel_threads, softirq},
    bpf::pins,
    crowd::Crowd,
    error::Error,
    helper::{self, HelperError},
    link::{gap, offloads, program::Program, receive, sockets::Sockets},
    monitor::Monitor,
    os::{OsError, capability, netlink::Netlink},
    stock,
};

pub use crate::{
    beats::CgroupLimit,
    beats::softirq::{Backlog, DeviceThreads, DeviceVerdict, NetworkThreads},
    link::{
        gap::{FlowControl, PauseFrames, Verdict},
        offloads::DeviceOffloads,
    },
    os::ethtool::Offloads,
    radio::signal::{WirelessVerdict, wireless_verdicts as wireless},
};

/// A feature that was tried.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// What `takt doctor` calls it.
    pub feature: &'static str,
    /// Whether it worked just now, on this host and for this process.
    pub works: bool,
    /// Whether it could be tried: without privileges it is not known.
    pub tried: bool,
    /// How that was found out.
    pub proof: &'static str,
    /// Why it does not work, and what to do.
    pub problem: Option<String>,
}

/// Try everything; nothing outlives the call.
pub fn examine() -> Vec<Finding> {
    let privileges = capability::require();
    // Without files to open, no other check names the reason.
    let is_alone = matches!(&privileges, Err(error) if matches!(error.of(), Some(OsError::TooManyFiles { .. })));
    let privileges = finding(
        "privileges",
        "what this process may do: its capabilities, user namespace, filters and open files",
        privileges,
    );
    if is_alone {
        return vec![privileges];
    }
    let mut features = features();
    if !privileges.works {
        // Their failures say nothing about the host.
        features
            .iter_mut()
            .for_each(|found| found.tried &= found.works);
    }
    [vec![privileges], features].concat()
}

fn features() -> Vec<Finding> {
    vec![
        finding("netlink", "a route socket was opened", open_socket()),
        finding(
            "bpffs",
            "the file system that keeps programs was found",
            pins::root().map(drop),
        ),
        finding(
            "pacing",
            "the qdisc was loaded, verified and dropped again",
            Program::verify(),
        ),
        finding(
            "tree",
            "htb was put on a device of a network namespace of its own, and the classifier of \
             packets was loaded, verified and dropped again",
            stock::has(&[Feature::Htb, Feature::Classifier]).and_then(|()| stock::verify_tree()),
        ),
        finding(
            "codel",
            "codel and fq_codel were put on such a device; a tree manages queues by them",
            stock::has(&[Feature::Codel, Feature::FqCodel]),
        ),
        finding(
            "departure",
            "fq was put on such a device, and what stamps departure times was loaded, verified and \
             dropped again",
            stock::has(&[Feature::Fq, Feature::Hook]).and_then(|()| stock::verify_departure()),
        ),
        finding(
            "flow",
            "fq was put on such a device, and what sets rates on sockets was loaded, verified and \
             dropped again",
            stock::has(&[Feature::Fq]).and_then(|()| stock::verify_flow()),
        ),
        finding(
            "sockets",
            "what recognises the owners of sockets was loaded, verified and dropped again",
            Sockets::verify(),
        ),
        finding(
            "receive",
            "an ifb was made, what sends packets there was loaded and put on it, and both dropped",
            receive::verify(),
        ),
        finding(
            "download",
            "an ifb was made, and a filter that redirects incoming packets, and both dropped",
            stock::has(&[Feature::Ifb, Feature::Redirect]),
        ),
        finding(
            "gap frames",
            "a packet socket was opened",
            helper::try_open().map_err(HelperError::of("opening a packet socket")),
        ),
        finding(
            "beats",
            "the scheduler was loaded, verified and dropped again",
            beats::refuse_other_scheduler().and_then(|()| Scheduler::verify()),
        ),
        finding(
            "crowd",
            "the congestion control and what moves flows to it were loaded, verified and dropped again",
            Crowd::verify(),
        ),
        finding(
            "flows",
            "the monitor of TCP flows was loaded, verified and dropped again",
            Monitor::verify(),
        ),
    ]
}

/// On which devices `pacing = "gap"` can work: PAUSE frames must not be filtered.
pub fn pause_frames() -> Result<Vec<Verdict>, Error> {
    gap::verdicts()
}

/// Which devices have packets of several frames, whose length `packets` and `burst` bound.
pub fn offloads() -> Result<Vec<DeviceOffloads>, Error> {
    offloads::of_devices()
}

/// Whether packets are processed in threads, so that beats can preempt them.
pub fn network_threads() -> NetworkThreads {
    softirq::examine()
}

/// What limits control groups' processor time on this host, and does not hold while beats are
/// loaded.
pub fn cgroup_limits() -> Vec<CgroupLimit> {
    beats::ignored_cgroup_limits()
}

/// Whether the kernel keeps time for ordinary threads beside realtime threads that never sleep,
/// while beats are loaded. On others takt ends the scheduler of beats then.
pub fn has_ext_server() -> bool {
    kernel_threads::has_ext_server()
}

fn open_socket() -> Result<(), Error> {
    Netlink::open()
        .map(drop)
        .map_err(OsError::netlink("opening a route socket"))
}

fn finding(feature: &'static str, proof: &'static str, result: Result<(), Error>) -> Finding {
    let denies = |error: &Error| {
        matches!(
            error.of(),
            Some(OsError::Capability { .. } | OsError::Barred(_) | OsError::NotTried { .. })
        )
    };
    Finding {
        feature,
        works: result.is_ok(),
        tried: !result.as_ref().is_err_and(denies),
        proof,
        problem: result.err().map(|error| error.to_string()),
    }
}
