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
        let message = format!("unknown code or word {code}; `takt explain` lists all of them");
        return print::failure(output, Exit::Invalid, &message);
    };
    print::result(output, &found, |found| {
        format!("{}\n\n{}", found.code, found.explanation)
    });
    Exit::Done
}

/// By area, a code a line: without the area, with its title, or with its words in `takt status` and
/// `takt doctor` where it has some.
fn list(entries: &[Entry]) -> String {
    const TITLE_WIDTH: usize = 62;
    let mut text = String::new();
    let mut entries: Vec<&Entry> = entries.iter().collect();
    // In order within an area, and areas by their first one.
    let mut areas: Vec<&str> = Vec::new();
    for entry in &entries {
        if !areas.contains(&entry.area()) {
            areas.push(entry.area());
        }
    }
    entries.sort_by_key(|entry| areas.iter().position(|area| *area == entry.area()));
    for of_area in entries.chunk_by(|one, other| one.area() == other.area()) {
        text += &format!("takt::{}\n", of_area[0].area());
        for entry in of_area {
            let name = entry.code.rsplit_once("::").map_or("", |(_, name)| name);
            let title = entry.title();
            let title = match title.char_indices().nth(TITLE_WIDTH) {
                Some((end, _)) => format!("{}...", title[..end].trim_end()),
                None => title,
            };
            text += &format!("  {name:<28} {title}\n");
        }
    }
    text + "`takt explain NAME` says more, also about every word in takt's output.\n"
}
