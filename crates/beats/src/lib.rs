//! For threads that run on the beat: to reserve time slots, to end a period's work, and to read
//! the current beat.
//!
//! ```
//! use std::time::Duration;
//! use takt_beats::{Beat, Terms};
//!
//! let terms = Terms::new(Duration::from_millis(40), Duration::from_millis(8));
//! let mut beat = Beat::join(&terms).unwrap_or_else(|error| {
//!     eprintln!("not on the beat: {error}");
//!     Beat::without()
//! });
//! for _ in 0..3 {
//!     // The work of one period.
//!     beat.done();
//! }
//! ```
//!
//! The same program works without Takt: [`Beat::done`] is `sched_yield()`, which under
//! SCHED_DEADLINE ends the period, too. Programs in C take `include/takt/beats.h`; both
//! ask taktd in the words of docs/beats.md.

#[doc(hidden)]
pub mod page;
mod taktd;
mod words;

use std::{
    hint,
    marker::PhantomData,
    path::{Path, PathBuf},
    time::Duration,
};

use page::Pages;

pub use taktd::JoinError;
pub use words::{Group, Handoff, Overrun, Terms};

const SOCKET: &str = "/run/taktd/socket";
/// In the first argument of `sched_yield()`: the second one is a choice (bpf/beats/pass.h).
const PASS_MARK: u64 = 0x7461_6B74_6861_6E64;
const PIN: &std::ffi::CStr = c"/sys/fs/bpf/takt-beats/takt_jobs";

/// The calling thread's reservation, if it has one. Dropping this value does not end the
/// reservation; [`Beat::leave`] or the end of the thread does.
#[derive(Debug)]
pub struct Beat {
    joined: bool,
    /// The host's number of the thread.
    tid: u32,
    /// The index of its page.
    page: Option<(Pages, usize)>,
    overruns_seen: u64,
    /// It belongs to the thread that made it.
    _of_this_thread: PhantomData<*const ()>,
}

/// The job that a thread is in, or was in last. Times are CLOCK_MONOTONIC, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Job {
    /// The period's number from the clock's 0, from 1.
    pub number: u64,
    /// When it was to begin.
    pub beat_ns: u64,
    /// When its last slot ends.
    pub deadline_ns: u64,
    /// The task's period.
    pub period_ns: u64,
    /// The budget in each period.
    pub budget_ns: u64,
    /// Overruns of this task so far.
    pub overruns: u64,
}

impl Beat {
    /// Reserves time slots on these terms. The thread's timers are exact from then on, even if
    /// taktd refuses.
    ///
    /// # Errors
    /// taktd does not run, or refuses with a reason.
    pub fn join(terms: &Terms) -> Result<Self, JoinError> {
        Self::ask(Path::new(SOCKET), &words::join(gettid(), Some(terms)))
    }

    /// Reserves a member that the policy declares; `member` if the task is a group.
    ///
    /// # Errors
    /// As [`Beat::join`].
    pub fn join_task(task: &str, member: Option<&str>) -> Result<Self, JoinError> {
        Self::ask(Path::new(SOCKET), &words::join_task(gettid(), task, member))
    }

    /// The reservation that the thread already has, by the policy's rules or by `takt run`.
    ///
    /// # Errors
    /// It has none, or finding out needs privileges or taktd.
    pub fn own() -> Result<Self, JoinError> {
        be_exact();
        let tid = gettid();
        let find = |pages: Pages| {
            let at = pages.find(tid)?;
            Some((pages, at))
        };
        let found = Pages::open(PIN).and_then(find);
        let found = found.or_else(|| Pages::open_file(&dispatched(tid)).and_then(find));
        match found {
            Some(page) => Ok(Self::with(true, tid, Some(page))),
            None => Self::ask(Path::new(SOCKET), &words::join(tid, None)),
        }
    }

    /// No reservation: [`Beat::done`] is `sched_yield()`.
    pub fn without() -> Self {
        Self::with(false, gettid(), None)
    }

