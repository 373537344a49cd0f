//! The answer typed at the terminal: one line decides.

use std::{
    io::{self, IsTerminal, Stdin},
    os::fd::{AsFd, BorrowedFd},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::termios::{FlushArg, tcflush},
    unistd::{getpgrp, read, tcgetpgrp},
};

/// No answer is longer.
const LINE_BYTES_MAX: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// No answer yet.
    None,
    Keep,
    TakeBack,
    /// No answer will come.
    Closed,
}

/// The standard input, if it is a terminal: a script's input is not read.
pub struct Terminal {
    stdin: Stdin,
    line: Vec<u8>,
}

impl Terminal {
    pub fn open() -> Option<Self> {
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return None;
        }
        let terminal = Self {
            stdin,
            line: Vec::new(),
        };
        // Input typed before the question is no answer to it.
        terminal.flush();
        Some(terminal)
    }

    fn flush(&self) {
        if self.is_ours() {
            let _ = tcflush(&self.stdin, FlushArg::TCIFLUSH);
        }
    }

    /// Whether this process may read the terminal: a job in the background would be stopped.
    pub fn is_ours(&self) -> bool {
        match tcgetpgrp(&self.stdin) {
            Ok(foreground) => foreground == getpgrp(),
            // A terminal without jobs.
            Err(_) => true,
        }
    }

    /// The available input, without waiting for more.
    pub fn read(&mut self) -> Answer {
        if !self.is_ours() {
            return Answer::None;
        }
        let mut ready = [PollFd::new(self.stdin.as_fd(), PollFlags::POLLIN)];
        if !matches!(poll(&mut ready, PollTimeout::ZERO), Ok(1..)) {
            return Answer::None;
        }
        let mut bytes = [0; LINE_BYTES_MAX];
        let room = LINE_BYTES_MAX - self.line.len();
        match read(&self.stdin, &mut bytes[..room]) {
            Ok(0) => return Answer::Closed,
            Ok(count) => self.line.extend(&bytes[..count]),
            Err(Errno::EINTR | Errno::EAGAIN) => return Answer::None,
            Err(_) => return Answer::Closed,
        }
        let answer = judge(&self.line);
        if answer != Answer::None {
            // Discard the rest of a long line, which the shell would read.
            self.flush();
        }
        answer
    }
}

impl AsFd for Terminal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stdin.as_fd()
    }
}

/// The answer in the bytes of a line so far.
fn judge(line: &[u8]) -> Answer {
    let end = line.iter().position(|byte| *byte == b'\n');
    match end {
        Some(end) => {
            let typed = line[..end].strip_suffix(b"\r").unwrap_or(&line[..end]);
            if typed.is_empty() || typed.eq_ignore_ascii_case(b"yes") {
                Answer::Keep
            } else {
                Answer::TakeBack
            }
        }
        None if line.len() >= LINE_BYTES_MAX => Answer::TakeBack,
        None => Answer::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_enter_and_yes_keep_it() {
        for line in ["\n", "yes\n", "Yes\n", "YES\r\n", "\r\n", "\nno\n"] {
            assert_eq!(judge(line.as_bytes()), Answer::Keep, "{line:?}");
        }
        for line in [
            "no\n",
            "n\n",
            "y\n",
            " \n",
            "yes please\n",
            "\0\n",
            "q\nyes\n",
        ] {
            assert_eq!(judge(line.as_bytes()), Answer::TakeBack, "{line:?}");
        }
    }

    #[test]
    fn half_a_line_is_no_answer_and_an_endless_one_is_no() {
        for line in ["", "yes", "no"] {
            assert_eq!(judge(line.as_bytes()), Answer::None, "{line:?}");
        }
        assert_eq!(judge(&[b'a'; LINE_BYTES_MAX - 1]), Answer::None);
        assert_eq!(judge(&[b'a'; LINE_BYTES_MAX]), Answer::TakeBack);
    }
}
