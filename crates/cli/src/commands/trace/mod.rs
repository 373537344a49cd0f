//! `takt trace`: queues, rates, lateness, windows and slots of a few seconds, for ui.perfetto.dev.

mod events;
mod file;
mod tracks;

use std::time::Instant;

use serde::Serialize;

use self::{events::Tracer, file::TraceFile};
use super::{ending::Ending, stop::Stop, top::sample::Sampler};
use crate::{
    args::{Output, Trace, View},
    exit::Exit,
    print,
};

/// What was written.
#[derive(Debug, Serialize)]
struct Written {
    file: String,
    samples: u64,
    events: u64,
    bytes: u64,
    /// It ended when the file had its largest size.
    truncated: bool,
    /// Why it has no windows of TCP flows.
    without_flows: Option<String>,
}

pub fn run(terms: &Trace, output: Output) -> Exit {
    if let Err(message) = file::may_be_written(&terms.out) {
        return print::failure(output, Exit::Invalid, &message);
    }
    match trace(terms) {
        Ok(written) => {
            print::result(output, &written, text);
            Exit::Done
        }
        Err(stop) => stop.told(output),
    }
}

fn text(written: &Written) -> String {
    let Written {
        file,
        samples,
        events,
        bytes,
        ..
    } = written;
    let mut text = format!(
        "{file}: {samples} samples, {events} events, {bytes} bytes; open it at ui.perfetto.dev\n"
    );
    if written.truncated {
        text += "it is truncated at its largest size; a longer --interval needs less room\n";
    }
    if let Some(why) = &written.without_flows {
        text += &format!("without windows of TCP flows: {why}\n");
    }
    text
}

fn trace(terms: &Trace) -> Result<Written, Stop> {
    let mut sampler = Sampler::default();
    // What is refused is refused before a file is made.
    let mut sample = sampler.take(View::Tcp)?;
    let ending = Ending::after(Some(terms.duration)).map_err(Stop::system)?;
    let mut file = TraceFile::create(&terms.out).map_err(Stop::file(&terms.out))?;
    let mut tracer = Tracer::begin(sample.at_ns);
    let mut due = Instant::now();
    let mut samples = 0;
    let mut without_flows = None;
    loop {
        for event in tracer.take(&sample) {
            file.write(&event).map_err(Stop::file(&terms.out))?;
        }
        samples += 1;
        if let Some(Err(why)) = &sample.tcp {
            without_flows = Some(why.clone());
        }
        due = (due + terms.interval).max(Instant::now());
        if file.is_full() || ending.comes_before(due).map_err(Stop::system)? {
            break;
        }
        sample = sampler.take(View::Tcp)?;
    }
    let (events, bytes, truncated) = (file.events(), file.bytes(), file.is_full());
    file.finish(&terms.out).map_err(Stop::file(&terms.out))?;
    Ok(Written {
        file: terms.out.display().to_string(),
        samples,
        events,
        bytes,
        truncated,
        without_flows,
    })
}
