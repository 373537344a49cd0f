//! `takt doctor`: what this host can do, found out by trying.

mod verdict;

use serde_json::json;
use takt_host::doctor::{
    Backlog, CgroupLimit, DeviceOffloads, DeviceThreads, Finding, NetworkThreads, PauseFrames,
    Verdict, WirelessVerdict, examine,
};

use crate::{args::Output, exit::Exit, print};

pub fn run(output: Output) -> Exit {
    let findings = examine();
    let all_work = findings.iter().all(|finding| finding.works);
    // Without them there is nothing to say of devices.
    let verdicts = takt_host::doctor::pause_frames().unwrap_or_default();
    let offloads = takt_host::doctor::offloads().unwrap_or_default();
    let threads = takt_host::doctor::network_threads();
    let has_server = takt_host::doctor::has_ext_server();
    let limits = takt_host::doctor::cgroup_limits();
    let wireless = takt_host::doctor::wireless().unwrap_or_default();
    let kernel = takt_host::release();
    let capabilities = verdict::of(&findings);
    let policy = verdict::of_policy();
    print::result(
        output,
        &json!({
            "kernel": kernel,
            "features": findings,
            "pause_frames": verdicts,
            "offloads": offloads,
            "network_threads": threads,
            "ext_server": has_server,
            "cgroup_limits": limits,
            "wireless": wireless,
            "verdicts": capabilities,
            "policy": policy.as_ref().map(|policy| match policy {
                Ok(backends) => json!(backends),
                Err(errors) => json!({ "errors": errors }),
            }),
        }),
        |_| {
            format!(
                "Linux {kernel}\n{}{}{}{}{}{}{}{}",
                features(&findings),
                pause_frames(&verdicts),
                offloads_of(&offloads),
                network_threads(&threads),
                realtime_threads(has_server),
                cgroup_limits(&limits),
                wireless_devices(&wireless),
                verdict::text(&capabilities, policy.as_ref()),
            )
        },
    );
    if all_work { Exit::Done } else { Exit::Lacking }
}

/// What was tried, a line each. A cause that several share is said once.
fn features(findings: &[Finding]) -> String {
    let line = |(at, finding): (usize, &Finding)| {
        let Finding { feature, proof, .. } = finding;
        let Some(problem) = &finding.problem else {
            return format!("  works    {feature:<11} {proof}\n");
        };
        let word = if finding.tried {
            "missing"
        } else {
            "not tried"
        };
        let mut before = findings[..at].iter();
        match before.find(|other| other.problem.as_ref() == Some(problem)) {
            None => format!("  {word:<8} {feature:<11} {problem}\n"),
            Some(first) => format!("  {word:<8} {feature:<11} as {}\n", first.feature),
        }
    };
    findings.iter().enumerate().map(line).collect()
}

/// Where gap frames get out. Switches take them and forward none, so they fill
/// the first wire, and that wire only.
fn pause_frames(verdicts: &[Verdict]) -> String {
    if verdicts.is_empty() {
        return String::new();
    }
    let lines = verdicts.iter().map(|verdict| {
        let word = match verdict.pause_frames {
            PauseFrames::Pass => "pass",
            PauseFrames::Filtered => "filtered",
            PauseFrames::Unknown => "unknown",
        };
        let asks = verdict.flow_control.is_some_and(|control| control.tx);
        let hint = if asks {
            "; its flow control sends PAUSE frames of its own, which gap frames cancel: \
             ethtool -A DEVICE tx off"
        } else {
            ""
        };
        format!(
            "  {word:<9} {:<11} {}: {}{}\n",
            verdict.device,
            if verdict.driver.is_empty() {
                "no driver named"
            } else {
                &verdict.driver
            },
            verdict.why,
            hint.replace("DEVICE", &verdict.device),
        )
    });
    format!(
        "PAUSE frames, which pacing = \"gap\" sends (switches forward none of them)\n{}",
        lines.collect::<String>()
    )
}

/// Which devices have packets of several frames.
fn offloads_of(devices: &[DeviceOffloads]) -> String {
    if devices.is_empty() {
        return String::new();
    }
    let lines = devices.iter().map(|DeviceOffloads { device, offloads }| {
        let (word, why) = if offloads.tso {
            ("device", "the device segments TCP packets (TSO)")
        } else {
            ("kernel", "the kernel segments TCP packets after the qdisc")
        };
        let merges = if offloads.gro {
            "; received packets are merged (GRO)"
        } else {
            ""
        };
        format!("  {word:<9} {device:<11} {why}{merges}\n")
    });
    format!(
        "Packets of several frames, whose length `burst` limits\n{}",
        lines.collect::<String>()
    )
}

/// What can be done about packets that are handled before beats.
fn network_threads(threads: &NetworkThreads) -> String {
    let backlog = match threads.backlog {
        Backlog::Threads => "  threads   backlog     a thread for each CPU\n",
        Backlog::Argument => {
            "  softirq   backlog     before beats; start the kernel with thread_backlog_napi\n"
        }
        Backlog::Interrupts => {
            "  softirq   backlog     before beats; Linux 6.10 can have threads\n"
        }
    };
    let lines = threads.devices.iter().map(|verdict| {
        let (word, why) = match verdict.processes {
            DeviceThreads::Threads => ("threads", "it processes packets in threads"),
            DeviceThreads::Able => ("able", "in threads while there are beats"),
            DeviceThreads::Backlog => ("backlog", "it has no NAPI of its own at present"),
            DeviceThreads::Unknown => ("unknown", "run takt doctor as root"),
        };
        format!("  {word:<9} {:<11} {why}\n", verdict.device)
    });
    format!(
        "Threads that process packets, which go after beats\n{backlog}{}",
        lines.collect::<String>()
    )
}

/// What becomes of ordinary threads beside a realtime thread that never sleeps.
fn realtime_threads(has_server: bool) -> String {
    let line = if has_server {
        "  kept      ext_server  the kernel keeps 5 % of the CPU for ordinary threads\n"
    } else {
        "  ends      ext_server  missing: takt ends the scheduler of beats within a second\n"
    };
    format!("A realtime thread that never sleeps, beside beats\n{line}")
}

/// Limits that beats would break.
fn cgroup_limits(limits: &[CgroupLimit]) -> String {
    if limits.is_empty() {
        return String::new();
    }
    let lines = limits
        .iter()
        .map(|limit| format!("  refused   {:<11} {limit}\n", "beats"));
    format!(
        "Limits of control groups that have no effect beside beats\n{}",
        lines.collect::<String>()
    )
}

/// Whether a qdisc on a wireless device has anything to decide.
fn wireless_devices(verdicts: &[WirelessVerdict]) -> String {
    if verdicts.is_empty() {
        return String::new();
    }
    let lines = verdicts.iter().map(|verdict| {
        let (word, why) = if verdict.queues_itself {
            (
                "below",
                "its packets wait below the qdisc, which sees no backlog; shape a little below \
                 what the air carries, on the gateway before it",
            )
        } else {
            ("qdisc", "its packets wait in the qdisc")
        };
        format!("  {word:<9} {:<11} {why}\n", verdict.device)
    });
    format!(
        "Wireless devices, and where packets wait (docs/radio.md)\n{}",
        lines.collect::<String>()
    )
}
