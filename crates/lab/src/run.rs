//! Runs an experiment from outside: boots, lets the guest measure, reads its report.

use std::{
    ffi::OsString,
    io::{self, Write},
    time::Duration,
};

use takt_report::Report;
use thiserror::Error;

use crate::{
    caches::{Caches, CachesError},
    experiment::{
        BYTES, CACHES, CLIENTS, GAP, GATEWAY, GatewayChoice, INCAST, NAMES, PROCESSOR, QUEUES,
        SLACK, STEPS,
    },
    guest::Net,
    host::{self, DEFAULT_SERIES, ExecOptions, NEWEST},
    progress::Progress,
    tour,
};

/// What can be run by name.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain([tour::NAME])
}

/// The experiment with downloads in it, in full.
const NEEDS_WEB_SERVER: &str = PACING;

/// The experiments with parts.
const COST: &str = "cost";
const PACING: &str = "pacing";
const RADIO: &str = "radio";
const BACKGROUND: &str = "background";

/// The option for a seed, and the experiments that draw by it.
const SEED: &str = "--seed";
const SEEDED: [&str; 2] = [PACING, RADIO];

/// Additional kernel arguments of an experiment. The pair's devices have no receive queues of
/// their own: the CPU's backlog handles their packets. For `beats` that is to be a thread, as
/// it is for packets of other devices.
fn kernel_arguments(name: &str) -> Vec<String> {
    match name {
        "beats" => vec!["thread_backlog_napi".to_owned()],
        _ => Vec::new(),
    }
}

/// The network of an experiment's machine.
fn net(name: &str) -> Net {
    match name {
        "beats" => Net::Outside,
        _ => Net::Pair,
    }
}

/// Processors that wait for each other have to run at once.
fn clock(name: &str) -> host::Clock {
    match name {
        QUEUES => host::Clock::HostAtOnce,
        _ => host::Clock::InTurns,
    }
}

/// A run that takes longer by the host's clock has failed. The longest take most of an hour in
/// full, and several times that on a busy host.
const TIMEOUT: Duration = Duration::from_secs(6 * 60 * 60);

/// The experiments with programs of rt-tests in them.
const NEED_RT_TESTS: [&str; 2] = ["beats", "bystanders"];

/// The experiment with an audio server in it.
const NEEDS_JACK: &str = "beats";

/// A machine of an experiment.
struct Boot {
    kernel: Option<String>,
    processors: u32,
}

/// What an experiment about kernels boots: Debian 12's, Debian 13's, one that Debian built without
/// BPF qdiscs, the default one and the newest.
const KERNELS: [&str; 5] = ["6.1", "6.12", "6.16", DEFAULT_SERIES, NEWEST];

/// The machines that an experiment is about: the first and the others. Processors have a boot for
/// each number, since neither affinities nor cpusets take a processor away from the kernel's own
/// threads and timers.
fn boots(name: &str, kernel: Option<&str>) -> (Boot, Vec<Boot>) {
    let boot = |kernel: Option<&str>, processors| Boot {
        kernel: kernel.map(str::to_owned),
        processors,
    };
    match (name, kernel) {
        ("bystanders", _) => (
            boot(kernel, 1),
            [2, 4].map(|count| boot(kernel, count)).into(),
        ),
        (QUEUES, _) => (boot(kernel, 2), vec![boot(kernel, 4)]),
        ("kernels", None) => {
            let [first, others @ ..] = KERNELS.map(|kernel| boot(Some(kernel), 1));
            (first, others.into())
        }
        _ => (boot(kernel, 1), Vec::new()),
    }
}

/// Why there is no report.
#[derive(Debug, Error)]
pub enum RunError {
    /// There is no experiment with this name, and it is not the tour.
    #[error("there is no experiment {name}; there are {}, {}", NAMES.join(", "), tour::NAME)]
    Unknown {
        /// The name that was asked for.
        name: String,
    },
    /// Another experiment has such a part.
    #[error("{name} has no {part}; takt lab run {of} {part} does")]
    NoPart {
        /// The experiment.
        name: String,
        /// The argument that asks for it.
        part: &'static str,
        /// The experiment that has it.
        of: &'static str,
    },
    /// The model of caches failed.
    #[error(transparent)]
    Caches(#[from] CachesError),
    /// The machine cannot be made: its kernel, or programs that the experiment needs, are
    /// missing.
    #[error(transparent)]
    Host(#[from] host::Error),
    /// The machine did not run to its end.
    #[error("the experiment {name}: {source}")]
    Machine {
        /// The experiment.
        name: String,
        /// What went wrong.
        source: host::Error,
    },
    /// The experiment failed; its message is on standard error.
    #[error("the experiment {name} failed in the lab (status {status})")]
    Failed {
        /// The experiment.
        name: String,
        /// The exit status of the lab's command.
        status: i32,
    },
    /// The experiment succeeded, but its output is no report.
    #[error("the experiment {name} printed no report: {source}")]
    Unreadable {
        /// The experiment.
        name: String,
        /// What is wrong with its output.
        source: serde_json::Error,
    },
}

/// How to run an experiment.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// As [`ExecOptions::kernel`].
    pub kernel: Option<String>,
    /// A short run, of a minute or a few; the tour is always short.
    pub short: bool,
    /// What of the experiment to run alone; `None`: all of it.
    pub part: Option<Part>,
    /// Of `gateway` only: its part.
    pub gateway: GatewayChoice,
    /// Of `radio` and `pacing` only: of their random numbers.
    pub seed: Option<u64>,
    /// For the report: the command that reproduces it.
    pub command: String,
    /// For the report: the commit from which this program was built.
    pub commit: String,
}

/// What of an experiment can be run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Of `cost`: caches' misses instead of instructions.
    Caches,
    /// Of `cost`: the cost of a byte.
    Bytes,
    /// Of `pacing`: what a late timer saves, and costs in spacing.
    Slack,
    /// Of `pacing`: gap frames.
    Gap,
    /// Of `pacing`: a hundred rates, and classes that start one after the other.
    Steps,
    /// Of `background`: where the processor is the bottleneck.
    Processor,
    /// Of `pacing`: many servers that answer at once.
    Incast,
    /// Of `pacing`: thousands of clients, each with its own rate.
    Clients,
}

