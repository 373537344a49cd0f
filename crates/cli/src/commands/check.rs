use std::path::Path;

use serde_json::json;

use crate::{args::Output, exit::Exit, print};

pub fn run(file: &Path, output: Output) -> Exit {
    match takt_policy::load(file) {
        Err(found) => print::diagnostics(output, &found),
        Ok((_, policy)) => {
            if output == Output::Text {
                print::warnings(&policy.warnings);
            }
            let links = policy.links.len();
            let classes: usize = policy.links.iter().map(|link| link.classes.len()).sum();
            let value = json!({ "ok": true, "warnings": policy.warnings, "links": policy.links });
            print::result(output, &value, |_| {
                format!(
                    "{}: fine, {links} link(s) with {classes} class(es)",
                    file.display()
                )
            });
            Exit::Done
        }
    }
}
