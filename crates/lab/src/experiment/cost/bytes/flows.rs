//! Flows that send as much as they may, and are read as cheaply as possible: what a qdisc costs shall
//! not hide behind copies. TCP sends pages of a file, as web servers do, and its receiver discards
//! them; of datagrams a byte is read.
//!
//! One thread for all senders and one for all receivers, since two thousand threads would cost more
//! than the packets.

use std::fs::File;
use std::io::{IoSliceMut, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::sendfile::sendfile;
use nix::sys::socket::{MsgFlags, MultiHeaders, recv, recvmmsg, setsockopt, sockopt};

use super::case::{Case, DATAGRAM_BYTES, PORT, Sent};
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::pair::{A, B, RECEIVER};
use crate::experiment::sink;
use crate::experiment::source;

/// Sent and read in one call.
const PIECE_BYTES: usize = 64 << 10;
/// Datagrams of one call with `UDP_SEGMENT`, and of one turn without.
const DATAGRAMS: usize = 8;
/// Datagrams read in one call.
const BATCH: usize = 64;
/// Sockets of one look.
const EVENTS: usize = 64;
/// Until a thread without work sees that it is to end.
const PATIENCE_MS: u16 = 100;

/// They send until they are stopped.
pub struct Flows {
    delivered_bytes: Arc<AtomicU64>,
    /// The senders first.
    threads: Vec<Thread>,
}

struct Thread {
    stop: Arc<AtomicBool>,
    handle: JoinHandle<Result<()>>,
}

impl Flows {
    pub fn start(case: &Case, pacing_bytes_per_s: Option<u64>) -> Result<Self> {
        let mut flows = Self {
            delivered_bytes: Arc::default(),
            threads: Vec::new(),
        };
        match case.sent {
            Sent::Tcp => flows.transfer(case.flows, pacing_bytes_per_s)?,
            Sent::Datagrams => flows.cast(case.flows, false)?,
            Sent::SegmentedDatagrams => flows.cast(case.flows, true)?,
        }
        Ok(flows)
    }

    /// Payload that receivers have read so far.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes.load(Ordering::Relaxed)
    }

    /// One after the other: no sender shall be told that its receiver is gone.
    pub fn stop(self) -> Result<()> {
        for thread in self.threads {
            thread.stop.store(true, Ordering::Relaxed);
            match thread.handle.join() {
                Ok(result) => result?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(())
    }

    fn transfer(&mut self, flows: usize, pacing_bytes_per_s: Option<u64>) -> Result<()> {
        let listener =
            B.run(|| TcpListener::bind((RECEIVER, PORT)).doing("listen for transfers"))?;
        let ends = A.run(|| {
            let open = |_| {
                let sender = TcpStream::connect((RECEIVER, PORT)).doing("connect a transfer")?;
                let (receiver, _) = listener.accept().doing("accept a transfer")?;
                for end in [&sender, &receiver] {
                    end.set_nonblocking(true)
                        .doing("make a transfer non-blocking")?;
                }
                if let Some(bytes_per_s) = pacing_bytes_per_s {
                    source::pace(&sender, bytes_per_s)?;
                }
                // What the sockets still hold would be sent beside the next measurement.
                let abort = libc::linger {
                    l_onoff: 1,
                    l_linger: 0,
                };
                setsockopt(&sender, sockopt::Linger, &abort).doing("set SO_LINGER")?;
                Ok((sender, receiver))
            };
            (0..flows).map(open).collect::<Result<Vec<_>>>()
        })?;
        let (senders, receivers): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
        let file = file()?;
        self.spawn(senders, EpollFlags::EPOLLOUT, move |sender| {
            send_piece(sender, &file)
        });
        let delivered_bytes = Arc::clone(&self.delivered_bytes);
        let mut piece = vec![0; PIECE_BYTES];
        self.spawn(receivers, EpollFlags::EPOLLIN, move |receiver| {
            let bytes = discard(receiver, &mut piece)?;
            delivered_bytes.fetch_add(bytes, Ordering::Relaxed);
            Ok(())
        });
        Ok(())
    }

    fn cast(&mut self, flows: usize, segmented: bool) -> Result<()> {
        let receiver = B.run(|| sink::listen(PORT))?;
        let open = |_| {
            let sender = UdpSocket::bind(("0.0.0.0", 0)).doing("bind a sending socket")?;
            sender
                .connect((RECEIVER, PORT))
                .doing("connect a sending socket")?;
            sender
                .set_nonblocking(true)
                .doing("make a sending socket non-blocking")?;
            if segmented {
                let bytes = DATAGRAM_BYTES as i32;
                setsockopt(&sender, sockopt::UdpGsoSegment, &bytes).doing("set UDP_SEGMENT")?;
            }
            Ok(sender)
        };
        let senders = A.run(|| (0..flows).map(open).collect::<Result<Vec<_>>>())?;
        let (calls, bytes) = if segmented {
            (1, DATAGRAMS * DATAGRAM_BYTES as usize)
        } else {
            (DATAGRAMS, DATAGRAM_BYTES as usize)
        };
        let payload = vec![0; bytes];
        self.spawn(senders, EpollFlags::EPOLLOUT, move |sender| {
            send_datagrams(sender, &payload, calls)
        });
        let delivered_bytes = Arc::clone(&self.delivered_bytes);
        self.spawn(vec![receiver], EpollFlags::EPOLLIN, move |receiver| {
            let bytes = count_datagrams(receiver)?;
            delivered_bytes.fetch_add(bytes, Ordering::Relaxed);
            Ok(())
        });
        Ok(())
    }

    /// A thread that gives each socket that is ready a turn.
    fn spawn<S: AsFd + Send + 'static>(
        &mut self,
        sockets: Vec<S>,
        ready: EpollFlags,
        mut turn: impl FnMut(&S) -> Result<()> + Send + 'static,
    ) {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let run = move || {
            let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).doing("create an epoll")?;
            for (index, socket) in sockets.iter().enumerate() {
                epoll
                    .add(socket, EpollEvent::new(ready, index as u64))
                    .doing("watch a socket")?;
            }
            let mut events = [EpollEvent::empty(); EVENTS];
            while !told.load(Ordering::Relaxed) {
                let count = match epoll.wait(&mut events, EpollTimeout::from(PATIENCE_MS)) {
                    Err(Errno::EINTR) => 0,
                    result => result.doing("wait for sockets")?,
                };
                for event in &events[..count] {
                    turn(&sockets[event.data() as usize])?;
                }
            }
            Ok(())
        };
        let handle = std::thread::spawn(run);
        self.threads.push(Thread { stop, handle });
    }
}

