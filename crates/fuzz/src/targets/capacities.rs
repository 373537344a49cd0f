//! The file in which taktd keeps networks' capacities.

pub fn run(bytes: &[u8]) {
    // Others are refused before they are parsed.
    if let Ok(text) = std::str::from_utf8(bytes) {
        takt_daemon::fuzzing::capacities(text);
    }
}
