//! The client asks all servers, and again when it has all answers. One loop for both ends, as in
//! [`traffic`](crate::experiment::traffic).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::case::Case;
use super::network::{CLIENT, SERVERS, server_address};
use crate::experiment::beats::now_ns;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};

pub const PORT: u16 = 9_000;
pub const REQUEST_BYTES: usize = 100;
/// The mean time that a server thinks.
const THINK_NS: u64 = 200_000;
/// After several timeouts one after the other, a round has failed.
const ROUND_TIME_MAX: Duration = Duration::from_secs(120);
/// Taken at once.
const PIECE_BYTES: usize = 256 << 10;
const EVENTS: usize = 64;
/// The timer's token; servers have their index, and then come the client's ends.
const TIMER: u64 = u64::MAX;

/// The ends of a connection.
struct Server {
    stream: TcpStream,
    asked_bytes: usize,
    /// Of the answer.
    unsent_bytes: usize,
}

struct Client {
    stream: TcpStream,
    missing_bytes: usize,
}

/// How long the client waited, in the rounds until now.
#[derive(Debug, Clone, Default)]
pub struct Waited {
    /// For each round.
    pub rounds_ns: Vec<u64>,
    /// For each answer, from the beginning of its round on.
    pub answers_ns: Vec<u64>,
}

pub struct Rounds {
    epoll: Epoll,
    timer: TimerFd,
    servers: Vec<Server>,
    clients: Vec<Client>,
    /// Servers that think, and until when.
    thinking: BinaryHeap<Reverse<(u64, usize)>>,
    random: Pcg64Mcg,
    piece: Vec<u8>,
    answer_bytes: usize,
}

