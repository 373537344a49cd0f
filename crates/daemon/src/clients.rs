//! A connection: received input, output that is still to be sent, and its timeouts.

use std::{
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
};

use nix::poll::PollFlags;

use crate::{
    admission::Connection,
    protocol::{LINE_MAX_BYTES, Protocol},
    registry::Caller,
    reply::{Reply, flush},
};

/// Between an answer and the first byte of the next request.
const IDLE_NS: u64 = 30_000_000_000;
/// From the first byte to the end of the request, and from an answer until all of it is sent.
const PATIENCE_NS: u64 = 5_000_000_000;
/// For an answer that another thread gives.
const WAIT_NS: u64 = 120_000_000_000;
const CHUNK_BYTES: usize = 4096;

pub(crate) struct Client {
    /// A number that no other connection has.
    pub id: u64,
    pub stream: UnixStream,
    pub caller: Caller,
    pub speaks: Protocol,
    /// The current request is to have no reply.
    pub is_oneway: bool,
    /// Input that begins with an unanswered request.
    input: Vec<u8>,
    /// The rest of the last answer. The next request is answered after it is sent.
    output: Vec<u8>,
    /// When it was accepted, was last answered, or began a request after that.
    since_ns: u64,
    /// Waits for another thread's answer. No input is read until then.
    pub waits: bool,
    /// Whether there is anything to do for it.
    pub is_ready: bool,
    /// The number of its last turn.
    pub turn: u64,
}

/// What comes next from a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Line(Vec<u8>),
    Incomplete,
    TooLong,
    Closed,
}

impl Client {
    pub fn new(
        id: u64,
        (stream, speaks): (UnixStream, Protocol),
        caller: Caller,
        now_ns: u64,
        turn: u64,
    ) -> Self {
        Self {
            id,
            stream,
            caller,
            speaks,
            is_oneway: false,
            input: Vec::new(),
            output: Vec::new(),
            since_ns: now_ns,
            waits: false,
            // Its request may have come with the connection.
            is_ready: true,
            turn,
        }
    }

    pub fn connection(&self) -> Connection {
        Connection {
            uid: self.caller.uid,
            since_ns: self.since_ns,
        }
    }

    /// What to wait for.
    pub fn wants(&self) -> PollFlags {
        if self.waits {
            PollFlags::empty()
        } else if self.output.is_empty() {
            PollFlags::POLLIN
        } else {
            PollFlags::POLLOUT
        }
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Whether a complete request has been received.
    pub fn has_line(&self) -> bool {
        !self.waits && self.output.is_empty() && self.line_end().is_some()
    }

    fn line_end(&self) -> Option<usize> {
        let end = self.speaks.end();
        self.input.iter().position(|byte| *byte == end)
    }

    /// At most one request, and one read.
    pub fn next(&mut self, now_ns: u64) -> Input {
        if !self.output.is_empty() {
            if flush(&mut self.stream, &mut self.output).is_err() {
                return Input::Closed;
            }
            if !self.output.is_empty() {
                return Input::Incomplete;
            }
            self.since_ns = now_ns;
        }
        if self.line_end().is_none() {
            match self.read(now_ns) {
                Ok(0) => return Input::Closed,
                Err(error) if !is_for_later(&error) => return Input::Closed,
                _ => {}
            }
        }
        match self.line_end() {
            Some(end) => {
                let rest = self.input.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.input, rest);
                line.truncate(end);
                Input::Line(line)
            }
            None if self.input.len() > LINE_MAX_BYTES => Input::TooLong,
            None => Input::Incomplete,
        }
    }

    fn read(&mut self, now_ns: u64) -> io::Result<usize> {
        let mut chunk = [0; CHUNK_BYTES];
        let read = self.stream.read(&mut chunk)?;
        if self.input.is_empty() {
            self.since_ns = now_ns;
        }
        self.input.extend_from_slice(&chunk[..read]);
        Ok(read)
    }

    pub fn answer(&mut self, reply: &Reply, now_ns: u64) -> io::Result<()> {
        if !std::mem::take(&mut self.is_oneway) {
            self.output = reply.send(&mut self.stream, self.speaks)?;
        }
        self.since_ns = now_ns;
        Ok(())
    }

    /// Bytes are no progress. A complete request is, and an answer that was sent in full.
    pub fn is_overdue(&self, now_ns: u64) -> bool {
        let is_at_rest = self.input.is_empty() && self.output.is_empty();
        let patience_ns = if self.waits {
            WAIT_NS
        } else if is_at_rest {
            IDLE_NS
        } else {
            PATIENCE_NS
        };
        now_ns.saturating_sub(self.since_ns) > patience_ns
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};

    use super::*;
    use crate::protocol::{Done, Listed, Registered};

    const NS_PER_S: u64 = 1_000_000_000;
    const CALLER: Caller = Caller {
        uid: 1000,
        netns_cookie: 1,
    };

    fn client() -> (Client, UnixStream) {
        let (here, there) = UnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        (Client::new(1, (here, Protocol::Lines), CALLER, 0, 0), there)
    }

    #[test]
    fn lines_come_one_by_one() {
        let (mut client, mut there) = client();
        assert_eq!(client.next(0), Input::Incomplete);
        there.write_all(b"one\n\ntw").unwrap();
        assert_eq!(client.next(0), Input::Line(b"one".to_vec()));
        assert!(client.has_line());
        assert_eq!(client.next(0), Input::Line(Vec::new()));
        assert!(!client.has_line());
        assert_eq!(client.next(0), Input::Incomplete);
        there.write_all(b"o\n").unwrap();
        assert_eq!(client.next(0), Input::Line(b"two".to_vec()));
        there.write_all(&[b'x'; LINE_MAX_BYTES + 1]).unwrap();
        assert_eq!(client.next(0), Input::TooLong);
        drop(there);
        let (mut client, there) = self::client();
        drop(there);
        assert_eq!(client.next(0), Input::Closed);
    }

    #[test]
    fn a_byte_now_and_then_is_no_progress() {
        let (mut client, mut there) = client();
        assert!(!client.is_overdue(29 * NS_PER_S));
        for second in 29..=34 {
            there.write_all(b"x").unwrap();
            assert_eq!(client.next(second * NS_PER_S), Input::Incomplete);
            assert!(!client.is_overdue(second * NS_PER_S));
        }
        assert!(client.is_overdue(34 * NS_PER_S + 1));
        let (client, _there) = self::client();
        assert!(client.is_overdue(30 * NS_PER_S + 1));
    }

    #[test]
    fn a_long_answer_goes_as_it_is_taken() {
        let (mut client, mut there) = client();
        let registered = Registered {
            dst: "192.0.2.10".to_owned(),
            port: 873,
            user: Some(1000),
            lifetime_s: None,
        };
        let registrations = vec![registered; 20_000];
        let reply = Reply::from(Ok(Done::Listed(Listed { registrations })));
        client.answer(&reply, 0).unwrap();
        assert_eq!(client.wants(), PollFlags::POLLOUT);
        // The next request has to wait.
        there.write_all(b"next\n").unwrap();
        assert_eq!(client.next(0), Input::Incomplete);
        assert!(client.is_overdue(6 * NS_PER_S));
        let reader = std::thread::spawn(move || {
            let mut line = String::new();
            BufReader::new(there).read_line(&mut line).unwrap();
            line.len()
        });
        while client.next(7 * NS_PER_S) == Input::Incomplete {
            std::thread::yield_now();
        }
        assert!(reader.join().unwrap() > 500_000);
        assert!(!client.is_overdue(12 * NS_PER_S));
    }
}
