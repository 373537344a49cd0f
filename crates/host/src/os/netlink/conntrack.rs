//! Connection tracking.

use netlink_sys::{Socket, protocols::NETLINK_NETFILTER};

/// A request for counters (`NFNL_SUBSYS_CTNETLINK`, `IPCTNL_MSG_CT_GET_STATS`).
const GET_STATS: u16 = 1 << 8 | 5;
/// `struct nlmsghdr` and `struct nfgenmsg`.
const LEN: usize = 20;

/// Have the kernel load its module, if it has one: it does when it is asked something. Nothing is
/// tracked for that.
pub(crate) fn load() {
    let mut request = [0; LEN];
    request[..4].copy_from_slice(&(LEN as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&GET_STATS.to_ne_bytes());
    request[6..8].copy_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    // A kernel without it refuses, and loading a program that needs it will tell.
    if let Ok(socket) = Socket::new(NETLINK_NETFILTER) {
        let _ = socket.send_to(&request, &netlink_sys::SocketAddr::new(0, 0), 0);
    }
}
