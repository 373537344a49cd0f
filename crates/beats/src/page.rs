//! The pages that the scheduler, or a dispatcher in its place, writes for its members.

use std::{
    ffi::CStr,
    fs::File,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    path::Path,
    ptr::NonNull,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
    time::{Duration, Instant},
};

pub use crate::Job;

/// Pages of a file or map.
pub const PAGES: usize = 256;

/// A reader gives up after so many tries; the scheduler's writes are shorter.
const LOOKS_MAX: usize = 1000;

/// As in bpf/beats/beats_maps.h. The scheduler writes it at any time.
#[repr(C)]
#[derive(Default)]
pub struct JobPage {
    /// The host's number of the thread; 0 for none.
    pub tid: AtomicU32,
    /// Odd while it is being written.
    pub sequence: AtomicU32,
    job: AtomicU64,
    beat_ns: AtomicU64,
    deadline_ns: AtomicU64,
    period_ns: AtomicU64,
    budget_ns: AtomicU64,
    overruns: AtomicU64,
    /// Not 0: `sched_yield()` does not wait here. A thread that is done waits for another
    /// `sequence`, with a futex.
    pub waits: AtomicU64,
}

/// All members' pages, mapped read-only.
#[derive(Debug)]
pub struct Pages {
    first: NonNull<JobPage>,
}

impl Pages {
    /// By their pin, which only root can open.
    pub(crate) fn open(pin: &CStr) -> Option<Self> {
        const BPF_OBJ_GET: libc::c_long = 7;
        #[repr(C)]
        struct Get {
            pathname: u64,
            bpf_fd: u32,
            file_flags: u32,
        }
        let get = Get {
            pathname: pin.as_ptr() as u64,
            bpf_fd: 0,
            // A read-only descriptor cannot be mapped; the map itself is closed to writers.
            file_flags: 0,
        };
        // SAFETY: the kernel reads a structure of that size and makes a descriptor, which is
        // owned once it is known to be valid.
        let map = unsafe {
            let fd = libc::syscall(libc::SYS_bpf, BPF_OBJ_GET, &raw const get, size_of::<Get>());
            OwnedFd::from_raw_fd(i32::try_from(fd).ok().filter(|fd| *fd >= 0)?)
        };
        Self::map(map)
    }

    /// Those of a thread that takt-dispatch keeps, which its user can open.
    pub(crate) fn open_file(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let length = file.metadata().ok()?.len();
        (length >= (PAGES * size_of::<JobPage>()) as u64).then_some(())?;
        Self::map(file.into())
    }

    pub(crate) fn map(map: OwnedFd) -> Option<Self> {
        // SAFETY: a new mapping, which no other code knows.
        let first = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                PAGES * size_of::<JobPage>(),
                libc::PROT_READ,
                libc::MAP_SHARED,
                map.as_raw_fd(),
                0,
            )
        };
        (first != libc::MAP_FAILED).then_some(Self {
            first: NonNull::new(first.cast())?,
        })
    }

    /// The index of that thread's page.
    pub(crate) fn find(&self, tid: u32) -> Option<usize> {
        self.all()
            .iter()
            .position(|page| page.tid.load(Ordering::Acquire) == tid)
    }

    /// `None` if it is not that thread's page.
    pub(crate) fn read(&self, at: usize, tid: u32) -> Option<Job> {
        self.all().get(at)?.read(tid)
    }

    /// Waits for the thread's next job; false if `sched_yield()` does that.
    pub(crate) fn wait(&self, at: usize) -> bool {
        let page = self.all().get(at);
        let page = page.filter(|page| page.waits.load(Ordering::Acquire) != 0);
        page.map(JobPage::wait).is_some()
    }

    fn all(&self) -> &[JobPage] {
        // SAFETY: mapped for as long as this value lives, and only atomics.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), PAGES) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: it is this value's own mapping, and no borrow of it is left.
        unsafe { libc::munmap(self.first.as_ptr().cast(), PAGES * size_of::<JobPage>()) };
    }
}

