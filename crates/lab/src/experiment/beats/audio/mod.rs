//! An audio server of 64 frames at 48 kHz, on a machine that compiles and receives.
//!
//! JACK's driver without a sound card sleeps until the next cycle is due. It wakes the thread of
//! the first client, which wakes the second's. A cycle that is not done when the next one is due
//! is an xrun: it is heard.

mod figures;
mod server;

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use self::figures::Reading;
use self::server::Server;
use super::beat::{MS, US};
use super::clock::{now_ns, sleep_until};
use super::contender::Contender;
use super::load::{Carried, Load};
use super::process::Process;
use super::script::{Part, Role, Window, Wire};
use super::stage;
use crate::experiment::error::Result;
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair::A;

pub const CASE: &str = "audio-64";
/// 70 Mbit/s.
const LOAD: Load = Load::Rate(8_750);
/// The clients connect in the first of these times, and everything else starts in the second.
const CONNECT_NS: u64 = 1_000 * MS;
const WARM_UP_NS: u64 = 500 * MS;

/// The clients in the order of the cycle, and their work in it: a third of the period.
const CLIENTS: [(&str, u64); 2] = [("synth", 150 * US), ("mixer", 300 * US)];

/// All threads of the server have one name. In the order in which they begin these are its first,
/// one that prints, and the driver's: each takes the first task that is left for it.
///
/// The driver's phase is its own. It begins a slot's length before the first client's, which has
/// room for a driver that comes late by interrupts.
const POLICY: &str = r#"[beats]
grid = "1/48000s"

[[task]]
name = "first"
period = "64/48000s"
budget = "20us"
match = { command = "jackd" }

[[task]]
name = "printer"
period = "64/48000s"
budget = "20us"
match = { thread = "jackd", command = "jackd" }

[[task]]
name = "driver"
period = "64/48000s"
budget = "291us"
offset = "0us"
overrun = "wait"
match = { thread = "jackd" }

[[task]]
name = "synth"
period = "64/48000s"
budget = "375us"
offset = "14/48000s"
overrun = "wait"

[[task]]
name = "mixer"
period = "64/48000s"
budget = "541us"
offset = "32/48000s"
overrun = "wait"
"#;

pub fn policy(contender: Contender) -> Option<String> {
    (contender == Contender::Takt).then(|| POLICY.to_owned())
}

pub fn measure(takt: &Path, contender: Contender, length: Duration) -> Result<Metrics> {
    let server = Server::start(contender.is_fifo())?;
    let begin_ns = now_ns() + CONNECT_NS + WARM_UP_NS;
    let window = Window {
        begin_ns,
        end_ns: begin_ns + length.as_nanos() as u64,
    };
    let start = |(namespace, threads)| Process::start(takt, namespace, window, threads);
    let clients = clients()
        .into_iter()
        .map(|role| start((A, vec![role])))
        .collect::<Result<Vec<_>>>()?;
    sleep_until(begin_ns - WARM_UP_NS);
    let compilers = ["compiler-0", "compiler-1"].map(|name| Role::ordinary(name, Part::Strain));
    let mut others = vec![stage::ordinary(compilers.into())];
    others.extend(LOAD.outside_ends());
    let others = others.into_iter().map(start).collect::<Result<Vec<_>>>()?;

    let mut audio: Vec<u32> = clients.iter().map(Process::id).collect();
    audio.push(server.id());
    sleep_until(window.begin_ns);
    let begun = Reading::take(&server, &audio)?;
    // The clients are still there.
    sleep_until(window.end_ns - MS);
    let ended = Reading::take(&server, &audio)?;
    let finish = |processes: Vec<Process>| -> Result<Vec<_>> {
        processes.into_iter().map(Process::finish).collect()
    };
    let cycles = finish(clients)?;
    let loads = finish(others)?;

    let last_in_cycle = cycles.last().map_or(&[][..], |client| &client[0].spans);
    let mut row = figures::heard(last_in_cycle, &begun, &ended);
    let started: u64 = loads[0].iter().map(|compiler| compiler.done).sum();
    let carried = Carried::of(&loads[1..]);
    let per_second = |bytes: u64| (8.0 * bytes as f64 * 1e9 / window.length_ns() as f64).round();
    row.extend(metrics([
        ("processes_count", json!(started)),
        ("sent_bps", json!(per_second(carried.sent_bytes))),
        ("received_bps", json!(per_second(carried.received_bytes))),
    ]));
    Ok(row)
}

/// Each has an input, from the client before it, and an output.
fn clients() -> Vec<Role> {
    let mut before: Option<&str> = None;
    let client = |(name, work_ns): (&'static str, u64)| {
        let wire = |from: &str| Wire {
            from: format!("{from}:out"),
            to: format!("{name}:in"),
        };
        let part = Part::Client {
            name: name.to_owned(),
            wires: before.replace(name).map(wire).into_iter().collect(),
            work_ns,
        };
        // The thread of the client's own name is JACK's.
        Role::ordinary(format!("{name}-main"), part)
    };
    CLIENTS.into_iter().map(client).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_takt_has_a_policy_and_a_task_for_each_client() {
        assert_eq!(policy(Contender::Fifo), None);
        let policy = policy(Contender::Takt).unwrap_or_default();
        for (name, _) in CLIENTS {
            assert!(policy.contains(&format!("name = \"{name}\"")));
        }
    }

    #[test]
    fn a_client_is_wired_to_the_one_before_it() {
        let wires: Vec<usize> = clients()
            .iter()
            .map(|role| match &role.part {
                Part::Client { wires, .. } => wires.len(),
                _ => usize::MAX,
            })
            .collect();
        assert_eq!(wires, [0, 1]);
    }
}