/// What transfers send, over and over.
fn file() -> Result<File> {
    let written = || {
        let mut file = tempfile::tempfile()?;
        file.write_all(&[0; PIECE_BYTES])?;
        Ok::<_, std::io::Error>(file)
    };
    written().doing("write the file that is sent")
}

fn send_piece(to: &TcpStream, file: &File) -> Result<()> {
    let mut from_byte = 0;
    match sendfile(to, file, Some(&mut from_byte), PIECE_BYTES) {
        Ok(_) | Err(Errno::EAGAIN) => Ok(()),
        Err(errno) => Err(errno).doing("send a transfer"),
    }
}

/// The number of bytes. With MSG_TRUNC, TCP copies none.
fn discard(from: &TcpStream, piece: &mut [u8]) -> Result<u64> {
    match recv(from.as_raw_fd(), piece, MsgFlags::MSG_TRUNC) {
        Ok(bytes) => Ok(bytes as u64),
        // The senders have ended first.
        Err(Errno::EAGAIN | Errno::ECONNRESET) => Ok(0),
        Err(errno) => Err(errno).doing("receive a transfer"),
    }
}

fn send_datagrams(to: &UdpSocket, payload: &[u8], calls: usize) -> Result<()> {
    for _ in 0..calls {
        match to.send(payload) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
            // The qdisc has dropped it.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => break,
            Err(error) => return Err(error).doing("send datagrams"),
        }
    }
    Ok(())
}

/// The number of bytes in those that have arrived. With MSG_TRUNC, the kernel says a datagram's
/// whole length.
fn count_datagrams(from: &UdpSocket) -> Result<u64> {
    let mut headers = MultiHeaders::<()>::preallocate(BATCH, None);
    let mut first = [[0; 1]; BATCH];
    let mut vectors = first.each_mut().map(|byte| [IoSliceMut::new(byte)]);
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
    match recvmmsg(
        from.as_raw_fd(),
        &mut headers,
        vectors.iter_mut(),
        flags,
        None,
    ) {
        Ok(messages) => Ok(messages.map(|message| message.bytes as u64).sum()),
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(0),
        Err(errno) => Err(errno).doing("read datagrams"),
    }
}
