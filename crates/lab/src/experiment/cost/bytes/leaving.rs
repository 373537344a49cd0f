//! The packets that leave the sending device: how long they are, and when. A packet socket there
//! sees them after the qdisc and as the device gets them, segmented ones whole. At the other end
//! their time would be lost: the kernel keeps the departure time of paced ones in its place.

use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;

use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::pair::{A, DEVICE};
use crate::experiment::recorder::{
    HEADERS_BYTES, RECEIVE_BUFFER_BYTES, bind, packet_socket, ports,
};
use crate::experiment::sink::arrival_ns;

/// Packets taken in one system call.
const BATCH: usize = 64;
/// Seldom enough for the flows, and often enough for the socket's buffer.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
/// A kernel thread makes the kernel stamp packets. One without a stamp would get the time at which
/// it is read.
const UNTIL_STAMPED: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    pub at_ns: u64,
    pub bytes: u32,
    /// The port of its sender.
    pub flow: u16,
}

/// All to a port that leave in this time from soon on, in order.
pub fn during(time: Duration, port: u16) -> Result<Vec<Packet>> {
    let socket = A.run(|| packet_socket().doing("open a packet socket"))?;
    setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER_BYTES).doing("set SO_RCVBUFFORCE")?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true).doing("set SO_TIMESTAMPNS")?;
    sleep(UNTIL_STAMPED);
    A.run(|| bind(&socket, DEVICE).doing("bind a packet socket"))?;
    let mut packets = Vec::new();
    let began = Instant::now();
    while began.elapsed() < time {
        sleep(BETWEEN_LOOKS);
        // What arrives as fast as it is read shall not keep it here.
        while began.elapsed() < time && read(&socket, port, &mut packets)? {}
    }
    Ok(packets)
}

/// Reads one batch, and says whether there may be more.
fn read(socket: &OwnedFd, port: u16, packets: &mut Vec<Packet>) -> Result<bool> {
    let mut headers = [[0; HEADERS_BYTES]; BATCH];
    let mut found = [None; BATCH];
    {
        let mut messages = MultiHeaders::<()>::preallocate(BATCH, Some(cmsg_space!(TimeSpec)));
        let mut vectors = headers.each_mut().map(|header| [IoSliceMut::new(header)]);
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
        match recvmmsg(
            socket.as_raw_fd(),
            &mut messages,
            vectors.iter_mut(),
            flags,
            None,
        ) {
            Ok(messages) => {
                for (message, place) in messages.zip(&mut found) {
                    *place = Some((arrival_ns(&message), message.bytes as u32));
                }
            }
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(errno) => return Err(errno).doing("read packets that left"),
        }
    }
    let read = headers.iter().zip(&found);
    packets.extend(read.filter_map(|(header, found)| packet(header, (*found)?, port)));
    Ok(found.iter().all(Option::is_some))
}

/// `None` for one of another connection, or of the other direction.
fn packet(header: &[u8; HEADERS_BYTES], (at_ns, bytes): (u64, u32), port: u16) -> Option<Packet> {
    let (flow, dst_port) = ports(header)?;
    (dst_port == port).then_some(Packet { at_ns, bytes, flow })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_goes_to_the_receiver_counts() {
        let mut header = [0; HEADERS_BYTES];
        header[12..14].copy_from_slice(&[0x08, 0x00]);
        header[23] = 6;
        header[34..36].copy_from_slice(&40_000_u16.to_be_bytes());
        header[36..38].copy_from_slice(&5001_u16.to_be_bytes());
        let sent = Packet {
            at_ns: 7,
            bytes: 1514,
            flow: 40_000,
        };
        assert_eq!(packet(&header, (7, 1514), 5001), Some(sent));
        // An acknowledgement.
        header[34..38].rotate_left(2);
        assert_eq!(packet(&header, (8, 66), 5001), None);
    }
}
