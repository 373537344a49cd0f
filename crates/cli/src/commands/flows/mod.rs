//! `takt flows`: TCP flows as the kernel sees them.

mod look;
mod plot;
mod screen;
pub mod table;
mod watch;

use serde_json::json;
use takt_flows::{Filter, Seen};
use takt_host::Monitor;

pub use self::{look::Look, watch::monotonic_ns};
use super::stop::Stop;
use crate::{
    args::{Flows, FlowsCommand, Output},
    columns,
    exit::Exit,
    print,
};

pub fn run(flows: Flows, output: Output) -> Exit {
    let filter = Filter {
        ports: flows.port,
        addresses: flows.address,
        applications: flows.application,
    };
    let done = match flows.command {
        Some(FlowsCommand::Plot { file, out }) => return plot::run(&file, out, output),
        None if flows.watch || flows.record.is_some() => watch::run(watch::Terms {
            interval: flows.interval,
            duration: flows.duration,
            record: flows.record,
            shows: flows.watch,
            filter,
            output,
        }),
        None => once(&filter, output),
    };
    match done {
        Ok(()) => Exit::Done,
        Err(stop) => stop.told(output),
    }
}

/// The current flows.
fn once(filter: &Filter, output: Output) -> Result<(), Stop> {
    let monitor = Monitor::open()?;
    monitor.survey()?;
    let mut seen = monitor.flows()?;
    seen.retain(|seen| filter.admits(&seen.flow));
    seen.sort_unstable_by_key(|seen| (seen.flow.ends.local, seen.flow.ends.remote));
    print::result(output, &json!({ "flows": as_json(&seen) }), |_| {
        let rows: Vec<_> = seen.iter().map(table::row).collect();
        table::fitted(&rows, columns::room())
    });
    Ok(())
}

/// A flow and its sample as one object.
fn as_json(seen: &[Seen]) -> Vec<serde_json::Value> {
    let one = |seen: &Seen| {
        let mut object = json!(seen.sample);
        if let (Some(to), Some(from)) = (object.as_object_mut(), json!(seen.flow).as_object_mut()) {
            to.append(from);
        }
        object
    };
    seen.iter().map(one).collect()
}
