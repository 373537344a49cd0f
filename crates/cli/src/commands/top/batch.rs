//! Samples as text or JSON, without a terminal.

use std::{
    io::{self, Write},
    time::Instant,
};

use serde_json::json;

use super::{picture::Picture, rates::Meter, sample::Sampler, state::State};
use crate::{
    args::{Output, Top},
    commands::{ending::Ending, stop::Stop},
};

pub fn run(terms: &Top, output: Output) -> Result<(), Stop> {
    let ending = Ending::after(None).map_err(Stop::system)?;
    let state = State::new(terms.view, terms.interval, &terms.filter);
    let (mut sampler, mut meter) = (Sampler::default(), Meter::default());
    let mut due = Instant::now();
    let mut left = terms.count;
    loop {
        let sample = sampler.take(state.view)?;
        let picture = Picture::new(&sample, &mut meter);
        let text = match output {
            Output::Text => text(&picture, &state),
            Output::Json => json(&picture, &state),
        };
        let mut out = io::stdout().lock();
        if out
            .write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .is_err()
        {
            // Its reader has closed the output.
            return Ok(());
        }
        left = left.map(|left| left - 1);
        due = (due + state.interval).max(Instant::now());
        if left == Some(0) || ending.comes_before(due).map_err(Stop::system)? {
            return Ok(());
        }
    }
}

fn text(picture: &Picture, state: &State) -> String {
    let Picture {
        host,
        clock,
        policy,
        problems,
        ..
    } = picture;
    let table = picture.table(state.view);
    let mut lines = vec![format!("{}  {host}  {clock}  {policy}", state.view.name())];
    lines.extend(problems.iter().map(|problem| format!("! {problem}")));
    match &table.note {
        Some(note) => lines.push(note.clone()),
        None => lines.extend(table.lines(&table.chosen(state.choice()), state.sort(), None)),
    }
    lines.join("\n") + "\n\n"
}

/// One object, one line.
fn json(picture: &Picture, state: &State) -> String {
    let table = picture.table(state.view);
    let object = json!({
        "host": picture.host,
        "time": picture.clock,
        "policy": picture.policy,
        "problems": picture.problems,
        "view": state.view.name(),
        "note": table.note,
        "rows": table.to_json(&table.chosen(state.choice())),
    });
    format!("{object}\n")
}
