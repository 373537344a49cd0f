//! The pacing of a TCP connection: iperf3, as anyone would run it.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use takt_report::{Row, rate_error_ppm};

use super::error::{ExperimentError, Result, WhileDoing};
use super::load::Idle;
use super::metrics::{Metrics, metrics};
use super::pair::{self, A, B, RECEIVER};
use super::root::Root;
use super::scheduler::Scheduler;
use super::setup::{Setup, SocketOptions, setup};
use super::shape::{Class, Shape, Transport};

const CASE: &str = "tcp-100mbit";
const RATE_BPS: u64 = 100_000_000;
const PORT: u16 = 5201;
/// IP and TCP headers, the latter with timestamps.
const HEADER_BYTES: u32 = 20 + 32;
/// Slow start is long over after this.
const WARM_UP: Duration = Duration::from_millis(300);
/// What iperf3 runs longer than it is watched.
const AFTERWARDS: Duration = Duration::from_millis(200);
const LISTENING_TIME_MAX: Duration = Duration::from_secs(10);

/// `None` if the scheduler cannot express this case.
pub fn run(scheduler: Scheduler, root: &mut Root<'_>, short: bool) -> Result<Option<Row>> {
    let shape = Shape {
        transport: Transport::Tcp,
        classes: vec![Class {
            name: "iperf3".to_owned(),
            dst_port: PORT,
            rate_bps: RATE_BPS,
        }],
        ..Shape::udp([])
    };
    let Some(setup) = setup(scheduler, &shape) else {
        return Ok(None);
    };
    eprintln!("pacing: {}, {CASE}", scheduler.name());
    let duration = Duration::from_millis(if short { 500 } else { 7_500 });
    let _single_frames = pair::with_single_frames()?;
    root.attach(scheduler, &setup.qdisc)?;
    Ok(Some(Row {
        scheduler: scheduler.name().to_owned(),
        case: CASE.to_owned(),
        metrics: measure(&shape, scheduler, &setup, duration)?,
    }))
}

/// The rate is what came out of the cable by its own counters: frames, headers
/// and all, as the schedulers count them, acknowledgements not among them.
/// iperf3 itself counts payload, in blocks of 128 KB.
fn measure(
    shape: &Shape,
    scheduler: Scheduler,
    setup: &Setup,
    duration: Duration,
) -> Result<Metrics> {
    let _server = Server::start()?;
    let options = setup.sockets.first().copied().unwrap_or_default();
    let client = Client::start(shape, options, WARM_UP + duration + AFTERWARDS)?;
    std::thread::sleep(WARM_UP);
    let (idle, started, before) = (Idle::now()?, Instant::now(), pair::received()?);
    std::thread::sleep(duration);
    let (elapsed, after) = (started.elapsed(), pair::received()?);
    let busy = Idle::now()?.since(&idle);
    let summary = client.finish()?;

    let bytes = after.bytes - before.bytes;
    let achieved_bps = bytes as f64 * 8.0 / elapsed.as_secs_f64();
    let rate_error_ppm = rate_error_ppm(achieved_bps, RATE_BPS as f64);
    if bytes == 0 {
        return Err(ExperimentError::NoTraffic {
            scheduler: scheduler.name(),
            case: CASE.to_owned(),
            sent: 0,
            received: 0,
        });
    }
    Ok(metrics([
        ("target_bps", json!(RATE_BPS)),
        ("achieved_bps", json!(achieved_bps)),
        ("rate_error_ppm", json!(rate_error_ppm)),
        (
            "goodput_bps",
            summary["sum_received"]["bits_per_second"].clone(),
        ),
        ("packets", json!(after.frames - before.frames)),
        (
            "packets_retransmitted",
            summary["sum_sent"]["retransmits"].clone(),
        ),
        ("duration_ns", json!(elapsed.as_nanos() as u64)),
        ("idle_share_percent", json!(busy.idle_share_percent())),
    ]))
}

/// `iperf3 --server`, killed when this is dropped.
struct Server(Child);

impl Server {
    fn start() -> Result<Self> {
        let child = B.run(|| {
            iperf3()
                .args(["--server", "--one-off", "--version4"])
                .args(["--port", &PORT.to_string()])
                .stdout(Stdio::null())
                .spawn()
                .doing("start iperf3's server")
        })?;
        let server = Self(child);
        let started = Instant::now();
        while !B.run(is_listening)? {
            if started.elapsed() > LISTENING_TIME_MAX {
                return Err(ExperimentError::Output {
                    command: "iperf3 --server".to_owned(),
                    reason: format!("port {PORT} is not open after {LISTENING_TIME_MAX:?}"),
                });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended by itself if all went well; both calls are then empty.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Client(Child);

impl Client {
    fn start(shape: &Shape, options: SocketOptions, duration: Duration) -> Result<Self> {
        let child = A.run(|| {
            let mut command = iperf3();
            command
                .args(["--client", RECEIVER, "--json"])
                .args(["--port", &PORT.to_string()])
                .args(["--time", &duration.as_secs_f64().ceil().to_string()])
                .stdout(Stdio::piped());
            if let Some(bytes_per_s) = options.pacing_bytes_per_s {
                let bits_per_s = 8 * payload_rate(bytes_per_s, shape);
                command.args(["--fq-rate", &bits_per_s.to_string()]);
            }
            command.spawn().doing("start iperf3's client")
        })?;
        Ok(Self(child))
    }

    /// The end of iperf3's report.
    fn finish(self) -> Result<Value> {
        let output = self
            .0
            .wait_with_output()
            .doing("wait for iperf3's client")?;
        let mut report: Value =
            serde_json::from_slice(&output.stdout).map_err(|error| ExperimentError::Output {
                command: "iperf3 --client".to_owned(),
                reason: error.to_string(),
            })?;
        if let Some(reason) = report["error"].as_str() {
            return Err(ExperimentError::Command {
                command: "iperf3 --client".to_owned(),
                stderr: reason.to_owned(),
            });
        }
        Ok(report["end"].take())
    }
}

fn iperf3() -> Command {
    let mut command = Command::new("iperf3");
    command.stdin(Stdio::null());
    command
}

/// TCP paces its payload: who wants a rate on the wire asks for less by the
/// share of the headers.
fn payload_rate(bytes_per_s: u64, shape: &Shape) -> u64 {
    let payload_bytes = shape.packet_bytes - HEADER_BYTES;
    bytes_per_s * u64::from(payload_bytes) / u64::from(shape.frame_bytes())
}

/// Whether somebody listens on iperf3's port in this thread's namespace.
/// Trying to connect would use up the server's one session.
fn is_listening() -> Result<bool> {
    const SOCKETS: &str = "/proc/thread-self/net/tcp";
    let table = std::fs::read_to_string(SOCKETS).doing("list TCP sockets")?;
    Ok(listens(&table, PORT))
}

fn listens(table: &str, port: u16) -> bool {
    const LISTEN: &str = "0A";
    let local = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut columns = line.split_whitespace().skip(1);
        columns.next().is_some_and(|at| at.ends_with(&local)) && columns.nth(1) == Some(LISTEN)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_listening_socket_listens() {
        let table = "  sl  local_address rem_address   st\n   \
                     0: 00000000:1451 00000000:0000 0A 00000000:00000000\n   \
                     1: 0200000A:0016 0100000A:D431 01 00000000:00000000\n";
        assert!(listens(table, 5201));
        assert!(!listens(table, 22));
    }
}
