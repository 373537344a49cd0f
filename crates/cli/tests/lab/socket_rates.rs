//! Links on rates of sockets: the backend `flow`, which fq keeps.

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    os::fd::AsRawFd,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nix::sys::socket::{setsockopt, sockopt::SndBufForce};

use crate::{
    flow::in_far_namespace,
    kernel_bpf::Held,
    machine::{DEFAULT, NEWEST, on_old_kernels},
    shell::run,
    takt::{apply, apply_with, assert_no_trace, link, status, takt},
    wire::Wire,
};

/// What a full segment has of payload, and on the wire.
const PAYLOAD_V4: u64 = 1448;
const PAYLOAD_V6: u64 = 1428;
const FRAME: u64 = 1514;

const SEND_BUFFER_BYTES: usize = 1 << 20;

/// A connection that is older than the policy may send 64 KB at once: no more than 0.6 % of this.
const WINDOW: Duration = Duration::from_secs(12);

const NOT_LIMITED: u64 = u64::MAX;
const PINS: &str = "/sys/fs/bpf/takt-flow";
const RECORDS: &str = "/run/takt/stock";

fn policy(matches: &str, mbit: u64) -> String {
    format!(
        "[link.near1]\nbackend = \"flow\"\nrate = \"1gbit\"\n\
         [[link.near1.class]]\nname = \"paced\"\nrate = \"{mbit}mbit\"\nper_flow = true\n\
         aqm = \"off\"\nbest_effort = true\nmatch = {matches}\n\
         [[link.near1.class]]\nname = \"default\"\nbest_effort = true\n"
    )
}

const BY_PORT: &str = "{ proto = \"tcp\", dst_port = \"5001-5009\" }";

/// In bytes/s, of payload.
fn rate_of(mbit: u64, payload: u64) -> u64 {
    mbit * 125_000 * payload / FRAME
}

/// A connection to the far end, which always has something to send once it has begun.
struct Connection {
    stream: TcpStream,
    received: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Connection {
    fn to(address: &str) -> Self {
        let listener = in_far_namespace(|| TcpListener::bind(address).unwrap());
        let stream = TcpStream::connect(address).unwrap();
        let (far, _) = listener.accept().unwrap();
        let received = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&received);
        let receiving = thread::spawn(move || receive(far, &counted));
        Self {
            stream,
            received,
            stop: Arc::default(),
            threads: vec![receiving],
        }
    }

    fn begin(&mut self) {
        let mut stream = self.stream.try_clone().unwrap();
        // Full segments always wait, whenever the writer has its turn.
        setsockopt(&stream, SndBufForce, &SEND_BUFFER_BYTES).unwrap();
        let stop = Arc::clone(&self.stop);
        self.threads.push(thread::spawn(move || {
            while !stop.load(Relaxed) && stream.write_all(&[0; 16 << 10]).is_ok() {}
        }));
    }

    /// SO_MAX_PACING_RATE, as its application sees it.
    fn rate(&self) -> u64 {
        let mut rate = 0u64;
        let mut bytes = size_of::<u64>() as u32;
        // SAFETY: an open socket, and a number of the size that is said.
        let done = unsafe {
            libc::getsockopt(
                self.stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MAX_PACING_RATE,
                (&raw mut rate).cast(),
                &raw mut bytes,
            )
        };
        assert_eq!((done, bytes), (0, 8));
        rate
    }

    fn ask_for(&self, rate: u64) {
        // SAFETY: an open socket, and a number of the size that is said.
        let done = unsafe {
            libc::setsockopt(
                self.stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MAX_PACING_RATE,
                (&raw const rate).cast(),
                size_of::<u64>() as u32,
            )
        };
        assert_eq!(done, 0);
    }
}

