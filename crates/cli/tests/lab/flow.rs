//! Numbered packets from the near end of a wire to the far one.

use std::{
    io::{self, ErrorKind, Write},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    thread,
    time::Duration,
};

use nix::sys::socket::{
    setsockopt,
    sockopt::{RcvBufForce, SndBufForce},
};

use crate::wire::Wire;

/// Room for all packets of a test.
const BUFFER_BYTES: usize = 16 << 20;

/// After so long no packet comes any more. Passes at once in virtual time.
const SILENCE: Duration = Duration::from_secs(2);

pub struct Flow {
    sender: UdpSocket,
    receiver: UdpSocket,
    sent: u32,
}

impl Flow {
    pub fn new(wire: &Wire, port: u16) -> Self {
        Self::between("0.0.0.0:0", &format!("{}:{port}", wire.far_v4()))
    }

    /// From a local address and port to those of the far end.
    pub fn between(from: &str, to: &str) -> Self {
        let to: SocketAddr = to.parse().unwrap();
        let receiver = in_far_namespace(|| UdpSocket::bind(to).unwrap());
        setsockopt(&receiver, RcvBufForce, &BUFFER_BYTES).unwrap();
        receiver.set_read_timeout(Some(SILENCE)).unwrap();
        let sender = UdpSocket::bind(from).unwrap();
        setsockopt(&sender, SndBufForce, &BUFFER_BYTES).unwrap();
        sender.connect(to).unwrap();
        Self {
            sender,
            receiver,
            sent: 0,
        }
    }

    pub fn sender(&self) -> &UdpSocket {
        &self.sender
    }

    /// Sends packets of this many bytes of payload, each with its number.
    pub fn send(&mut self, packets: u32, bytes: usize) {
        let mut payload = vec![0; bytes.max(4)];
        for _ in 0..packets {
            payload[..4].copy_from_slice(&self.sent.to_be_bytes());
            self.sender.send(&payload).unwrap();
            self.sent += 1;
        }
    }

    /// The numbers of the packets that have arrived since the last call; waits until no more come.
    pub fn arrivals(&self) -> Vec<u32> {
        let mut numbers = Vec::new();
        let mut payload = [0; 65536];
        loop {
            match self.receiver.recv(&mut payload) {
                Ok(_) => numbers.push(u32::from_be_bytes(payload[..4].try_into().unwrap())),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return numbers,
                Err(error) => panic!("receiving: {error}"),
            }
        }
    }
}

/// Sends so many bytes to an address and port of the far end, and waits until
/// they have arrived.
pub fn send_by_tcp(to: &str, bytes: usize) {
    let listener = in_far_namespace(|| TcpListener::bind(to).unwrap());
    thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            io::copy(&mut stream, &mut io::sink()).unwrap()
        });
        let mut stream = TcpStream::connect(to).unwrap();
        stream.write_all(&vec![0; bytes]).unwrap();
        drop(stream);
        assert_eq!(receiving.join().unwrap(), bytes as u64);
    });
}

/// Runs `f` in namespace b. A socket made there stays there.
pub fn in_far_namespace<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    in_namespace("b", f)
}

/// The same, in another namespace.
pub fn in_namespace<T: Send>(netns: &str, f: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            takt_lab::guest::enter_netns(netns).unwrap();
            f()
        });
        inside.join().expect("no panic in a namespace")
    })
}
