//! A sender on each processor.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::pair::{self, A, RECEIVER};
use crate::experiment::setup::SocketOptions;
use crate::experiment::shape::FIRST_PORT;
use crate::experiment::source::configure;

/// Once everything that was slow at first has happened.
const WARM_UP: Duration = Duration::from_millis(300);

/// Frames and bytes that arrived in a time.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    pub frames: u64,
    pub bytes: u64,
    pub elapsed: Duration,
}

impl Arrived {
    pub fn frames_per_s(&self) -> f64 {
        self.frames as f64 / self.elapsed.as_secs_f64()
    }
}

/// Sends datagrams of this size from all processors to the first class's port for that long.
pub fn send(
    processors: &[usize],
    options: &SocketOptions,
    payload_bytes: usize,
    length: Duration,
) -> Result<Arrived> {
    let stop = Arc::new(AtomicBool::new(false));
    let senders: Vec<JoinHandle<Result<()>>> = processors
        .iter()
        .map(|processor| start(*processor, options, payload_bytes, Arc::clone(&stop)))
        .collect::<Result<_>>()?;
    let measured = measure(length);
    stop.store(true, Ordering::Relaxed);
    for sender in senders {
        match sender.join() {
            Ok(done) => done?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    measured
}

fn measure(length: Duration) -> Result<Arrived> {
    thread::sleep(WARM_UP);
    let (begun, before) = (Instant::now(), pair::received()?);
    thread::sleep(length);
    let (elapsed, after) = (begun.elapsed(), pair::received()?);
    Ok(Arrived {
        frames: after.frames - before.frames,
        bytes: after.bytes - before.bytes,
        elapsed,
    })
}

fn start(
    processor: usize,
    options: &SocketOptions,
    payload_bytes: usize,
    stop: Arc<AtomicBool>,
) -> Result<JoinHandle<Result<()>>> {
    let socket = A.run(|| {
        let socket = UdpSocket::bind("0.0.0.0:0").doing("open a socket")?;
        socket.connect((RECEIVER, FIRST_PORT)).doing("connect it")?;
        // A full queue holds the sender, but not beyond the end.
        socket
            .set_write_timeout(Some(Duration::from_millis(100)))
            .doing("bound its waits")?;
        configure(&socket, options)?;
        Ok::<_, ExperimentError>(socket)
    })?;
    Ok(thread::spawn(move || {
        let mut own = CpuSet::new();
        own.set(processor)
            .and_then(|()| sched_setaffinity(Pid::from_raw(0), &own))
            .doing("stay on a processor")?;
        let payload = vec![0; payload_bytes];
        while !stop.load(Ordering::Relaxed) {
            // What a qdisc drops is an error to the sender, and what it holds back a timeout.
            let _ = socket.send(&payload);
        }
        Ok(())
    }))
}
