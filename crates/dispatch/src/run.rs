//! The commands.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::Path,
};

use clap::{CommandFactory, Parser};
use serde_json::{Value, json};
use takt_policy::{Diagnostics, format_duration};

use crate::{
    args::{Cli, Command, Output},
    error::Error,
    exit::Exit,
    plan::{self, Plan, Unkept},
    processes::online_cpus,
    status, supervisor,
};

const ONLINE: &str = "/sys/devices/system/cpu/online";
const THROTTLE: [&str; 2] = [
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_rt_period_us",
];

enum Failure {
    Policy(Box<Diagnostics>),
    Plan(Unkept),
    Host(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Host(error)
    }
}

pub fn run() -> Exit {
    takt_shell::answer(Cli::command, takt_shell::pages::DISPATCH);
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Run { policy, priority } => load(policy).and_then(|plan| {
            warn_of_throttling(&plan);
            supervisor::run(plan, *priority)?;
            Ok(None)
        }),
        Command::Check { policy } => load(policy).map(|plan| Some(tables(&plan))),
        Command::Status => status::read().map_err(Failure::from).map(|status| {
            let value = serde_json::to_value(&status).unwrap_or_default();
            Some((status::text(&status), value))
        }),
        Command::Release => supervisor::release()
            .map_err(Failure::from)
            .map(|restored| {
                let text = format!("{restored} threads restored\n");
                Some((text, json!({ "restored_count": restored })))
            }),
    };
    match done {
        Ok(None) => Exit::Done,
        Ok(Some((text, value))) => {
            let text = match cli.output {
                Output::Text => text,
                Output::Json => format!("{value:#}\n"),
            };
            // A reader that went away is no failure of ours.
            let _ = io::stdout().write_all(text.as_bytes());
            Exit::Done
        }
        Err(failure) => refuse(&failure, cli.output),
    }
}

fn load(policy: &Path) -> Result<Plan, Failure> {
    let loaded = takt_policy::load(policy).map_err(|errors| Failure::Policy(Box::new(errors)))?;
    let online = fs::read_to_string(ONLINE).map_err(Error::file(ONLINE))?;
    plan::of_policy(loaded.policy.beats.as_ref(), &online_cpus(&online)).map_err(Failure::Plan)
}

fn tables(plan: &Plan) -> (String, Value) {
    let mut text = String::new();
    for table in &plan.tables {
        text += &format!(
            "CPU {}, frame {}\n",
            table.cpu,
            format_duration(table.frame_ns.rounded_ns())
        );
        for slot in &table.slots {
            text += &format!(
                "  {:>12}  to {:>12}  {}\n",
                format_duration(slot.begin_ns.into()),
                format_duration(slot.end_ns.into()),
                plan.tasks[slot.demand].name
            );
        }
    }
    let slot = |slot: &takt_planner::beats::Slot| {
        json!({
            "task": plan.tasks[slot.demand].name,
            "begin_ns": slot.begin_ns,
            "beat_ns": slot.beat_ns,
            "end_ns": slot.end_ns,
        })
    };
    let tables = plan.tables.iter().map(|table| {
        json!({
            "cpu": table.cpu,
            "frame_ns": table.frame_ns.rounded_ns(),
            "slots": table.slots.iter().map(slot).collect::<Vec<_>>(),
        })
    });
    (text, json!({ "tables": tables.collect::<Vec<_>>() }))
}

/// The kernel takes the CPU from SCHED_FIFO for the rest of each period.
fn warn_of_throttling(plan: &Plan) {
    let read = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<i64>().ok();
    let [Some(runtime_us), Some(period_us)] = THROTTLE.map(read) else {
        return;
    };
    let allowed_ppm = runtime_us.saturating_mul(1_000_000) / period_us.max(1);
    if runtime_us >= 0 && plan.busiest_ppm() as i64 > allowed_ppm {
        eprintln!(
            "takt-dispatch: warning: the tables take {} % of a CPU, and the kernel gives real-time \
             threads {} %: sysctl kernel.sched_rt_runtime_us",
            plan.busiest_ppm() / 10_000,
            allowed_ppm / 10_000
        );
    }
}

fn refuse(failure: &Failure, output: Output) -> Exit {
    let said = |message: String| {
        let value = json!({ "errors": [{ "message": message }] });
        (format!("takt-dispatch: {message}\n"), value)
    };
    let (text, value) = match failure {
        Failure::Policy(errors) => (
            errors.render(io::stderr().is_terminal()),
            json!({ "errors": errors.to_json() }),
        ),
        Failure::Plan(unkept) => said(unkept.to_string()),
        Failure::Host(error) => said(error.to_string()),
    };
    match output {
        Output::Text => eprint!("{text}"),
        Output::Json => println!("{value:#}"),
    }
    match failure {
        Failure::Policy(_) | Failure::Plan(_) => Exit::Invalid,
        Failure::Host(Error::NotRoot) => Exit::NoPrivilege,
        Failure::Host(_) => Exit::Failed,
    }
}