impl Part {
    /// The option that asks for it, its experiment, and its name in the machine.
    const fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Caches => ("--caches", COST, CACHES),
            Self::Bytes => ("--bytes", COST, BYTES),
            Self::Slack => ("--slack", PACING, SLACK),
            Self::Gap => ("--gap", PACING, GAP),
            Self::Steps => ("--steps", PACING, STEPS),
            Self::Processor => ("--processor", BACKGROUND, PROCESSOR),
            Self::Incast => ("--incast", PACING, INCAST),
            Self::Clients => ("--clients", PACING, CLIENTS),
        }
    }
}

/// The report of one experiment, or those of the tour.
pub fn run(name: &str, options: &RunOptions) -> Result<Vec<Report>, RunError> {
    let part = { options.part }.map(|part| {
        let (option, of, _) = part.names();
        (option, of)
    });
    let lines = { options.gateway.argument() }.map(|option| (option, GATEWAY));
    let seed = { options.seed }
        .filter(|_| !SEEDED.contains(&name))
        .map(|_| (SEED, PACING));
    for (part, of) in part.into_iter().chain(lines).chain(seed) {
        if name != of {
            return Err(RunError::NoPart {
                name: name.to_owned(),
                part,
                of,
            });
        }
    }
    if name == tour::NAME {
        return tour::run(options);
    }
    if !NAMES.contains(&name) {
        return Err(RunError::Unknown {
            name: name.to_owned(),
        });
    }
    Ok(vec![run_one(name, options.short, options)?])
}

/// All boots of an experiment, as one report.
pub(crate) fn run_one(name: &str, short: bool, options: &RunOptions) -> Result<Report, RunError> {
    let (first, others) = boots(name, options.kernel.as_deref());
    let mut whole = boot(name, &first, short, options)?;
    for other in &others {
        let report = boot(name, other, short, options)?;
        if report.kernel != whole.kernel {
            whole.kernel = format!("{}, {}", whole.kernel, report.kernel);
        }
        whole.rows.extend(report.rows);
    }
    Ok(whole)
}

fn boot(name: &str, machine: &Boot, short: bool, options: &RunOptions) -> Result<Report, RunError> {
    let reads_caches = options.part == Some(Part::Caches);
    let caches = reads_caches.then(Caches::new).transpose()?;
    let inside = { options.part }.map_or(name, |part| part.names().2);
    let mut command = vec![OsString::from("takt-lab"), "guest".into(), inside.into()];
    if short {
        command.push("--short".into());
    }
    command.extend(options.gateway.arguments().into_iter().map(OsString::from));
    if let Some(seed) = options.seed {
        command.extend([SEED.into(), seed.to_string().into()]);
    }
    let mut exec = ExecOptions::new(command);
    exec.kernel.clone_from(&machine.kernel);
    exec.smp = machine.processors;
    exec.clock = clock(name);
    exec.web_server = name == NEEDS_WEB_SERVER && !short && options.part.is_none();
    exec.net = net(name);
    exec.kernel_arguments = kernel_arguments(name);
    if NEED_RT_TESTS.contains(&name) {
        exec.add.extend(host::rt_tests()?);
    }
    if name == GATEWAY {
        exec.add.push(host::nft()?);
    }
    if name == NEEDS_JACK {
        exec.add.extend(host::jack()?);
    }
    exec.timeout = TIMEOUT;
    exec.plugin = caches.as_ref().map(Caches::argument);
    let mut progress = Progress::new(name, io::stderr());
    let captured = host::capture(&exec, &mut progress);
    // A last line without its end; an error here has no reader.
    let _ = progress.flush();
    let captured = captured.map_err(|source| RunError::Machine {
        name: name.to_owned(),
        source,
    })?;
    if captured.status != 0 {
        return Err(RunError::Failed {
            name: name.to_owned(),
            status: captured.status,
        });
    }
    let mut report: Report =
        serde_json::from_slice(&captured.stdout).map_err(|source| RunError::Unreadable {
            name: name.to_owned(),
            source,
        })?;
    if let Some(caches) = caches {
        caches.fill(&mut report)?;
    }
    report.command.clone_from(&options.command);
    report.commit.clone_from(&options.commit);
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_beats_have_packets_from_outside() {
        for name in NAMES {
            assert_eq!(net(name) == Net::Outside, name == "beats", "{name}");
        }
    }
}