    /// Ends this job's work. Returns at the next beat; without Takt, after a `sched_yield()`. A
    /// thread that was released with a lead waits out the rest here, on the CPU.
    pub fn done(&self) {
        self.yield_or_wait();
        self.wait_out();
    }

    /// A dispatcher in the scheduler's place does not see a thread yield.
    fn yield_or_wait(&self) {
        if self
            .page
            .as_ref()
            .is_some_and(|(pages, at)| pages.wait(*at))
        {
            return;
        }
        // SAFETY: it has no arguments.
        unsafe { libc::sched_yield() };
    }

    /// In a group with [`Handoff::Free`]: passes this thread's turn to another member, from 1, and
    /// returns when another member passes it back. A member that does not wait for its turn is
    /// skipped: the next in order gets it that does. A number that is no other member's is
    /// [`Beat::done`]; the thread's own number keeps the turn. Without Takt, and for a group in
    /// order, as [`Beat::done`].
    pub fn pass(&self, member: u32) {
        yield_to(member);
        self.wait_out();
    }

    /// In a group with [`Handoff::Free`]: ends the group's work of this period; the first member
    /// begins the next. Returns when this thread has its turn again. Otherwise as [`Beat::done`].
    pub fn end(&self) {
        yield_to(0);
        self.wait_out();
    }

    fn wait_out(&self) {
        let Some(job) = self.job() else {
            return;
        };
        if !is_within_lead(&job, now_ns()) {
            return;
        }
        while now_ns() < job.beat_ns {
            hint::spin_loop();
        }
    }

    /// The current job; `None` without Takt, or if the reservation is lost.
    pub fn job(&self) -> Option<Job> {
        let (pages, at) = self.page.as_ref()?;
        pages.read(*at, self.tid)
    }

    /// Whether a job overran since the last call, or since the thread joined.
    pub fn overran(&mut self) -> bool {
        let Some(job) = self.job() else {
            return false;
        };
        let has = job.overruns != self.overruns_seen;
        self.overruns_seen = job.overruns;
        has
    }

    /// Why the thread's reservation was withdrawn, to make room for a policy's tasks; `None`
    /// while it exists. Until then the call only reads memory.
    pub fn lost(&self) -> Option<JoinError> {
        self.lost_by(Path::new(SOCKET))
    }

    fn lost_by(&self, socket: &Path) -> Option<JoinError> {
        if !self.joined || self.page.is_none() || self.job().is_some() {
            return None;
        }
        taktd::ask(socket, &words::join(gettid(), None)).err()
    }

    /// Makes this an ordinary thread again, and frees its reservation.
    ///
    /// # Errors
    /// taktd does not run any more, or refuses.
    pub fn leave(self) -> Result<(), JoinError> {
        if self.joined {
            taktd::ask(Path::new(SOCKET), &words::leave(gettid())).map(drop)
        } else {
            Ok(())
        }
    }

    fn ask(socket: &Path, request: &str) -> Result<Self, JoinError> {
        be_exact();
        let answer = taktd::ask(socket, request)?;
        let tid = answer.tid.unwrap_or_else(gettid);
        // Without pages the thread runs on the beat, but cannot read its job.
        let page = answer.pages.and_then(|pages| {
            let pages = Pages::map(pages)?;
            Some((pages, usize::try_from(answer.page?).ok()?))
        });
        Ok(Self::with(true, tid, page))
    }

    fn with(joined: bool, tid: u32, page: Option<(Pages, usize)>) -> Self {
        let mut beat = Self {
            joined,
            tid,
            page,
            overruns_seen: 0,
            _of_this_thread: PhantomData,
        };
        beat.overruns_seen = beat.job().map_or(0, |job| job.overruns);
        beat
    }
}

/// The pages of a thread that takt-dispatch keeps.
fn dispatched(tid: u32) -> PathBuf {
    PathBuf::from(format!("/run/takt-dispatch/jobs/{tid}"))
}

/// `sched_yield()` with a choice: a member from 1, or 0 for the end of the job.
fn yield_to(choice: u32) {
    let (mark, choice) = (PASS_MARK as libc::c_ulong, libc::c_ulong::from(choice));
    // SAFETY: without Takt the kernel does not look at these arguments.
    unsafe { libc::syscall(libc::SYS_sched_yield, mark, choice) };
}

