//! Thousands of clients of one server, each with a TCP connection of its own: does each get its
//! rate?
//!
//! The server knows nothing of rates: a rule on its port gives each connection one as it appears.
//! Of the peers, fq has one rate for every flow of the device, and HTB a class for each connection,
//! which the server has to name (`SO_PRIORITY`). A client's rate is that of its payload between the
//! first and the last piece that it reads in the measured time.

use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt};
use serde_json::json;
use takt_report::Row;

use crate::experiment::beats::now_ns;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::load::{Busy, Idle};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair::{self, A, B, SENDER};
use crate::experiment::root::Root;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::{Setup, SocketOptions, server_setup, setup};
use crate::experiment::shape::{Shape, Transport};
use crate::experiment::tcp_counters;

const RATE_BPS: u64 = 100_000;
const PORT: u16 = 5004;
/// Slow start is over after this, and what went out before a rate was known.
const WARM_UP: Duration = Duration::from_secs(3);
/// A server's buffer for a connection, a second of its rate: thousands are to fit the machine.
const SEND_BUFFER_BYTES: usize = 16 << 10;
/// Reading the load figures keeps the processor busy for a moment.
const AFTER_A_LOAD_FIGURE: Duration = Duration::from_millis(500);
const PIECE_BYTES: usize = 64 << 10;
const EVENTS: usize = 64;
/// A flow is off if it is this far from its rate.
const TOLERANCE_PERCENT: f64 = 1.0;

/// How many clients, and for how long.
fn extent(short: bool) -> (usize, Duration) {
    if short {
        (200, Duration::from_secs(3))
    } else {
        (2_000, Duration::from_secs(20))
    }
}

/// `None` if the scheduler cannot express this case.
pub fn run(scheduler: Scheduler, root: &mut Root<'_>, short: bool) -> Result<Option<Row>> {
    let (clients, duration) = extent(short);
    let Some(Setup { qdisc, sockets }) = setup_of(scheduler, clients) else {
        return Ok(None);
    };
    let case = format!("clients-{clients}x100kbit");
    eprintln!("pacing: {}, {case}", scheduler.name());
    let _single_frames = pair::with_single_frames()?;
    root.attach(scheduler.name(), &qdisc)?;
    let mut crowd = Crowd::connect(&sockets)?;
    crowd.start()?;
    crowd.play(WARM_UP)?;
    let (before, idle) = (sent_again()?, Idle::now()?);
    crowd.play(AFTER_A_LOAD_FIGURE)?;
    crowd.forget();
    crowd.play(duration)?;
    let busy = Idle::now()?.since(&idle);
    Ok(Some(Row {
        scheduler: scheduler.name().to_owned(),
        metrics: figures(&case, scheduler, &crowd, sent_again()? - before, &busy)?,
        case,
    }))
}

/// A rule for all, or a class for each.
fn setup_of(scheduler: Scheduler, clients: usize) -> Option<Setup> {
    match scheduler {
        Scheduler::Htb => {
            let classes = Shape {
                transport: Transport::Tcp,
                ..Shape::udp(vec![RATE_BPS; clients])
            };
            setup(scheduler, &classes)
        }
        _ => Some(Setup {
            qdisc: server_setup(scheduler, PORT, RATE_BPS)?,
            sockets: vec![SocketOptions::default(); clients],
        }),
    }
}

fn sent_again() -> Result<u64> {
    tcp_counters::read(A, "snmp", "Tcp:", "RetransSegs")
}

fn figures(
    case: &str,
    scheduler: Scheduler,
    crowd: &Crowd,
    sent_again: u64,
    busy: &Busy,
) -> Result<Metrics> {
    let target_bps = Shape::tcp("clients", PORT, RATE_BPS).tcp_goodput_bps(RATE_BPS) as f64;
    let rates_bps: Option<Vec<f64>> = crowd.clients.iter().map(Client::rate_bps).collect();
    let rates_bps = rates_bps.ok_or_else(|| ExperimentError::Output {
        command: format!("{case} under {}", scheduler.name()),
        reason: "a client received next to nothing".to_owned(),
    })?;
    let errors_percent = { rates_bps.iter() }.map(|bps| (bps / target_bps - 1.0).abs() * 100.0);
    let is_off = |error: &f64| *error > TOLERANCE_PERCENT;
    Ok(metrics([
        ("flows", json!(rates_bps.len())),
        (
            "flow_error_max_percent",
            json!(errors_percent.clone().fold(0.0, f64::max)),
        ),
        ("flows_off", json!(errors_percent.filter(is_off).count())),
        ("target_bps", json!(target_bps * rates_bps.len() as f64)),
        ("goodput_bps", json!(rates_bps.iter().sum::<f64>())),
        ("packets_retransmitted", json!(sent_again)),
        ("duration_ns", json!(busy.elapsed.as_nanos() as u64)),
        ("idle_share_percent", json!(busy.idle_share_percent())),
    ]))
}

/// A client's end.
struct Client {
    stream: TcpStream,
    /// When it read the first and the last piece; none, and the first alone, have no rate.
    first_ns: Option<u64>,
    last_ns: u64,
    /// After the first piece.
    bytes: u64,
}

