//! Numbered packets from the near end of a wire to the far one.

use std::{
    io::ErrorKind,
    net::{SocketAddr, UdpSocket},
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

/// Nothing comes any more. Passes at once where time is virtual.
const SILENCE: Duration = Duration::from_secs(2);

pub struct Flow {
    sender: UdpSocket,
    receiver: UdpSocket,
    sent: u32,
}

impl Flow {
    pub fn new(wire: &Wire, port: u16) -> Self {
        Self::between("0.0.0.0", &format!("{}:{port}", wire.far_v4()))
    }

    /// From an address of ours, to one of the far end's with port.
    pub fn between(from: &str, to: &str) -> Self {
        let to: SocketAddr = to.parse().unwrap();
        let receiver = in_far_namespace(|| UdpSocket::bind(to).unwrap());
        setsockopt(&receiver, RcvBufForce, &BUFFER_BYTES).unwrap();
        receiver.set_read_timeout(Some(SILENCE)).unwrap();
        let sender = UdpSocket::bind((from, 0)).unwrap();
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

    /// The numbers of the packets that have arrived since last asked; waits
    /// until no more come.
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

/// Runs `f` in namespace b. A socket made there stays there.
pub fn in_far_namespace<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            takt_lab::guest::enter_netns("b").unwrap();
            f()
        });
        inside.join().expect("no panic in namespace b")
    })
}
