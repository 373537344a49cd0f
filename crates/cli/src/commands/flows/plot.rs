//! A recording as a page.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;
use takt_flows::Recording;

use crate::{args::Output, exit::Exit, print};

pub fn run(file: &Path, out: Option<PathBuf>, output: Output) -> Exit {
    let out = out.unwrap_or_else(|| file.with_extension("html"));
    let told =
        |path: &Path, reason: &dyn std::fmt::Display| format!("{}: {reason}", path.display());
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return print::failure(output, Exit::Failed, &told(file, &error)),
    };
    let recording = match Recording::parse(&text) {
        Ok(recording) => recording,
        Err(error) => return print::failure(output, Exit::Invalid, &told(file, &error)),
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if let Err(error) = fs::write(&out, takt_report::flows_page(&name, &recording)) {
        return print::failure(output, Exit::Failed, &told(&out, &error));
    }
    let written = json!({ "page": out, "flows": recording.tracks.len() });
    print::result(output, &written, |_| {
        let flows = print::count(recording.tracks.len(), "flow", "flows");
        told(&out, &flows)
    });
    Exit::Done
}