/// A lead is at most a period; a beat further away is no lead.
fn is_within_lead(job: &Job, now_ns: u64) -> bool {
    now_ns < job.beat_ns && job.beat_ns - now_ns < job.period_ns
}

/// Without this, an ordinary thread's sleeps end up to 50 us late.
fn be_exact() {
    // SAFETY: a call by values; it cannot fail.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
}

fn gettid() -> u32 {
    // SAFETY: it has no arguments, and cannot fail.
    unsafe { libc::gettid() as u32 }
}

fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists, and the kernel writes to a valid structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32).as_nanos() as u64
}

#[cfg(test)]
#[path = "../tests/double/mod.rs"]
mod double;

#[cfg(test)]
mod tests {
    use super::*;
    use double::{Double, REFUSAL, RESERVATION};

    fn job(beat_ns: u64) -> Job {
        Job {
            beat_ns,
            period_ns: 1_000,
            ..Job::default()
        }
    }

    #[test]
    fn only_the_rest_of_a_lead_is_waited_out() {
        assert!(is_within_lead(&job(5_000), 4_900));
        assert!(!is_within_lead(&job(5_000), 5_000));
        assert!(!is_within_lead(&job(5_000), 5_100));
        assert!(!is_within_lead(&job(5_000), 4_000));
        assert!(!is_within_lead(&job(u64::MAX), 0));
    }

    #[test]
    fn without_takt_it_goes_on() {
        let mut beat = Beat::without();
        for _ in 0..3 {
            beat.done();
            beat.pass(2);
            beat.end();
        }
        assert_eq!(beat.job(), None);
        assert!(!beat.overran());
        beat.leave().expect("nothing to leave");
    }

    #[test]
    fn with_a_place_the_page_is_read() {
        let taktd = Double::start(vec![RESERVATION]);
        let beat_ns = now_ns() + 20_000_000;
        taktd.write_page(beat_ns);
        let mut beat = Beat::ask(taktd.socket(), "{}\n").expect("a reservation");
        let job = beat.job().expect("a job");
        assert_eq!(
            job,
            Job {
                number: 11,
                beat_ns,
                deadline_ns: beat_ns + 8_000_000,
                period_ns: 40_000_000,
                budget_ns: 8_000_000,
                overruns: 5,
            }
        );
        // Overruns from before it joined are not counted.
        assert!(!beat.overran());
        taktd.write_overruns(6);
        assert!(beat.overran());
        assert!(!beat.overran());
        // As if it had been released with a lead.
        beat.done();
        assert!(now_ns() >= beat_ns);
        assert_eq!(taktd.requests(), ["{}"]);
    }

    #[test]
    fn a_lost_reservation_is_reported() {
        let taktd = Double::start(vec![RESERVATION, REFUSAL]);
        taktd.write_page(now_ns());
        let beat = Beat::ask(taktd.socket(), "{}\n").expect("a reservation");
        assert!(beat.lost_by(taktd.socket()).is_none());
        taktd.take_reservation();
        assert_eq!(beat.job(), None);
        let why = beat.lost_by(taktd.socket()).expect("it is lost");
        assert_eq!(why.to_string(), double::REFUSAL_TEXT);
        assert!(Beat::without().lost().is_none());
    }

    #[test]
    fn a_refusal_is_in_taktds_words() {
        let taktd = Double::start(vec![REFUSAL]);
        let error = Beat::ask(taktd.socket(), "{}\n").expect_err("a refusal");
        assert_eq!(error.to_string(), double::REFUSAL_TEXT);
    }

    #[test]
    fn without_taktd_joining_says_so() {
        let error = Beat::ask(Path::new("/nonexistent"), "{}").expect_err("there is no taktd");
        assert!(matches!(error, JoinError::NotRunning));
        // SAFETY: a call by values.
        let slack_ns = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) };
        assert_eq!(slack_ns, 1);
    }
}
