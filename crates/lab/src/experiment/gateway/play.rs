//! One event loop for both ends of everything but pages: on one processor, threads would only
//! add task switches.

use std::ops::Range;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::stream::{PIECE_BYTES, Stream};
use super::talk::Talk;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::sink::Reader;
use crate::experiment::traffic::receive_clock_ns;

const EVENTS: usize = 64;

pub struct Play {
    epoll: Epoll,
    pub talks: Vec<Talk>,
    pub streams: Vec<Stream>,
    piece: Vec<u8>,
    reader: Reader,
}

/// What an event is about, as an epoll's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ready {
    Tick(usize),
    Writable(usize),
    Readable(usize),
}

impl Ready {
    fn token(self) -> u64 {
        let (kind, index) = match self {
            Self::Tick(index) => (0, index),
            Self::Writable(index) => (1, index),
            Self::Readable(index) => (2, index),
        };
        kind << 32 | index as u64
    }

    fn from_token(token: u64) -> Self {
        let index = token as u32 as usize;
        match token >> 32 {
            0 => Self::Tick(index),
            1 => Self::Writable(index),
            _ => Self::Readable(index),
        }
    }
}

impl Play {
    /// Nothing is sent before it is started.
    pub fn new(talks: Vec<Talk>, streams: Vec<Stream>) -> Result<Self> {
        Ok(Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).doing("create an epoll")?,
            talks,
            streams,
            piece: vec![0; PIECE_BYTES],
            reader: Reader::new(),
        })
    }

    pub fn start_talks(&self, which: Range<usize>) -> Result<()> {
        for index in which {
            let event = EpollEvent::new(EpollFlags::EPOLLIN, Ready::Tick(index).token());
            let timer = self.talks[index].timer();
            self.epoll.add(timer, event).doing("watch a timer")?;
        }
        Ok(())
    }

    pub fn start_streams(&self) -> Result<()> {
        for (index, stream) in self.streams.iter().enumerate() {
            let writable = EpollEvent::new(EpollFlags::EPOLLOUT, Ready::Writable(index).token());
            let readable = EpollEvent::new(EpollFlags::EPOLLIN, Ready::Readable(index).token());
            self.epoll
                .add(stream.sender(), writable)
                .and_then(|()| self.epoll.add(stream.receiver(), readable))
                .doing("watch a bulk flow")?;
        }
        Ok(())
    }

    /// For so long; returns when it began and when it ended, by the clock of receive stamps.
    pub fn run(&mut self, duration: Duration) -> Result<(u64, u64)> {
        let begin_ns = receive_clock_ns()?;
        let end_ns = begin_ns + duration.as_nanos() as u64;
        let mut events = [EpollEvent::empty(); EVENTS];
        loop {
            let now_ns = receive_clock_ns()?;
            if now_ns >= end_ns {
                return Ok((begin_ns, now_ns));
            }
            let left = Duration::from_nanos(end_ns - now_ns) + Duration::from_millis(1);
            let timeout = EpollTimeout::try_from(left).unwrap_or(EpollTimeout::MAX);
            let ready = match self.epoll.wait(&mut events, timeout) {
                Ok(ready) => ready,
                Err(Errno::EINTR) => 0,
                Err(errno) => return Err(errno).doing("wait for traffic"),
            };
            for event in &events[..ready] {
                self.serve(Ready::from_token(event.data()))?;
            }
        }
    }

    fn serve(&mut self, ready: Ready) -> Result<()> {
        match ready {
            Ready::Tick(index) => self.talks[index].tick(&mut self.reader),
            Ready::Writable(index) => self.streams[index].write(&self.piece),
            Ready::Readable(index) => self.streams[index].read(&mut self.piece),
        }
    }

    /// Ends the streams, waits so long for what is under way, and gives the talks back.
    pub fn finish(mut self, patience: Duration) -> Result<Vec<Talk>> {
        self.streams.clear();
        std::thread::sleep(patience);
        for talk in &mut self.talks {
            talk.read(&mut self.reader)?;
        }
        Ok(self.talks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_tell_events_apart() {
        for ready in [Ready::Tick(0), Ready::Writable(35), Ready::Readable(35)] {
            assert_eq!(Ready::from_token(ready.token()), ready);
        }
    }
}
