//! From arbitrary UDP input to a link's table: only a station's own report about itself gets
//! into the table.

use std::{
    net::{Ipv4Addr, UdpSocket},
    sync::{Arc, Mutex},
    thread::sleep,
    time::Duration,
};

use proptest::prelude::*;
use takt_policy::parse;
use takt_wlan::{
    radio::Report,
    sealed::{DATAGRAM_MAX_BYTES, Key, Purpose, Sender},
};

use super::{
    tests::{FakeTable, INTERVAL_NS, Kernel, there},
    *,
};

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
const EPOCH: u64 = 1000;

#[derive(Debug, Clone)]
enum Come {
    /// The station's own report.
    Report(i32),
    /// Its next report, with some bits changed.
    Changed(usize),
    Cut(usize),
    Longer(Vec<u8>),
    /// A report that it sent before.
    Again(usize),
    /// In its name, with another key.
    Forged {
        epoch: u64,
        snr_centidb: i32,
    },
    /// By another member, in its name.
    Lie(i32),
    /// With the key and in its name, but no report.
    NoReport(Vec<u8>),
    Wild(Vec<u8>),
}

fn come() -> impl Strategy<Value = Come> {
    let bytes = |most: usize| prop::collection::vec(any::<u8>(), 0..most);
    let snr = -2000..6001i32;
    prop_oneof![
        4 => snr.clone().prop_map(Come::Report),
        3 => any::<usize>().prop_map(Come::Changed),
        1 => any::<usize>().prop_map(Come::Cut),
        1 => bytes(400).prop_map(Come::Longer),
        3 => any::<usize>().prop_map(Come::Again),
        2 => (0..2 * EPOCH, snr.clone())
            .prop_map(|(epoch, snr_centidb)| Come::Forged { epoch, snr_centidb }),
        2 => snr.prop_map(Come::Lie),
        1 => bytes(33).prop_map(Come::NoReport),
        2 => bytes(400).prop_map(Come::Wild),
    ]
}

fn own(snr_centidb: i32) -> Report {
    Report {
        mac: Some([2, 0, 0, 0, 0, 1]),
        v4: Some(HERE),
        v6: None,
        snr_centidb,
    }
}

fn sender(key: u8, last: u8, epoch: u64) -> Sender {
    let mac = Some([2, 0, 0, 0, 0, last]);
    let number = Report { mac, ..own(0) }.sender().unwrap();
    Sender::new(Key::new(&[key; Key::BYTES]), Purpose::RADIO, number, epoch)
}

fn seal(sender: &mut Sender, body: &[u8]) -> Vec<u8> {
    let mut datagram = [0; DATAGRAM_MAX_BYTES];
    sender.seal(body, &mut datagram).unwrap().to_vec()
}

/// The air of one station: a receiving cell, and a sender.
struct Air {
    cell: Cell,
    kernel: Arc<Mutex<Kernel>>,
    socket: UdpSocket,
    now_ns: u64,
}

impl Air {
    fn new() -> Self {
        let free = UdpSocket::bind((HERE, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let text = "[link.a]\nrate = \"1mbit\"\n[radio]\nkey_file = \"k\"\nsmoothing = 1\n\
                    decay = 1\npoints = [[0, 0.0], [10, 1.0]]\n";
        let radio = parse("p.toml", text).unwrap().radio.unwrap();
        let kernel = Arc::new(Mutex::new(there()));
        let table = Arc::clone(&kernel);
        let open_source = move || -> Result<Box<dyn Source>, String> {
            let key = Key::new(&[1; Key::BYTES]);
            let reports = Reports::listen(port, key, INTERVAL_NS);
            Ok(Box::new(reports.map_err(|error| error.to_string())?))
        };
        let open_table = move |_: &str| -> Result<Box<dyn Table>, String> {
            Ok(Box::new(FakeTable(Arc::clone(&table))))
        };
        let devices = ["a".to_owned()];
        let mut cell = Cell::new(
            &radio,
            &devices,
            Box::new(open_source),
            Box::new(open_table),
        );
        let now_ns = 1 << 40;
        cell.step(now_ns).1.unwrap();
        let socket = UdpSocket::bind((HERE, 0)).unwrap();
        socket.connect((HERE, port)).unwrap();
        Self {
            cell,
            kernel,
            socket,
            now_ns,
        }
    }

    /// The table, one interval after this input.
    fn after(&mut self, datagram: &[u8]) -> Vec<(String, u32)> {
        self.socket.send(datagram).unwrap();
        // The kernel delivers over the loopback at once; this is for slow hosts.
        sleep(Duration::from_millis(1));
        self.now_ns += INTERVAL_NS;
        if let Err(problem) = self.cell.step(self.now_ns).1 {
            assert!(problem.contains("so all weigh 1"), "{problem}");
        }
        let kernel = self.kernel.lock().unwrap();
        kernel.weights.clone().into_iter().collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn only_a_stations_own_word_reaches_the_table(all in prop::collection::vec(come(), 1..40)) {
        let mut air = Air::new();
        let (mut station, mut liar) = (sender(1, 1, EPOCH), sender(1, 2, EPOCH));
        let mut sent: Vec<Vec<u8>> = Vec::new();
        let mut expected = Vec::new();
        for come in all {
            let next = |station: &mut Sender| seal(station, &own(900).to_bytes());
            let datagram = match come {
                Come::Report(snr_centidb) => {
                    let weight_ppm = snr_centidb.clamp(0, 1000) as u32 * 1000;
                    expected = vec![(HERE.to_string(), weight_ppm)];
                    sent.push(seal(&mut station, &own(snr_centidb).to_bytes()));
                    sent.last().unwrap().clone()
                }
                Come::Changed(bit) => {
                    let mut datagram = next(&mut station);
                    let bit = bit % (datagram.len() * 8);
                    datagram[bit / 8] ^= 1 << (bit % 8);
                    datagram
                }
                Come::Cut(length) => {
                    let mut datagram = next(&mut station);
                    datagram.truncate(length % datagram.len());
                    datagram
                }
                Come::Longer(more) if more.is_empty() => continue,
                Come::Longer(more) => [next(&mut station), more].concat(),
                Come::Again(_) if sent.is_empty() => continue,
                Come::Again(which) => sent[which % sent.len()].clone(),
                Come::Forged { epoch, snr_centidb } => {
                    seal(&mut sender(9, 1, epoch), &own(snr_centidb).to_bytes())
                }
                Come::Lie(snr_centidb) => seal(&mut liar, &own(snr_centidb).to_bytes()),
                Come::NoReport(body) => seal(&mut station, &body),
                Come::Wild(bytes) => bytes,
            };
            prop_assert_eq!(&air.after(&datagram), &expected);
        }
        let heard = air.cell.said().and_then(|heard| heard.datagrams).unwrap();
        prop_assert_eq!(heard.heard, sent.len() as u64);
        prop_assert_eq!(heard.dropped, 0);
    }
}