fn receive(mut far: TcpStream, received: &AtomicU64) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match far.read(&mut buffer) {
            Ok(0) => return,
            Ok(bytes) => {
                received.fetch_add(bytes as u64, Relaxed);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What each receives meanwhile, in bytes/s of payload.
fn received_meanwhile(connections: &[&Connection]) -> Vec<f64> {
    let now = || -> Vec<u64> {
        let counts = connections.iter().map(|one| one.received.load(Relaxed));
        counts.collect()
    };
    let (began, before) = (Instant::now(), now());
    thread::sleep(WINDOW);
    let (seconds, after) = (began.elapsed().as_secs_f64(), now());
    let received = after.iter().zip(&before);
    received
        .map(|(after, before)| (after - before) as f64 / seconds)
        .collect()
}

fn rates_are_kept(wire: &Wire) {
    let other_wire = Wire::new(2);
    let held = Held::now();
    let to = |port: u16| format!("{}:{port}", wire.far_v4());
    let mut before = Connection::to(&to(5001));
    let slow = Connection::to(&to(5002));
    slow.ask_for(100_000);
    let fast = Connection::to(&to(5003));
    fast.ask_for(50_000_000);
    let elsewhere = Connection::to(&format!("{}:5001", other_wire.far_v4()));
    let unmatched = Connection::to(&to(6001));

    apply(&policy(BY_PORT, 8)).says(&["attached (flow)"]).ok();
    apply(&policy(BY_PORT, 8)).says(&["unchanged (flow)"]).ok();
    takt("status")
        .says(&["backend: flow", "not kept: no rate is guaranteed"])
        .ok();
    let mut new = Connection::to(&to(5004));
    let v6 = Connection::to(&format!("[{}]:5005", wire.far_v6()));
    let wanted = rate_of(8, PAYLOAD_V4);
    for paced in [&before, &fast, &new] {
        assert!(paced.rate().abs_diff(wanted) <= 1, "{}", paced.rate());
    }
    assert!(v6.rate().abs_diff(rate_of(8, PAYLOAD_V6)) <= 1);
    assert_eq!(slow.rate(), 100_000);
    for free in [&elsewhere, &unmatched] {
        assert_eq!(free.rate(), NOT_LIMITED);
    }

    before.begin();
    new.begin();
    thread::sleep(Duration::from_millis(500));
    let counted = link("near1");
    // The receivers read what came while takt had the processor.
    thread::sleep(Duration::from_millis(500));
    for rate in received_meanwhile(&[&before, &new]) {
        let error = rate / wanted as f64 - 1.0;
        println!("{:.0} ppm", error * 1e6);
        assert!(error.abs() < 0.01, "{rate} of {wanted}");
    }
    let (class, counted) = (link("near1"), counted.class("paced").sent_bytes);
    let class = class.class("paced");
    assert_eq!(class.flows, 5);
    let sent = (class.sent_bytes - counted) as f64;
    // Both at 8 Mbit/s within the 1 % of above, for as long as was measured and waited, and takt took
    // to read it.
    assert!((24.75e6..26.6e6).contains(&sent), "{sent}");

    apply(&policy(BY_PORT, 4)).says(&["updated (flow)"]).ok();
    assert!(new.rate().abs_diff(rate_of(4, PAYLOAD_V4)) <= 1);
    assert!(link("near1").class("paced").sent_bytes >= class.sent_bytes);
    drop(new);
    let after = link("near1");
    assert!(after.class("paced").sent_bytes >= class.sent_bytes);
    assert_eq!(after.flow_totals.created, 5);

    takt("revert").says(&["near1: given back"]).ok();
    for (connection, own) in [
        (&before, NOT_LIMITED),
        (&slow, 100_000),
        (&fast, 50_000_000),
        (&v6, NOT_LIMITED),
        (&elsewhere, NOT_LIMITED),
    ] {
        assert_eq!(connection.rate(), own);
    }
    assert_eq!(wire.root_qdisc(), "qdisc noqueue 0: root");
    assert_no_trace();
    drop((before, slow, fast, v6));
    held.wait_until_back();
}

#[test]
fn rates_are_kept_on_old_kernels() {
    on_old_kernels(|| rates_are_kept(&Wire::new(1)));
}

#[test]
fn rates_are_kept_where_the_policy_demands_it() {
    DEFAULT.run(|| rates_are_kept(&Wire::new(1)));
}

#[test]
fn rates_are_kept_on_the_newest_kernel() {
    NEWEST.run(|| rates_are_kept(&Wire::new(1)));
}

/// The only file of this name in a directory of the only link.
fn only(dir: &str, name: &str) -> PathBuf {
    let mut links = fs::read_dir(dir).unwrap();
    let link = links.next().expect("a link").unwrap().path();
    assert!(links.next().is_none());
    link.join(name)
}

#[test]
fn the_next_takt_completes_what_a_dead_one_began() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        let connection = Connection::to(&format!("{}:5001", wire.far_v4()));
        let policy = policy(BY_PORT, 8);
        let wanted = rate_of(8, PAYLOAD_V4);
        // It died while it gave rates back: sockets still have some.
        for next in ["apply", "revert"] {
            apply(&policy).ok();
            fs::remove_file(only(PINS, "event")).unwrap();
            let (links, _) = status();
            assert!(!links[0].attached);
            match next {
                "apply" => {
                    apply(&policy).says(&["attached (flow)"]).ok();
                    assert!(connection.rate().abs_diff(wanted) <= 1);
                }
                _ => {
                    takt("revert").ok();
                    assert_eq!(connection.rate(), NOT_LIMITED);
                    assert_no_trace();
                }
            }
        }
        // It died before existing sockets had rates.
        apply(&policy).ok();
        fs::remove_file(only(RECORDS, "stood")).unwrap();
        connection.ask_for(NOT_LIMITED);
        apply(&policy).says(&["attached (flow)"]).ok();
        assert!(connection.rate().abs_diff(wanted) <= 1);
        takt("revert").ok();
        assert_eq!(connection.rate(), NOT_LIMITED);
        assert_no_trace();
    });
}

