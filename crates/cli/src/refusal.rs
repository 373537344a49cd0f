//! The position in a policy of a host's refusal, and its message there.

use takt_host::{Cause, Undecided};
use takt_policy::{Diagnostics, Policy};

use crate::{print::Failure, reasons::Reason};

/// One refusal, with its position if the policy names its subject.
pub fn of(policy: &Policy, error: &Undecided) -> Failure {
    Failure::of_policy(error, place(policy, error))
}

/// The parts of a policy that no host could carry out; `None` if some host could.
pub fn anywhere(policy: &Policy) -> Option<Failure> {
    let errors = takt_host::unplannable(&policy.links);
    let found = errors.iter().filter_map(|error| place(policy, error));
    Some(Failure::of_policy(
        errors.first()?,
        Diagnostics::join(found),
    ))
}

fn place(policy: &Policy, error: &Undecided) -> Option<Diagnostics> {
    let code = <&Reason>::from(error).code;
    Some(match error {
        Undecided::NoDevice { device } => policy.device_error(
            device,
            code,
            error.to_string(),
            "`ip link` lists the devices of this network namespace",
        ),
        Undecided::TwoNames { device, other } => policy.device_error(
            device,
            code,
            error.to_string(),
            format!("keep one of the two: call the device {other} everywhere, or {device}"),
        ),
        Undecided::Plan { device, problem } => policy.device_error(
            device,
            code,
            format!("the policy of {device} is more than the kernel's tables can hold"),
            problem.to_string(),
        ),
        Undecided::NoGap { device, problem } => policy.device_error(
            device,
            code,
            format!("{device} cannot have pacing = \"gap\""),
            problem.to_string(),
        ),
        Undecided::NoPushBack { device, problem } => policy.device_error(
            device,
            code,
            format!("{device} cannot have rate = \"line\""),
            problem.to_string(),
        ),
        Undecided::NoReceive { device, problem } => policy.device_error(
            device,
            code,
            format!("{device} cannot have incoming traffic in the background"),
            problem.to_string(),
        ),
        Undecided::NoBackend { device, problem } => policy.device_error(
            device,
            code,
            format!("this kernel cannot carry out the policy of {device}"),
            problem.to_string(),
        ),
        Undecided::NoTime(refusal) => {
            let tasks = policy.beats.iter().flat_map(|beats| &beats.tasks);
            let named = |name| tasks.map(|task| &task.name).position(|task| task == name);
            policy.task_error(
                refusal.name().and_then(named).unwrap_or_default(),
                code,
                "the CPUs have no room for the tasks",
                refusal.to_string(),
            )
        }
        Undecided::NoUser(error) => policy.user_error(
            error.name(),
            code,
            error.to_string(),
            "`getent passwd` lists users, and a number needs no name",
        ),
        Undecided::Host(error) => match error.cause() {
            Cause::Foreign(foreign) => policy.device_error(
                foreign.device()?,
                code,
                foreign.to_string(),
                foreign.remedy(),
            ),
            _ => return None,
        },
    })
}
