//! What sockets know of their routes.

use std::fs;

/// Of this thread's network namespace (`ipv4_sysctl_rtcache_flush()` in net/ipv4/route.c).
const FORGET: &str = "/proc/sys/net/ipv4/route/flush";

/// Have sockets look their IPv4 routes up again, and with them the limits of the device. Without it they
/// would keep the limits of the time at which they connected. They work all the same, so a failure
/// is none.
pub(crate) fn look_up_again() {
    let _ = fs::write(FORGET, "1");
}