impl Rounds {
    /// Connects the client to all servers. The seed draws how long servers think.
    pub fn connect(case: Case, congestion_control: &str, seed: u64) -> Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).doing("create an epoll")?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)
            .doing("create a timer")?;
        let readable = EpollEvent::new(EpollFlags::EPOLLIN, TIMER);
        epoll.add(&timer, readable).doing("watch a timer")?;
        let mut rounds = Self {
            epoll,
            timer,
            servers: Vec::new(),
            clients: Vec::new(),
            thinking: BinaryHeap::new(),
            random: Pcg64Mcg::seed_from_u64(seed),
            piece: vec![0; PIECE_BYTES],
            answer_bytes: case.answer_bytes(),
        };
        let listeners = SERVERS.run(|| {
            let listen = |host| TcpListener::bind((server_address(host), PORT));
            let all: std::io::Result<Vec<_>> = (1..=case.hosts()).map(listen).collect();
            all.doing("listen for a client")
        })?;
        let connections = CLIENT.run(|| {
            { listeners.iter().cycle().take(case.servers) }
                .map(|listener| {
                    let address = listener.local_addr().doing("read an address")?;
                    let client = TcpStream::connect(address).doing("connect to a server")?;
                    let (server, _) = listener.accept().doing("accept a client")?;
                    Ok((client, server))
                })
                .collect::<Result<Vec<_>>>()
        })?;
        for (client, server) in connections {
            rounds.add(client, server, congestion_control)?;
        }
        rounds.watch()?;
        Ok(rounds)
    }

    fn add(&mut self, client: TcpStream, server: TcpStream, control: &str) -> Result<()> {
        for stream in [&client, &server] {
            stream
                .set_nonblocking(true)
                .doing("make an end non-blocking")?;
            setsockopt(stream, sockopt::TcpCongestion, &control.into())
                .doing("choose a congestion control")?;
            // Closed, it is gone, with all that it still had to send.
            let at_once = libc::linger {
                l_onoff: 1,
                l_linger: 0,
            };
            setsockopt(stream, sockopt::Linger, &at_once).doing("set SO_LINGER")?;
        }
        self.servers.push(Server {
            stream: server,
            asked_bytes: 0,
            unsent_bytes: 0,
        });
        self.clients.push(Client {
            stream: client,
            missing_bytes: 0,
        });
        Ok(())
    }

    fn watch(&self) -> Result<()> {
        let both = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        let servers = { self.servers.iter() }.map(|server| (&server.stream, both));
        let clients = { self.clients.iter() }.map(|client| (&client.stream, EpollFlags::EPOLLIN));
        for (token, (stream, flags)) in (0..).zip(servers.chain(clients)) {
            let event = EpollEvent::new(flags, token);
            self.epoll.add(stream, event).doing("watch an end")?;
        }
        Ok(())
    }

    /// Asks all, and returns when all have answered.
    pub fn play(&mut self, waited: &mut Waited) -> Result<()> {
        let began_ns = now_ns();
        for client in &mut self.clients {
            client.missing_bytes = self.answer_bytes;
            // A request is short, and the last one has been answered.
            client
                .stream
                .write_all(&[0; REQUEST_BYTES])
                .doing("ask a server")?;
        }
        let mut missing = self.clients.len();
        let mut events = [EpollEvent::empty(); EVENTS];
        while missing > 0 {
            let ready = match self.epoll.wait(&mut events, EpollTimeout::from(1_000_u16)) {
                Ok(ready) => ready,
                Err(Errno::EINTR) => 0,
                Err(errno) => return Err(errno).doing("wait for answers"),
            };
            for event in &events[..ready] {
                if self.handle(event.data())? {
                    waited.answers_ns.push(now_ns() - began_ns);
                    missing -= 1;
                }
            }
            if now_ns() - began_ns > ROUND_TIME_MAX.as_nanos() as u64 {
                return Err(self.unanswered(missing));
            }
        }
        waited.rounds_ns.push(now_ns() - began_ns);
        Ok(())
    }

    /// True if an answer is complete.
    fn handle(&mut self, token: u64) -> Result<bool> {
        if token == TIMER {
            self.answer_those_due()?;
            return Ok(false);
        }
        let index = token as usize;
        match index.checked_sub(self.servers.len()) {
            None => {
                self.hear(index)?;
                self.servers[index].send(&self.piece)?;
                Ok(false)
            }
            Some(client) => self.clients[client].read(&mut self.piece),
        }
    }

    /// A server that has its whole request thinks.
    fn hear(&mut self, index: usize) -> Result<()> {
        let server = &mut self.servers[index];
        server.asked_bytes += match server.stream.read(&mut [0; REQUEST_BYTES]) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error).doing("read a request"),
        };
        if server.asked_bytes < REQUEST_BYTES {
            return Ok(());
        }
        server.asked_bytes = 0;
        let until_ns = now_ns() + self.random.random_range(1..2 * THINK_NS);
        self.thinking.push(Reverse((until_ns, index)));
        self.set_timer()
    }

    fn answer_those_due(&mut self) -> Result<()> {
        self.timer.wait().doing("read a timer")?;
        while let Some(&Reverse((until_ns, index))) = self.thinking.peek()
            && until_ns <= now_ns()
        {
            self.thinking.pop();
            let server = &mut self.servers[index];
            server.unsent_bytes = self.answer_bytes;
            server.send(&self.piece)?;
        }
        self.set_timer()
    }

    fn set_timer(&self) -> Result<()> {
        let Some(&Reverse((until_ns, _))) = self.thinking.peek() else {
            return Ok(());
        };
        let until = TimeSpec::from_duration(Duration::from_nanos(until_ns));
        let once = Expiration::OneShot(until);
        self.timer
            .set(once, TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            .doing("set a timer")
    }

    fn unanswered(&self, missing: usize) -> ExperimentError {
        ExperimentError::Output {
            command: "a round of requests".to_owned(),
            reason: format!(
                "{missing} of {} answers were missing after {} s",
                self.clients.len(),
                ROUND_TIME_MAX.as_secs()
            ),
        }
    }
}

impl Server {
    /// Fills what room there is.
    fn send(&mut self, piece: &[u8]) -> Result<()> {
        while self.unsent_bytes > 0 {
            let piece = &piece[..self.unsent_bytes.min(piece.len())];
            match self.stream.write(piece) {
                Ok(bytes) => self.unsent_bytes -= bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).doing("send an answer"),
            }
        }
        Ok(())
    }
}

impl Client {
    /// Takes what has arrived, without a look at it; true if that is the end of the answer.
    fn read(&mut self, piece: &mut [u8]) -> Result<bool> {
        let bytes = match recv(self.stream.as_raw_fd(), piece, MsgFlags::MSG_TRUNC) {
            Ok(bytes) => bytes,
            Err(Errno::EAGAIN | Errno::EINTR) => 0,
            Err(errno) => return Err(errno).doing("receive an answer"),
        };
        self.missing_bytes -= bytes;
        Ok(bytes > 0 && self.missing_bytes == 0)
    }
}
