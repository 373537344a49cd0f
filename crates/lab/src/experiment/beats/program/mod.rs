//! The programs of this experiment, in processes of their own: threads with names that record
//! their runs in memory, and report them at the end.
//!
//! [`play`] is the program, [`class`] sets a thread's scheduling, [`work`] is its computation,
//! [`pages`] is memory for a [`call`]; the rest are its [parts](super::script::Part).

mod call;
mod class;
mod jack;
mod jobs;
mod ordinary;
mod pages;
mod udp;
mod work;

use std::io::{Read, Write};

use nix::sys::mman::{MlockAllFlags, mlockall};

pub use self::class::{enter, exact_timers, set_class};
pub use self::udp::PAYLOAD_BYTES;
pub use self::work::Work;
use super::script::{Part, Record, Role, Script, Window};
use crate::experiment::error::{ExperimentError, Result, WhileDoing};

/// Runs the script on standard input, and writes the records to standard output.
pub fn play_from_stdin() -> Result<()> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .doing("read the script")?;
    let script = serde_json::from_str(&text).map_err(|error| ExperimentError::Output {
        command: "the experiment".to_owned(),
        reason: error.to_string(),
    })?;
    let records = play(&script)?;
    let text = serde_json::to_vec(&records)
        .map_err(std::io::Error::from)
        .doing("describe what happened")?;
    std::io::stdout()
        .write_all(&text)
        .doing("say what happened")
}

fn play(script: &Script) -> Result<Vec<Record>> {
    // No page fault occurs at a beat.
    mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE).doing("lock memory")?;
    let work = Work::calibrate();
    std::thread::scope(|scope| {
        let threads: Vec<_> = script
            .threads
            .iter()
            .map(|role| scope.spawn(move || perform(role, script.window, work)))
            .collect();
        threads
            .into_iter()
            .map(|thread| match thread.join() {
                Ok(record) => record,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    })
}

fn perform(role: &Role, window: Window, work: Work) -> Result<Record> {
    class::name(&role.name)?;
    // Everything is prepared in the default class, which disturbs no other thread.
    let class = || class::enter(role.class);
    let record = match &role.part {
        Part::Jobs {
            rhythm,
            wait,
            work_ns,
        } => jobs::beats(*rhythm, *wait, work.of_ns(*work_ns), window, class)?,
        Part::Relay { work_ns } => jobs::relay(work.of_ns(*work_ns), window, class)?,
        Part::Pass {
            work_ns,
            member,
            members,
        } => jobs::pass((*member, *members), work.of_ns(*work_ns), window, class)?,
        Part::Watch { rhythm } => jobs::watch(*rhythm, window, class)?,
        Part::Compute => ordinary::compute(work, window),
        Part::Pipes => ordinary::pipes(window)?,
        Part::Strain => ordinary::strain(window)?,
        Part::Call { call } => call::repeat(*call, window)?,
        Part::Client {
            name,
            wires,
            work_ns,
        } => jack::client(name, wires, work.of_ns(*work_ns), window)?,
        Part::Send {
            to,
            port,
            rate_bytes_per_s,
        } => udp::send(to, *port, *rate_bytes_per_s, window)?,
        Part::Receive { port } => udp::receive(*port, window)?,
    };
    Ok(Record {
        name: role.name.clone(),
        ..record
    })
}