#[test]
fn owners_of_sockets_are_known() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        let before = Connection::to(&format!("{}:7001", wire.far_v4()));
        let rate = rate_of(8, PAYLOAD_V4);
        for (user, wanted) in [(0, rate), (12345, NOT_LIMITED)] {
            let matches = format!("{{ proto = \"tcp\", user = {user} }}");
            apply(&policy(&matches, 8)).ok();
            let new = Connection::to(&format!("{}:7002", wire.far_v4()));
            for connection in [&before, &new] {
                let found = connection.rate();
                assert!(found.abs_diff(wanted) <= 1, "{user}: {found}");
            }
        }
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn a_link_moves_between_rates_on_sockets_and_other_backends() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        run("tc qdisc add dev near1 root handle 1: pfifo limit 77").ok();
        let found = wire.root_qdisc();
        let connection = Connection::to(&format!("{}:5001", wire.far_v4()));
        let paced = policy(BY_PORT, 8);
        apply_with("--replace", &paced).ok();
        for backend in ["departure", "flow", "takt", "flow", "tree", "flow"] {
            apply(&paced.replace("\"flow\"", &format!("\"{backend}\""))).ok();
            let (links, code) = status();
            assert_eq!((links.len(), code), (1, Some(0)), "{backend}");
            assert_eq!(links[0].backend, backend);
            // Elsewhere the class has its pace, and its sockets a higher one for short segments.
            let (found, pace) = (connection.rate(), rate_of(8, PAYLOAD_V4));
            match backend {
                "flow" => assert!(found.abs_diff(pace) <= 1, "{found}"),
                _ => assert!(found > pace && found < 2 * pace, "{backend}: {found}"),
            }
            wire.assert_passes();
        }
        takt("revert").ok();
        assert_eq!(wire.root_qdisc(), found);
        assert_eq!(connection.rate(), NOT_LIMITED);
        assert_no_trace();
    });
}
