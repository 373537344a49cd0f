//! `--record`: a traffic file of a live host.

use std::time::Duration;

use serde_json::json;
use takt_policy::format_duration;
use takt_sim::record::{End, RecordError, RecordTerms, Recorded, record};

use super::{
    args::{Cli, Output},
    exit::Exit,
    write,
};

/// The longest recording.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Digits that matter.
const ROUND_NS: u64 = 10_000_000;

/// Records the device for the time, both as they were typed.
pub fn run(cli: &Cli, device: &str, time: &str) -> Exit {
    match attempt(cli, device, time) {
        Ok(recorded) => {
            let text = match cli.output {
                Output::Json => format!("{:#}\n", json!(recorded)),
                Output::Text | Output::Html => summary(&recorded),
            };
            write(&text)
        }
        Err((message, exit)) => {
            match cli.output {
                Output::Json => println!("{:#}", json!({ "errors": [{ "message": message }] })),
                Output::Text | Output::Html => eprintln!("takt-sim: {message}"),
            }
            exit
        }
    }
}

fn attempt(cli: &Cli, device: &str, time: &str) -> Result<Recorded, (String, Exit)> {
    let duration_ns = match takt_policy::parse_duration(time) {
        Ok(ns) if (1..=LONGEST_NS).contains(&ns) => ns,
        Ok(_) => {
            let message = format!("a recording takes 1ns to 3600s, not {time}");
            return Err((message, Exit::Invalid));
        }
        Err(message) => return Err((message, Exit::Invalid)),
    };
    let terms = RecordTerms {
        device: device.to_owned(),
        duration: Duration::from_nanos(duration_ns),
        incoming: cli.incoming,
        hashes: cli.hash_addresses,
        to: cli.to.clone(),
    };
    record(&terms).map_err(|error| {
        let exit = match error {
            RecordError::NoDevice(_) | RecordError::NotEthernet(_) => Exit::Invalid,
            _ => Exit::Failed,
        };
        (error.to_string(), exit)
    })
}

fn summary(recorded: &Recorded) -> String {
    let because = match recorded.end {
        End::Time => "",
        End::Signal => ", until it was interrupted",
        End::Packets => ", until the file had as many as it may",
        End::Addresses => ", until there were more addresses than are told apart",
        End::Device => ", until the device went down",
    };
    let missed = match recorded.missed_packets {
        0 => String::new(),
        missed => format!("{missed} more were missed: the host was too busy.\n"),
    };
    let rounded_ns = recorded.duration_ns.next_multiple_of(ROUND_NS);
    format!(
        "{}: {} packets in {}{because}.\n{missed}Replay them: takt sim POLICY --traffic {}\n",
        recorded.capture.display(),
        recorded.packets,
        format_duration(rounded_ns),
        recorded.traffic.display()
    )
}