impl JobPage {
    /// The next job, for readers at any moment. One writer at a time.
    pub fn write(&self, job: &Job) {
        let before = self.sequence.load(Ordering::Relaxed) & !1;
        self.sequence
            .store(before.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        self.job.store(job.number, Ordering::Relaxed);
        self.beat_ns.store(job.beat_ns, Ordering::Relaxed);
        self.deadline_ns.store(job.deadline_ns, Ordering::Relaxed);
        self.period_ns.store(job.period_ns, Ordering::Relaxed);
        self.budget_ns.store(job.budget_ns, Ordering::Relaxed);
        self.overruns.store(job.overruns, Ordering::Relaxed);
        self.sequence
            .store(before.wrapping_add(2), Ordering::Release);
    }

    /// Waits for the next job, as `sched_yield()` does under the scheduler. Two periods at most: a
    /// dispatcher that died has nothing to wait for.
    fn wait(&self) {
        let seen = self.sequence.load(Ordering::Acquire);
        let patience_ns = 2 * self.period_ns.load(Ordering::Relaxed);
        let until = Instant::now() + Duration::from_nanos(patience_ns);
        // While the next job is being written it has begun.
        while seen & 1 == 0 && self.sequence.load(Ordering::Acquire) == seen {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let left = libc::timespec {
                tv_sec: left.as_secs() as libc::time_t,
                tv_nsec: left.subsec_nanos().into(),
            };
            // SAFETY: the word is mapped, and the time lives until the call returns.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.sequence.as_ptr(),
                    libc::FUTEX_WAIT,
                    seen,
                    &raw const left,
                );
            }
        }
    }

    fn read(&self, tid: u32) -> Option<Job> {
        for _ in 0..LOOKS_MAX {
            let before = self.sequence.load(Ordering::Acquire);
            let whose = self.tid.load(Ordering::Relaxed);
            let job = Job {
                number: self.job.load(Ordering::Relaxed),
                beat_ns: self.beat_ns.load(Ordering::Relaxed),
                deadline_ns: self.deadline_ns.load(Ordering::Relaxed),
                period_ns: self.period_ns.load(Ordering::Relaxed),
                budget_ns: self.budget_ns.load(Ordering::Relaxed),
                overruns: self.overruns.load(Ordering::Relaxed),
            };
            fence(Ordering::Acquire);
            if before & 1 == 0 && self.sequence.load(Ordering::Relaxed) == before {
                return (whose == tid).then_some(job);
            }
            std::hint::spin_loop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicBool, thread};

    use super::*;

    #[test]
    fn a_page_is_as_large_as_the_schedulers() {
        assert_eq!(size_of::<JobPage>(), 64);
    }

    #[test]
    fn a_page_that_is_being_written_or_anothers_is_not_read() {
        let page = JobPage::default();
        page.tid.store(7, Ordering::Relaxed);
        page.job.store(3, Ordering::Relaxed);
        assert_eq!(page.read(7).map(|job| job.number), Some(3));
        assert_eq!(page.read(8), None);
        page.sequence.store(1, Ordering::Relaxed);
        assert_eq!(page.read(7), None);
    }

    #[test]
    fn what_is_read_belongs_together() {
        let (page, over) = (JobPage::default(), AtomicBool::new(false));
        page.tid.store(7, Ordering::Relaxed);
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 1..200_000 {
                    page.sequence.store(number * 2 - 1, Ordering::Relaxed);
                    fence(Ordering::Release);
                    page.job.store(number.into(), Ordering::Relaxed);
                    page.beat_ns
                        .store(u64::from(number) * 10, Ordering::Relaxed);
                    page.sequence.store(number * 2, Ordering::Release);
                }
                over.store(true, Ordering::Release);
            });
            let mut read = 0;
            while !over.load(Ordering::Acquire) || read == 0 {
                if let Some(job) = page.read(7) {
                    assert_eq!(job.beat_ns, job.number * 10);
                    read += 1;
                }
            }
        });
    }
}
