//! Rejected datagrams handled per second: `cargo bench -p takt-wlan`.

use std::{
    hint::black_box,
    net::IpAddr,
    time::{Duration, Instant},
};

use takt_wlan::{
    Rate,
    sealed::{BODY_MAX_BYTES, DATAGRAM_MAX_BYTES, Key, Purpose, Receiver, Sender},
};

const BODY_BYTES: usize = 32;
const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

fn main() {
    let sealed = |key: u8, sender: u64| {
        let mut datagram = [0; DATAGRAM_MAX_BYTES];
        let mut sender = Sender::new(Key::new(&[key; 32]), Purpose::RADIO, sender, 1);
        let length = sender.seal(&[0; BODY_BYTES], &mut datagram);
        let length = length.map_or(0, <[u8]>::len);
        datagram[..length].to_vec()
    };
    measure("malformed", &[0; 76], 0);
    measure("replayed", &sealed(1, 5), 0);
    measure("forged, one source, by the real clock", &sealed(2, 9), 1);
    // The limits do not apply: every datagram is checked.
    measure("forged, without limits", &sealed(2, 9), 1_000_000_000);
}

/// The test's clock runs faster than the real one by this factor, so that limits expire sooner.
fn measure(what: &str, datagram: &[u8], speed: u64) {
    let rate = Rate::once_per(200_000_000);
    let bodies = BODY_BYTES..=BODY_BYTES;
    let mut receiver = Receiver::new(Key::new(&[1; 32]), Purpose::RADIO, bodies, rate);
    let mut body = [0; BODY_MAX_BYTES];
    let _ = receiver.open(0, HOME, datagram, &mut body);
    let (start, mut count) = (Instant::now(), 0u64);
    while start.elapsed() < Duration::from_secs(1) {
        for _ in 0..1000 {
            let now_ns = match speed {
                1 => start.elapsed().as_nanos() as u64,
                speed => count * speed,
            };
            let _ = black_box(receiver.open(now_ns, HOME, black_box(datagram), &mut body));
            count += 1;
        }
    }
    let each_ns = start.elapsed().as_nanos() as f64 / count as f64;
    println!(
        "{what:<40} {:>6.2} million/s  {each_ns:>7.1} ns each",
        1000.0 / each_ns
    );
}
