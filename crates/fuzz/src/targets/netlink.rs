//! Datagrams of a netlink socket.

pub fn run(bytes: &[u8]) {
    takt_host::fuzzing::netlink(bytes);
}
