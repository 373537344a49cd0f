//! Runs the command, carries its output to the host, and leaves no process alive.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use super::protocol::{FRAME_BYTES_MAX, Frame, Job};
use super::{Doing, Result};

pub const PATH: &str = "/add:/usr/bin";
const HOME: &str = "/root";
const WORKING_DIR: &str = "/lab";

/// As in a shell.
const STATUS_NOT_FOUND: i32 = 127;
const STATUS_NOT_EXECUTABLE: i32 = 126;
const STATUS_SIGNAL: i32 = 128;

/// Experiments hold a socket per flow, thousands of them.
const OPEN_FILES_MAX: u64 = 65_536;

/// Returns the command's exit status.
pub fn run(job: &Job, channel: &File) -> Result<i32> {
    let Some((program, arguments)) = job.command.split_first() else {
        return Err(io::Error::from(ErrorKind::InvalidInput)).doing(|| "run no command".into());
    };
    fs::create_dir_all(HOME).doing(|| format!("create {HOME}"))?;
    setrlimit(Resource::RLIMIT_NOFILE, OPEN_FILES_MAX, OPEN_FILES_MAX)
        .doing(|| format!("allow {OPEN_FILES_MAX} open files"))?;

    let spawned = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        .env("HOME", HOME)
        .env("TERM", job.term.as_deref().unwrap_or("dumb".as_ref()))
        .current_dir(WORKING_DIR)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(e) => {
            let program = program.to_string_lossy();
            let message = format!("takt lab: cannot run {program} in the lab: {e}\n");
            Frame::Stderr(message.into_bytes())
                .write_to(&mut &*channel)
                .doing(|| "report to the host".into())?;
            return Ok(match e.kind() {
                ErrorKind::NotFound => STATUS_NOT_FOUND,
                _ => STATUS_NOT_EXECUTABLE,
            });
        }
    };

    // The standard library has made a `u32` of the kernel's `pid_t`.
    let pid = Pid::from_raw(child.id() as i32);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let channel = Mutex::new(channel);
    thread::scope(|scope| {
        let pumps = [
            scope.spawn(|| pump(stdout, Frame::Stdout, &channel)),
            scope.spawn(|| pump(stderr, Frame::Stderr, &channel)),
        ];
        let status = reap_until(pid)?;
        // A process that outlived the command would hold its output open for ever.
        kill_the_rest()?;
        for pump in pumps {
            pump.join()
                .unwrap_or_else(|_| Err(io::Error::other("the reader failed")))
                .doing(|| "carry the command's output to the host".into())?;
        }
        Ok(status)
    })
}

/// Carries one stream to the host until it has no writer any more.
fn pump(
    stream: Option<impl Read>,
    frame: fn(Vec<u8>) -> Frame,
    channel: &Mutex<&File>,
) -> io::Result<()> {
    let Some(mut stream) = stream else {
        return Ok(());
    };
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                let mut channel = channel
                    .lock()
                    .map_err(|_| io::Error::other("the other stream's reader failed"))?;
                frame(buffer[..length].to_vec()).write_to(&mut *channel)?;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// Waits for the command, and reaps orphans, which process 1 inherits.
fn reap_until(command: Pid) -> Result<i32> {
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, status)) if pid == command => return Ok(status),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == command => {
                return Ok(STATUS_SIGNAL + signal as i32);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e).doing(|| "wait for the command".into()),
        }
    }
}

fn kill_the_rest() -> Result<()> {
    const EVERYONE_ELSE: Pid = Pid::from_raw(-1);
    loop {
        match kill(EVERYONE_ELSE, Signal::SIGKILL) {
            Ok(()) => {}
            Err(Errno::ESRCH) => return Ok(()),
            Err(e) => return Err(e).doing(|| "kill what the command left".into()),
        }
        // Every process is a child by now: orphans are inherited by process 1.
        match waitpid(None, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return Ok(()),
            Err(e) => return Err(e).doing(|| "bury what the command left".into()),
        }
    }
}
