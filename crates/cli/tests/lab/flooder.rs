//! A sender of datagrams that are no reports, as fast as it can, to a port for reports.

use std::{
    io::IoSlice,
    net::UdpSocket,
    os::fd::AsRawFd,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use nix::sys::socket::{MsgFlags, MultiHeaders, sendmmsg};
use takt_wlan::{
    radio::{REPORT_BYTES, Report},
    read_key,
    sealed::{DATAGRAM_MAX_BYTES, Key, Purpose, Sender},
};

use crate::{flow::in_far_namespace, reporting::KEY};

/// The number of datagrams of each kind; they are sent again and again.
pub const OF_A_KIND: usize = 1024;
const BATCH: usize = 64;

pub type Datagrams = Vec<Vec<u8>>;

/// A member that has the group's key, or a wrong one.
pub struct Member {
    own: Report,
    sender: Sender,
}

impl Member {
    pub fn new(own: Report) -> Self {
        Self::with(own, read_key(Path::new(KEY)).unwrap())
    }

    fn with(own: Report, key: Key) -> Self {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let number = own.sender().unwrap();
        Self {
            own,
            sender: Sender::new(key, Purpose::RADIO, number, epoch.as_nanos() as u64),
        }
    }

    pub fn says(&mut self, snr_centidb: i32) -> Vec<u8> {
        let report = Report {
            snr_centidb,
            ..self.own
        };
        self.seals(&report.to_bytes())
    }

    fn seals(&mut self, body: &[u8; REPORT_BYTES]) -> Vec<u8> {
        let mut datagram = [0; DATAGRAM_MAX_BYTES];
        self.sender.seal(body, &mut datagram).unwrap().to_vec()
    }
}

/// Of any length, half of them with a valid beginning.
pub fn malformed() -> Datagrams {
    let mut turn = 1u32;
    let mut random = || {
        turn = turn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        turn >> 16
    };
    let mut make = |n: usize| {
        let length = random() as usize % 400;
        let mut bytes: Vec<u8> = (0..length).map(|_| random() as u8).collect();
        if n.is_multiple_of(2) && length >= 4 && length != 76 {
            bytes[..4].copy_from_slice(&[b'T', b'k', 1, 1]);
        }
        bytes
    };
    (0..OF_A_KIND).map(&mut make).collect()
}

/// As a report of a known member, or of an unknown one, with another key.
pub fn forged(victim: Report) -> Datagrams {
    let other_key = || Key::new(&[9; Key::BYTES]);
    let of = |n: usize| {
        let n = n as u32;
        let nobody = Report {
            mac: Some([2, 1, 0, 0, (n >> 8) as u8, n as u8]),
            ..victim
        };
        let claimed = if n.is_multiple_of(2) { victim } else { nobody };
        Member::with(claimed, other_key()).says(900)
    };
    (0..OF_A_KIND).map(of).collect()
}

/// With the key, about another member.
pub fn lies(liar: &mut Member, victim: Report) -> Datagrams {
    let report = Report {
        snr_centidb: 900,
        ..victim
    };
    let body = report.to_bytes();
    (0..OF_A_KIND).map(|_| liar.seals(&body)).collect()
}

/// Sends so many, with the kinds in turn.
pub fn flood(from: &str, to: &str, kinds: &[Datagrams], count: usize) {
    let socket = in_far_namespace(|| UdpSocket::bind(from).unwrap());
    socket.connect(to).unwrap();
    let each = |n: usize| &kinds[n % kinds.len()][n / kinds.len() % OF_A_KIND];
    let slices: Vec<[IoSlice; 1]> = (0..kinds.len() * OF_A_KIND)
        .map(|n| [IoSlice::new(each(n))])
        .collect();
    let mut headers = MultiHeaders::<()>::preallocate(BATCH, None);
    for batch in slices.chunks_exact(BATCH).cycle().take(count / BATCH) {
        let none = MsgFlags::empty();
        let sent = sendmmsg(
            socket.as_raw_fd(),
            &mut headers,
            batch,
            [None; BATCH],
            [],
            none,
        );
        assert_eq!(sent.unwrap().count(), BATCH);
    }
}
