//! The BPF objects that the kernel holds, from the kernel itself.

use std::{
    ffi::CString,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    thread,
    time::Duration,
};

use libbpf_rs::{MapCore, MapFlags, MapHandle};

const MAP_GET_NEXT_KEY: libc::c_long = 4;
const OBJ_GET: libc::c_long = 7;
const PROG_GET_NEXT_ID: libc::c_long = 11;
const LINK_GET_NEXT_ID: libc::c_long = 31;

/// Room for the longest key here.
type Key = [u64; 4];

/// Links of every kind: attachments.
pub fn links() -> usize {
    count_ids(LINK_GET_NEXT_ID)
}

pub fn programs() -> usize {
    count_ids(PROG_GET_NEXT_ID)
}

/// The number of both.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    pub links: usize,
    pub programs: usize,
}

impl Held {
    pub fn now() -> Self {
        Self {
            links: links(),
            programs: programs(),
        }
    }

    /// Waits until there are no more than these: the kernel frees programs when no processor can be
    /// running them any more. There may be fewer, since those of an earlier test may go meanwhile,
    /// with the last of their sockets.
    #[track_caller]
    pub fn wait_until_back(self) {
        wait_for(|| self.is_back());
    }

    pub fn is_back(self) -> bool {
        let now = Self::now();
        now.links <= self.links && now.programs <= self.programs
    }
}

/// A value of a pinned map with numbers as keys.
pub fn value(pin: &str, key: u32) -> Vec<u8> {
    let map = MapHandle::from_pinned_path(pin).expect("the map is pinned");
    let value = map.lookup(&key.to_ne_bytes(), MapFlags::ANY).unwrap();
    value.expect("an array's element")
}

/// How many entries a pinned map has.
pub fn entries(pin: &str) -> usize {
    let path = CString::new(pin).unwrap();
    let fd = bpf(OBJ_GET, &mut [path.as_ptr() as u64, 0, 0]).expect("the map is pinned");
    // SAFETY: just opened, and not used elsewhere.
    let map = unsafe { OwnedFd::from_raw_fd(fd) };
    let (mut key, mut next) = (Key::default(), Key::default());
    let mut entries = 0;
    loop {
        let from = match entries {
            0 => 0,
            _ => (&raw const key) as u64,
        };
        let mut arguments = [map.as_raw_fd() as u64, from, (&raw mut next) as u64];
        if bpf(MAP_GET_NEXT_KEY, &mut arguments).is_err() {
            return entries;
        }
        key = next;
        entries += 1;
    }
}

/// Waits until the kernel's delayed work is done.
#[track_caller]
pub fn wait_for(done: impl Fn() -> bool) {
    for _ in 0..100 {
        if done() {
            return;
        }
        thread::sleep(Duration::from_secs(1));
    }
    panic!("not after 100 seconds");
}

fn count_ids(command: libc::c_long) -> usize {
    let mut arguments = [0u64; 3];
    let mut ids = 0;
    // From the id in the lower half of the first word to the next, in the upper.
    while bpf(command, &mut arguments).is_ok() {
        arguments[0] >>= 32;
        ids += 1;
    }
    ids
}

fn bpf(command: libc::c_long, arguments: &mut [u64; 3]) -> io::Result<i32> {
    // SAFETY: the kernel reads and writes the arguments, and what they name.
    let done = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            arguments.as_mut_ptr(),
            size_of_val(arguments),
        )
    };
    match done {
        0.. => Ok(done as i32),
        _ => Err(io::Error::last_os_error()),
    }
}
