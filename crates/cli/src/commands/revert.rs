use serde_json::{Value, json};
use takt_host::{Ending, Undone};

use crate::{
    args::Output,
    commands::apply::{describe_beats, describe_crowd},
    exit::Exit,
    print,
};

pub fn run(output: Output) -> Exit {
    let undone = match takt_host::revert(Ending::All) {
        Ok(undone) => undone,
        Err(error) => return print::refused(output, &error),
    };
    print::result(output, &as_json(&undone), |_| {
        let links = undone.links.iter().map(|link| match &link.left {
            None => format!("{}: given back\n", link.device),
            Some(why) => format!("{}: {why}\n", link.device),
        });
        let beats = undone
            .beats
            .map(|action| format!("beats: {}\n", describe_beats(action, false)));
        let radio = undone.radio.then(|| "radio: left alone\n".to_owned());
        let crowd = undone
            .crowd
            .map(|action| format!("crowd: {}\n", describe_crowd(action, false)));
        // Those of devices are shown with them.
        let others = undone
            .foreign
            .iter()
            .filter(|foreign| foreign.device().is_none())
            .map(|foreign| format!("{foreign}\n"));
        let lines: String = links
            .chain(beats)
            .chain(radio)
            .chain(crowd)
            .chain(others)
            .chain([print::more_of(&undone.foreign)])
            .collect();
        match lines.as_str() {
            "" => "nothing to revert".to_owned(),
            _ => lines,
        }
    });
    if undone.foreign.is_empty() {
        Exit::Done
    } else {
        Exit::Changed
    }
}

/// The list of what was undone; if something was left alone, an error that says why.
fn as_json(undone: &Undone) -> Value {
    let mut value = json!(undone);
    print::note_foreign(&mut value, &undone.foreign);
    value
}
