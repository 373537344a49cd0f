//! Two hundred downloads from a web server without support for Takt, paced by a rule on its
//! port.
//!
//! The server is Python's own (`python3 -m http.server`), in `a`. The figures are those of the
//! clients in `b`: the bytes that each received, headers of HTTP included, over the time from
//! its request to its last byte.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use serde_json::json;
use takt_report::Row;
use tempfile::TempDir;

use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::listening;
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair::{self, A, B, SENDER};
use crate::experiment::root::Root;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::server_setup;
use crate::experiment::shape::Shape;

const CASE: &str = "client-http-200x400kbit";
const DOWNLOADS: usize = 200;
const RATE_BPS: u64 = 400_000;
const DURATION_S: u64 = 15;
const PORT: u16 = 80;
const FILE: &str = "film";
/// The server lets five clients wait to be accepted; they connect one by one.
const BETWEEN_CLIENTS: Duration = Duration::from_millis(10);
/// Several times the expected time of a download.
const TIME_MAX: Duration = Duration::from_secs(120);

/// `None` if the scheduler cannot express this case.
pub fn run(scheduler: Scheduler, root: &mut Root<'_>) -> Result<Option<Row>> {
    let Some(qdisc) = server_setup(scheduler, PORT, RATE_BPS) else {
        return Ok(None);
    };
    eprintln!("pacing: {}, {CASE}", scheduler.name());
    let bytes = (RATE_BPS / 8 * DURATION_S) as usize;
    let _single_frames = pair::with_single_frames()?;
    root.attach(scheduler.name(), &qdisc)?;
    let _server = Server::start(bytes)?;
    let downloads = B.run(|| download_all(bytes))?;
    Ok(Some(Row {
        scheduler: scheduler.name().to_owned(),
        case: CASE.to_owned(),
        metrics: figures(&downloads),
    }))
}

fn figures(downloads: &[Download]) -> Metrics {
    let target_bps = Shape::tcp(FILE, PORT, RATE_BPS).tcp_goodput_bps(RATE_BPS) as f64;
    let rates_bps = downloads.iter().map(Download::rate_bps);
    let error_percent = |bps: f64| (bps / target_bps - 1.0).abs() * 100.0;
    let longest = downloads.iter().map(|one| one.took).max();
    metrics([
        ("flows", json!(downloads.len())),
        ("target_bps", json!(target_bps * downloads.len() as f64)),
        ("goodput_bps", json!(rates_bps.clone().sum::<f64>())),
        (
            "flow_error_max_percent",
            json!(rates_bps.map(error_percent).fold(0.0, f64::max)),
        ),
        (
            "duration_ns",
            json!(longest.map(|longest| longest.as_nanos() as u64)),
        ),
    ])
}

/// `python3 -m http.server`, killed when this is dropped.
struct Server {
    process: Child,
    _files: TempDir,
}

impl Server {
    /// Serves one file of so many bytes.
    fn start(bytes: usize) -> Result<Self> {
        let files = tempfile::tempdir().doing("make a directory to serve")?;
        std::fs::write(files.path().join(FILE), vec![b'.'; bytes])
            .doing("write a file to serve")?;
        let process = A.run(|| {
            Command::new("python3")
                .args(["-m", "http.server", &PORT.to_string()])
                .args(["--bind", SENDER])
                .arg("--directory")
                .arg(files.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .doing("start Python's web server")
        })?;
        let server = Self {
            process,
            _files: files,
        };
        A.run(|| listening::wait_for("python3 -m http.server", PORT))?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails only if it has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client's record of its finished download.
#[derive(Debug, Clone, Copy)]
struct Download {
    bytes: usize,
    took: Duration,
}

impl Download {
    fn rate_bps(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.took.as_secs_f64()
    }
}

struct Client {
    stream: TcpStream,
    requested: Instant,
    bytes: usize,
    took: Option<Duration>,
}

impl Client {
    fn start() -> Result<Self> {
        let mut stream = TcpStream::connect((SENDER, PORT)).doing("connect to the web server")?;
        let requested = Instant::now();
        write!(stream, "GET /{FILE} HTTP/1.0\r\n\r\n").doing("ask the web server")?;
        stream
            .set_nonblocking(true)
            .doing("make a client non-blocking")?;
        Ok(Self {
            stream,
            requested,
            bytes: 0,
            took: None,
        })
    }

    /// Reads what has arrived; true when that was the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<bool> {
        match self.stream.read(buffer) {
            Ok(0) => Ok(true),
            Ok(bytes) => {
                self.bytes += bytes;
                // The server closes when its thread gets round to it; only the last byte
                // counts.
                self.took = Some(self.requested.elapsed());
                Ok(false)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error).doing("read a download"),
        }
    }
}

/// Every client at once, in one loop; each expects more than `bytes`.
fn download_all(bytes: usize) -> Result<Vec<Download>> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).doing("create an epoll")?;
    let mut clients: Vec<Client> = Vec::with_capacity(DOWNLOADS);
    let mut ended = 0;
    let mut events = [EpollEvent::empty(); 64];
    let mut buffer = vec![0; 1 << 16];
    let started = Instant::now();
    while ended < DOWNLOADS && started.elapsed() < TIME_MAX {
        if clients.len() < DOWNLOADS && started.elapsed() >= BETWEEN_CLIENTS * clients.len() as u32
        {
            let client = Client::start()?;
            let event = EpollEvent::new(EpollFlags::EPOLLIN, clients.len() as u64);
            epoll.add(&client.stream, event).doing("watch a download")?;
            clients.push(client);
        }
        let ready = match epoll.wait(&mut events, EpollTimeout::from(1_u8)) {
            Ok(ready) => ready,
            Err(Errno::EINTR) => 0,
            Err(errno) => return Err(errno).doing("wait for downloads"),
        };
        for event in &events[..ready] {
            let client = &mut clients[event.data() as usize];
            if client.read(&mut buffer)? {
                epoll.delete(&client.stream).doing("forget a download")?;
                ended += 1;
            }
        }
    }
    let downloads: Vec<Download> = clients
        .iter()
        .filter(|client| client.bytes > bytes)
        .filter_map(|client| {
            Some(Download {
                bytes: client.bytes,
                took: client.took?,
            })
        })
        .collect();
    if downloads.len() == DOWNLOADS {
        return Ok(downloads);
    }
    Err(ExperimentError::Output {
        command: "python3 -m http.server".to_owned(),
        reason: format!(
            "{} of {DOWNLOADS} downloads were complete after {} s",
            downloads.len(),
            started.elapsed().as_secs()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_download_is_the_error() {
        let download = |took_s| Download {
            bytes: 50_000,
            took: Duration::from_secs_f64(took_s),
        };
        // 400 kbit/s on the wire are 382,562 of payload.
        let figures = figures(&[download(400_000.0 / 382_562.0), download(2.0)]);
        let worst = figures["flow_error_max_percent"].as_f64().unwrap();
        assert!((worst - 47.72).abs() < 0.01, "{worst}");
    }
}
