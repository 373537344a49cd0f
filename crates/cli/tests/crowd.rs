//! The congestion control `takt` in a kernel: in the lab, or, with TAKT_TEST_CROWD=1 and root,
//! in the running one, in namespaces of its own.

mod guest;

use std::{
    env,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::fd::AsRawFd,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use takt_algo::{Group, WindowTerms};
use takt_kernel::Crowd;

const VARIABLE: &str = "TAKT_TEST_CROWD";
const PERIOD_NS: u64 = 50_000_000;

#[test]
fn bounds_move_running_flows_on_the_default_kernel() {
    run("bounds_move_running_flows_on_the_default_kernel", &[]);
}

#[test]
fn bounds_move_running_flows_on_the_newest_kernel() {
    let machine = ["--kernel", "newest"];
    run("bounds_move_running_flows_on_the_newest_kernel", &machine);
}

fn run(test: &str, machine: &[&str]) {
    if env::var_os(VARIABLE).is_some() {
        bounds_move_running_flows();
    } else {
        guest::boot(test, VARIABLE, machine);
    }
}

fn bounds_move_running_flows() {
    enter_own_namespaces();
    assert!(Crowd::open().expect("pins are read").is_none());
    let crowd = Crowd::load().unwrap_or_else(|error| panic!("{error}"));
    let flow = Flow::start("takt").expect("takt can be chosen");
    assert!(flow.reaches(|window| window > 20), "CUBIC until told");

    bound(&crowd, 4);
    assert!(flow.reaches(|window| window <= 4), "an upper bound");
    thread::sleep(Duration::from_millis(200));
    assert!(flow.window() <= 4, "and it stays");
    assert!(crowd.set(&Group::default(), 1).expect("the map takes it"));
    let usage = crowd.usage().expect("it is read").expect("it is counted");
    assert!(usage.delivered_bytes > 0 && usage.limited_periods > 0);

    bound(&crowd, 1000);
    assert!(flow.reaches(|window| window > 4), "and goes");

    bound(&crowd, 4);
    assert!(flow.reaches(|window| window <= 4));
    // Another takt takes it away.
    drop(crowd);
    let crowd = Crowd::open().expect("pins are read").expect("it is there");
    crowd.leave().expect("it is");
    assert!(
        flow.reaches(|window| window > 4),
        "goes on under CUBIC alone"
    );
    assert!(!crowd.set(&Group::default(), 1).expect("nobody is there"));
    assert_eq!(crowd.usage().expect("it is read"), None);
    crowd.unload().expect("it goes");
    assert!(Crowd::open().expect("pins are read").is_none());
    let gone = Flow::start("takt")
        .err()
        .expect("nobody can choose it any more");
    assert_eq!(gone.raw_os_error(), Some(libc::ENOENT));
}

/// Nobody's window is larger, on the loopback.
fn bound(crowd: &Crowd, window_max: u32) {
    const LOOPBACK: u32 = 1;
    crowd
        .enter(1, LOOPBACK, PERIOD_NS, &terms(window_max))
        .expect("the map takes it");
}

fn terms(window_max: u32) -> WindowTerms {
    WindowTerms::new(
        WindowTerms::STANDING_SEGMENTS,
        WindowTerms::MEMORY_SHIFT,
        window_max,
    )
}

/// A network and a BPF file system that nobody else sees.
fn enter_own_namespaces() {
    // SAFETY: no pointers.
    let left = unsafe { libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWNET) };
    assert_eq!(left, 0, "this takes root");
    for command in [
        "mount --make-rprivate /",
        "mount -t bpf bpf /sys/fs/bpf",
        // Segments of 64 KiB would be gone before a second one fits the window.
        "ip link set lo mtu 1500 up",
    ] {
        let mut words = command.split(' ');
        let done = Command::new(words.next().expect("a name"))
            .args(words)
            .status();
        assert!(done.is_ok_and(|status| status.success()), "{command}");
    }
}

/// As much as TCP takes, over the loopback.
struct Flow {
    socket: TcpStream,
    is_over: Arc<AtomicBool>,
}

impl Flow {
    fn start(congestion: &str) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let socket = TcpStream::connect(listener.local_addr()?)?;
        let (mut from, _) = listener.accept()?;
        // SAFETY: the name is there for as long as it is read.
        let set = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_CONGESTION,
                congestion.as_ptr().cast(),
                congestion.len() as u32,
            )
        };
        if set != 0 {
            return Err(std::io::Error::last_os_error());
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let (mut to, over) = (socket.try_clone()?, is_over.clone());
        thread::spawn(move || {
            let bytes = vec![0; 1 << 18];
            while !over.load(Ordering::Relaxed) && to.write_all(&bytes).is_ok() {}
        });
        thread::spawn(move || {
            let mut bytes = vec![0; 1 << 18];
            while from.read(&mut bytes).is_ok_and(|count| count > 0) {}
        });
        Ok(Self { socket, is_over })
    }

    /// Its congestion window, in segments.
    fn window(&self) -> u32 {
        // SAFETY: all zero is a value of it.
        let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
        let mut bytes = size_of::<libc::tcp_info>() as u32;
        // SAFETY: as many bytes as there are.
        let got = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &mut bytes,
            )
        };
        assert_eq!(got, 0);
        info.tcpi_snd_cwnd
    }

    fn reaches(&self, is_there: impl Fn(u32) -> bool) -> bool {
        let patience = Instant::now() + Duration::from_secs(5);
        while Instant::now() < patience {
            if is_there(self.window()) {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        eprintln!("the window is {}", self.window());
        false
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}
