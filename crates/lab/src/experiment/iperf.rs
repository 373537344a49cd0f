//! iperf3 in its usual form: a server and a client, of the pair unless said otherwise.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::error::{ExperimentError, Result, WhileDoing};
use super::listening;
use super::namespace::Namespace;
use super::pair::{A, B, RECEIVER};
use super::setup::SocketOptions;
use super::shape::Shape;

pub const PORT: u16 = 5201;

/// `iperf3 --server`, killed when this is dropped.
pub struct Server(Child);

impl Server {
    pub fn start() -> Result<Self> {
        Self::start_in(B)
    }

    pub fn start_in(namespace: Namespace) -> Result<Self> {
        let child = namespace.run(|| {
            iperf3()
                .args(["--server", "--one-off", "--version4"])
                .args(["--port", &PORT.to_string()])
                .stdout(Stdio::null())
                .spawn()
                .doing("start iperf3's server")
        })?;
        let server = Self(child);
        namespace.run(|| listening::wait_for("iperf3 --server", PORT))?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended by itself if all went well; both calls then have no effect.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub struct Client(Child);

impl Client {
    /// A stream for each flow of `shape`, which has one class.
    pub fn start(shape: &Shape, options: SocketOptions, duration: Duration) -> Result<Self> {
        let child = A.run(|| {
            let mut command = iperf3();
            command
                .args(["--client", RECEIVER, "--json"])
                .args(["--port", &PORT.to_string()])
                .args(["--time", &duration.as_secs_f64().ceil().to_string()])
                .args(["--parallel", &shape.sockets().count().to_string()])
                .stdout(Stdio::piped());
            if let Some(bytes_per_s) = options.pacing_bytes_per_s {
                // TCP paces its payload: for a rate on the wire, ask for less by the share of
                // the headers.
                let bits_per_s = shape.tcp_goodput_bps(8 * bytes_per_s);
                command.args(["--fq-rate", &bits_per_s.to_string()]);
            }
            command.spawn().doing("start iperf3's client")
        })?;
        Ok(Self(child))
    }

    /// This many streams to a server elsewhere; the warm-up is not in the report.
    pub fn start_to(
        namespace: Namespace,
        address: &str,
        streams: u32,
        warm_up: Duration,
        duration: Duration,
    ) -> Result<Self> {
        let seconds = |time: Duration| time.as_secs_f64().ceil().to_string();
        let child = namespace.run(|| {
            iperf3()
                .args(["--client", address, "--json"])
                .args(["--port", &PORT.to_string()])
                .args(["--omit", &seconds(warm_up)])
                .args(["--time", &seconds(duration)])
                .args(["--parallel", &streams.to_string()])
                .stdout(Stdio::piped())
                .spawn()
                .doing("start iperf3's client")
        })?;
        Ok(Self(child))
    }

    /// The end of iperf3's report.
    pub fn finish(self) -> Result<Value> {
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
