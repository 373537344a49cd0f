//! Bytes on taktd's socket.

pub fn run(bytes: &[u8]) {
    takt_daemon::fuzzing::control(bytes);
}