impl Client {
    fn rate_bps(&self) -> Option<f64> {
        let took_ns = self.last_ns.checked_sub(self.first_ns?)?;
        (took_ns > 0).then(|| self.bytes as f64 * 8e9 / took_ns as f64)
    }

    /// Takes what has arrived, without a look at it.
    fn read(&mut self, piece: &mut [u8]) -> Result<()> {
        let bytes = match recv(self.stream.as_raw_fd(), piece, MsgFlags::MSG_TRUNC) {
            Ok(bytes) => bytes as u64,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(()),
            Err(errno) => return Err(errno).doing("read a download"),
        };
        self.last_ns = now_ns();
        match self.first_ns {
            None => self.first_ns = Some(self.last_ns),
            Some(_) => self.bytes += bytes,
        }
        Ok(())
    }
}

/// All connections, the server's ends first, in one loop.
struct Crowd {
    epoll: Epoll,
    servers: Vec<TcpStream>,
    clients: Vec<Client>,
    piece: Vec<u8>,
}

impl Crowd {
    fn connect(sockets: &[SocketOptions]) -> Result<Self> {
        let listener = A.run(|| TcpListener::bind((SENDER, PORT)).doing("listen for clients"))?;
        let mut crowd = Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).doing("create an epoll")?,
            servers: Vec::with_capacity(sockets.len()),
            clients: Vec::with_capacity(sockets.len()),
            piece: vec![0; PIECE_BYTES],
        };
        B.run(|| {
            for options in sockets {
                let client = TcpStream::connect((SENDER, PORT)).doing("connect a client")?;
                let (server, _) = listener.accept().doing("accept a client")?;
                for stream in [&client, &server] {
                    stream
                        .set_nonblocking(true)
                        .doing("make an end non-blocking")?;
                }
                let priority = options.priority as i32;
                setsockopt(&server, sockopt::Priority, &priority).doing("set SO_PRIORITY")?;
                setsockopt(&server, sockopt::SndBuf, &SEND_BUFFER_BYTES).doing("set SO_SNDBUF")?;
                crowd.servers.push(server);
                crowd.clients.push(Client {
                    stream: client,
                    first_ns: None,
                    last_ns: 0,
                    bytes: 0,
                });
            }
            Ok(())
        })?;
        Ok(crowd)
    }

    /// The server sends to one client after the other, over the time in which each gets a packet:
    /// clients do not come at the same time.
    fn start(&mut self) -> Result<()> {
        let shape = Shape::tcp("clients", PORT, RATE_BPS);
        let packet =
            Duration::from_nanos(u64::from(shape.frame_bytes()) * 8_000_000_000 / RATE_BPS);
        let apart = packet / self.clients.len() as u32;
        for index in 0..self.clients.len() {
            let server = EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
            let client = (self.clients.len() + index) as u64;
            let events = [
                (&self.servers[index], EpollEvent::new(server, index as u64)),
                (
                    &self.clients[index].stream,
                    EpollEvent::new(EpollFlags::EPOLLIN, client),
                ),
            ];
            for (stream, event) in events {
                self.epoll.add(stream, event).doing("watch an end")?;
            }
            self.play(apart)?;
        }
        Ok(())
    }

    /// Forgets what was received.
    fn forget(&mut self) {
        for client in &mut self.clients {
            (client.first_ns, client.bytes) = (None, 0);
        }
    }

    fn play(&mut self, duration: Duration) -> Result<()> {
        let until_ns = now_ns() + duration.as_nanos() as u64;
        let mut events = [EpollEvent::empty(); EVENTS];
        while now_ns() < until_ns {
            let ready = match self.epoll.wait(&mut events, EpollTimeout::from(1_u8)) {
                Ok(ready) => ready,
                Err(Errno::EINTR) => 0,
                Err(errno) => return Err(errno).doing("wait for clients"),
            };
            for event in &events[..ready] {
                let index = event.data() as usize;
                match index.checked_sub(self.servers.len()) {
                    None => self.write(index)?,
                    Some(client) => self.clients[client].read(&mut self.piece)?,
                }
            }
        }
        Ok(())
    }

    /// Fills what room there is.
    fn write(&mut self, index: usize) -> Result<()> {
        loop {
            match self.servers[index].write(&self.piece) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).doing("send to a client"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::setup::Qdisc;

    #[test]
    fn a_class_for_each_or_a_rule_for_all() {
        let Some(Setup { qdisc, sockets }) = setup_of(Scheduler::Htb, 3) else {
            panic!("HTB can do this");
        };
        assert!(matches!(qdisc, Qdisc::Tc(lines) if lines.len() == 4));
        assert_eq!(sockets[2].priority, 0x0001_0003);
        let Some(Setup { qdisc, .. }) = setup_of(Scheduler::Takt, 3) else {
            panic!("Takt can do this");
        };
        assert!(matches!(qdisc, Qdisc::Takt(policy) if policy.contains("src_port = 5004")));
        assert!(setup_of(Scheduler::Tbf, 3).is_none());
    }
}
