//! Files below /run/takt.

pub fn run(bytes: &[u8]) {
    // Others are refused before they are parsed.
    if let Ok(text) = std::str::from_utf8(bytes) {
        takt_host::fuzzing::state(text);
    }
}
