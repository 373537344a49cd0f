//! Job pages of threads: root's files that only the thread's user can read (`include/takt/beats.h`).
//!
//! A thread that is done waits on its page's sequence number. Another user's thread cannot, so the
//! dispatcher never has others' to wake.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
};

use takt_beats::page::{Job, JobPage, PAGES};

use crate::access;

const BYTES: usize = PAGES * size_of::<JobPage>();

/// The first page of a file of as many as the scheduler's map has.
#[derive(Debug)]
pub struct Page {
    first: NonNull<JobPage>,
}

// SAFETY: the mapping belongs to this value, and everything in it is atomic.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    /// A page for a thread of this user, in place of one that an earlier thread of this number had.
    pub fn create(folder: &Path, tid: i32, uid: u32, before_first: &Job) -> io::Result<Self> {
        let path = path_of(folder, tid);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.set_len(BYTES as u64)?;
        let page = Self::map(&file)?;
        // How long a thread waits at most depends on it.
        page.get().write(before_first);
        page.get().tid.store(tid as u32, Ordering::Relaxed);
        page.get().waits.store(1, Ordering::Release);
        // Root reads it in any case, even where there are no access lists.
        if uid != 0 {
            access::let_read(&file, uid)?;
        }
        Ok(page)
    }

    /// One that a dispatcher made before.
    pub fn open(folder: &Path, tid: i32) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true);
        let file = options
            .custom_flags(libc::O_NOFOLLOW)
            .open(path_of(folder, tid))?;
        if file.metadata()?.len() != BYTES as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Self::map(&file)
    }

    fn map(file: &File) -> io::Result<Self> {
        // SAFETY: a new mapping of a file of that size.
        let first = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        let first = Some(first).filter(|first| *first != libc::MAP_FAILED);
        let first = first.and_then(|first| NonNull::new(first.cast()));
        Ok(Self {
            first: first.ok_or_else(io::Error::last_os_error)?,
        })
    }

    fn get(&self) -> &JobPage {
        // SAFETY: mapped for as long as this value lives.
        unsafe { self.first.as_ref() }
    }

    /// The next job, for which the thread is woken if it waits.
    pub fn begin(&self, job: &Job) {
        self.get().write(job);
        wake(&self.get().sequence);
    }

    /// No thread's page any more. A thread that waits goes on.
    pub fn close(&self) {
        let page = self.get();
        page.tid.store(0, Ordering::Relaxed);
        page.waits.store(0, Ordering::Release);
        page.sequence.fetch_add(2, Ordering::Release);
        wake(&page.sequence);
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: it is this value's own mapping, and no borrow of it is left.
        unsafe { libc::munmap(self.first.as_ptr().cast(), BYTES) };
    }
}

pub fn path_of(folder: &Path, tid: i32) -> PathBuf {
    folder.join(tid.to_string())
}

/// One thread waits at most.
fn wake(word: &AtomicU32) {
    const ONE: libc::c_int = 1;
    // SAFETY: the kernel looks at the word's address only.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, ONE) };
}
