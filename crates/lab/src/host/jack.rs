//! JACK, as this machine has it.

use std::path::PathBuf;

use super::tool::Tool;
use super::{Error, Result, libraries};

pub const JACKD: Tool = Tool {
    program: "jackd",
    package: "jackd2",
};

/// The library of the server, beside which the others lie.
const SERVER_LIBRARY: &str = "libjackserver.so";
/// The driver without a sound card, and the library of clients. No program names them where the
/// dynamic linker could find it.
const OPENED_LATER: [&str; 2] = ["jack/jack_dummy.so", "libjack.so.0"];

/// The server, and what it and its clients open while they run.
pub fn files() -> Result<Vec<PathBuf>> {
    let server = JACKD.path()?;
    let libraries = libraries::of(std::slice::from_ref(&server))?;
    let is_servers = |library: &&PathBuf| {
        let name = library.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(SERVER_LIBRARY)
    };
    let directory = libraries
        .iter()
        .find(is_servers)
        .and_then(|library| library.parent())
        .ok_or_else(|| Error::MissingLibrary {
            path: server.clone(),
            library: SERVER_LIBRARY.to_owned(),
        })?;
    let later = OPENED_LATER.map(|name| directory.join(name));
    Ok([server].into_iter().chain(later).collect())
}
