//! A test double of taktd and of the scheduler: it gives prepared answers, and hands over pages
//! that it writes itself.

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    os::{
        fd::AsRawFd,
        unix::{
            fs::FileExt,
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

/// The thread's number on the host differs from its own.
pub const RESERVATION: &str =
    r#"{"ok":{"place":{"task":"av","member":"2","tid":4242,"page":3,"user":1000}}}"#;
pub const REFUSAL: &str =
    r#"{"error":{"code":"no_room","message":"`av` does not \"fit\"","fix":"ask for 7ms"}}"#;
pub const REFUSAL_TEXT: &str = "`av` does not \"fit\"; ask for 7ms";

const TID: u32 = 4242;
const PAGE_AT: u64 = 3 * 64;
const PAGES_BYTES: u64 = 256 * 64;

pub struct Double {
    socket: PathBuf,
    pages: File,
    heard: Receiver<String>,
    _dir: tempfile::TempDir,
}

impl Double {
    /// One answer for each connection.
    pub fn start(answers: Vec<&'static str>) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let socket = dir.path().join("socket");
        let pages = tempfile::tempfile().expect("a file");
        pages.set_len(PAGES_BYTES).expect("a longer file");
        let listener = UnixListener::bind(&socket).expect("a socket");
        let handed = pages.try_clone().expect("another descriptor");
        let (hear, heard) = channel();
        thread::spawn(move || {
            for answer in answers {
                let (stream, _) = listener.accept().expect("a client");
                let mut line = String::new();
                let mut reader = BufReader::new(&stream);
                reader.read_line(&mut line).expect("a line");
                hear.send(line.trim_end().to_owned()).expect("a test");
                send(&stream, answer, &handed);
            }
        });
        Self {
            socket,
            pages,
            heard,
            _dir: dir,
        }
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Job 11, of 8 ms in 40 ms, with five overruns so far.
    pub fn write_page(&self, beat_ns: u64) {
        let whose = u64::from(TID);
        let fields = [
            whose,
            11,
            beat_ns,
            beat_ns + 8_000_000,
            40_000_000,
            8_000_000,
            5,
            0,
        ];
        for (at, field) in (0..).zip(fields) {
            self.write(at, field);
        }
    }

    #[allow(dead_code, reason = "not every test that takes this file has overruns")]
    pub fn write_overruns(&self, overruns: u64) {
        self.write(6, overruns);
    }

    #[allow(
        dead_code,
        reason = "not every test that uses this file loses a reservation"
    )]
    pub fn take_reservation(&self) {
        self.write(0, 0);
    }

    /// The requests, in order, of as many clients as there were answers.
    pub fn requests(&self) -> Vec<String> {
        let patience = Duration::from_secs(10);
        std::iter::from_fn(|| self.heard.recv_timeout(patience).ok()).collect()
    }

    fn write(&self, field: u64, value: u64) {
        self.pages
            .write_all_at(&value.to_ne_bytes(), PAGE_AT + field * 8)
            .expect("room in the file");
    }
}

/// The first byte comes with the descriptor, the rest a little later.
fn send(mut stream: &UnixStream, answer: &str, descriptor: &File) {
    let (first, rest) = answer.as_bytes().split_at(1);
    let mut control = [0_u64; 4];
    let mut part = libc::iovec {
        iov_base: first.as_ptr().cast_mut().cast(),
        iov_len: 1,
    };
    // SAFETY: a message of one byte, with room for the header of one descriptor, which
    // stays open meanwhile.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as _;
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(4) as _;
        libc::CMSG_DATA(header)
            .cast::<i32>()
            .write_unaligned(descriptor.as_raw_fd());
        assert_eq!(libc::sendmsg(stream.as_raw_fd(), &message, 0), 1);
    }
    thread::sleep(Duration::from_millis(5));
    stream.write_all(rest).expect("a client that listens");
    stream.write_all(b"\n").expect("a client that listens");
}
