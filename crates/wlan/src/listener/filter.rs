//! A filter for datagrams that a socket shall not even queue: a classic BPF program that the
//! kernel runs for each datagram.

use std::{
    io,
    net::{Ipv4Addr, UdpSocket},
    os::fd::AsRawFd,
};

use nix::libc::{self, sock_filter, sock_fprog};

/// The program sees a datagram from its UDP header on, which begins with the source port.
const PORT_AT: u32 = 0;
/// The offset of the IPv4 source address, from the network header.
const SOURCE_AT: u32 = libc::SKF_NET_OFF as u32 + 12;
const REFUSE: sock_filter = step(libc::BPF_RET | libc::BPF_K, 0);
const TAKE: sock_filter = step(libc::BPF_RET | libc::BPF_K, u32::MAX);

/// Accepts datagrams from `port`, and from none of these addresses.
pub(super) fn attach(
    socket: &UdpSocket,
    port: u16,
    refused: impl Iterator<Item = Ipv4Addr>,
) -> io::Result<()> {
    let load = libc::BPF_LD | libc::BPF_ABS;
    let mut program = vec![
        step(load | libc::BPF_H, PORT_AT),
        skip_if(port.into(), 1, 0),
        REFUSE,
        step(load | libc::BPF_W, SOURCE_AT),
    ];
    for address in refused {
        program.extend([skip_if(address.to_bits(), 0, 1), REFUSE]);
    }
    program.push(TAKE);
    let program = sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the kernel copies the program, whose length is given.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of::<sock_fprog>() as libc::socklen_t,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

const fn step(code: u32, k: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    }
}

/// Skips `jt` instructions if the loaded value is `k`, and `jf` otherwise.
const fn skip_if(k: u32, equal: u8, other: u8) -> sock_filter {
    sock_filter {
        jt: equal,
        jf: other,
        ..step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k)
    }
}
