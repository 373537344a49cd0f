use crate::{
    args::Output,
    exit::Exit,
    print,
    reasons::{self, Entry},
};

pub fn run(code: Option<&str>, output: Output) -> Exit {
    let Some(code) = code else {
        let entries: Vec<Entry> = reasons::all().collect();
        print::result(output, &entries, |entries| list(entries));
        return Exit::Done;
    };
    let Some(found) = reasons::find(code) else {
        let message = format!("there is nothing called {code}; `takt explain` lists what there is");
        return print::failure(output, Exit::Invalid, &message);
    };
    print::result(output, &found, |found| {
        format!("{}\n\n{}", found.code, found.explanation)
    });
    Exit::Done
}

/// A code a line, with its words in `takt status` and `takt doctor`.
fn list(entries: &[Entry]) -> String {
    let lines = entries.iter().map(|entry| {
        let line = format!("{:<36} {}", entry.code, entry.shown_as.join(", "));
        format!("{}\n", line.trim_end())
    });
    lines.collect()
}
