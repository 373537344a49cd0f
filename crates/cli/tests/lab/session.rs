//! An administrator's session: a program at a terminal of its own.

use std::{
    fs::File,
    io::{Read, Write},
    os::{
        fd::AsFd,
        unix::process::{CommandExt, ExitStatusExt},
    },
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    pty::openpty,
    sys::{
        signal::{Signal, kill},
        termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr},
    },
    unistd::{Pid, setsid},
};

const PATIENCE: Duration = Duration::from_secs(60);

pub struct Session {
    pub child: Child,
    terminal: File,
    said: String,
}

impl Session {
    /// Has a shell run this line.
    pub fn start(line: &str) -> Self {
        let pty = openpty(None, None).unwrap();
        // While its own programs had this end, the terminal would never hang up.
        fcntl(&pty.master, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        let slave = || Stdio::from(pty.slave.try_clone().unwrap());
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command.stdin(slave()).stdout(slave()).stderr(slave());
        // SAFETY: plain system calls, between fork and exec.
        unsafe {
            command.pre_exec(|| {
                setsid()?;
                match libc::ioctl(0, libc::TIOCSCTTY, 0) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            });
        }
        Self {
            child: command.spawn().unwrap(),
            terminal: File::from(pty.master),
            said: String::new(),
        }
    }

    /// From now on the terminal does not wait for line ends.
    pub fn be_raw(&self) {
        let mut attributes = tcgetattr(&self.terminal).unwrap();
        cfmakeraw(&mut attributes);
        tcsetattr(&self.terminal, SetArg::TCSANOW, &attributes).unwrap();
    }

    pub fn types(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until all this has been printed.
    #[track_caller]
    pub fn says(&mut self, parts: &[&str]) {
        let deadline = Instant::now() + PATIENCE;
        for part in parts {
            while !self.said.contains(part) {
                let more = Instant::now() < deadline && self.listen();
                assert!(more, "{part:?} is not said by\n{}", self.said);
            }
        }
    }

    /// Waits for its end, and returns its exit status.
    #[track_caller]
    pub fn ends(&mut self) -> Option<i32> {
        let deadline = Instant::now() + 5 * PATIENCE;
        while self.listen() {
            assert!(Instant::now() < deadline, "it goes on\n{}", self.said);
        }
        let status = self.child.wait().unwrap();
        println!("{}\n{status}", self.said);
        status
            .code()
            .or_else(|| status.signal().map(|signal| -signal))
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Closes the connection.
    pub fn hang_up(self) -> Child {
        self.child
    }

    /// Whether there may be more output.
    fn listen(&mut self) -> bool {
        let mut ready = [PollFd::new(self.terminal.as_fd(), PollFlags::POLLIN)];
        poll(&mut ready, PollTimeout::from(1000u16)).unwrap();
        if ready[0].revents().is_none_or(|events| events.is_empty()) {
            return true;
        }
        let mut bytes = [0; 4096];
        match self.terminal.read(&mut bytes) {
            Ok(count @ 1..) => {
                self.said
                    .push_str(&String::from_utf8_lossy(&bytes[..count]));
                true
            }
            // No program has the other end open any more.
            _ => false,
        }
    }
}
