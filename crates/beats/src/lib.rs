//! For threads that run on the beat: to take a place in the time-slot table, to say that a
//! period's work is done, and to read which beat it is.
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

mod page;
mod taktd;
mod words;

use std::{hint, marker::PhantomData, path::Path, time::Duration};

use page::Pages;

pub use taktd::JoinError;
pub use words::{Group, Overrun, Terms};

const SOCKET: &str = "/run/taktd/socket";
const PIN: &std::ffi::CStr = c"/sys/fs/bpf/takt-beats/takt_jobs";

/// The calling thread's place on the beat, if it has one. Dropping it leaves the thread where
/// it is: a place goes with [`Beat::leave`], or with the thread.
#[derive(Debug)]
pub struct Beat {
    joined: bool,
    /// As the host numbers it.
    tid: u32,
    /// Which page is its own, of those there are.
    page: Option<(Pages, usize)>,
    overruns_seen: u64,
    /// It is about the thread that made it.
    _of_this_thread: PhantomData<*const ()>,
}

/// The job that a thread is in, or was in last. Times are CLOCK_MONOTONIC, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Job {
    /// Counted from the clock's 0 in periods, from 1.
    pub number: u64,
    /// When it was to begin.
    pub beat_ns: u64,
    /// When its last slot ends.
    pub deadline_ns: u64,
    /// How often it runs.
    pub period_ns: u64,
    /// How long it may run in each period.
    pub budget_ns: u64,
    /// Jobs of this task that were cut.
    pub overruns: u64,
}

impl Beat {
    /// Take a place on terms of one's own. Its timers are exact from then on, whatever comes
    /// of it.
    ///
    /// # Errors
    /// taktd does not run, or refuses, and says why.
    pub fn join(terms: &Terms) -> Result<Self, JoinError> {
        Self::ask(Path::new(SOCKET), &words::join(gettid(), Some(terms)))
    }

    /// Take a place that the policy declares; `member` if the task is a group.
    ///
    /// # Errors
    /// As [`Beat::join`].
    pub fn join_task(task: &str, member: Option<&str>) -> Result<Self, JoinError> {
        Self::ask(Path::new(SOCKET), &words::join_task(gettid(), task, member))
    }

    /// The place that the thread has already, by the policy's rules or by `takt run`.
    ///
    /// # Errors
    /// It has none, or that is not to be found out: without privileges by taktd alone.
    pub fn own() -> Result<Self, JoinError> {
        be_exact();
        let tid = gettid();
        let found = Pages::open(PIN).and_then(|pages| {
            let at = pages.find(tid)?;
            Some((pages, at))
        });
        match found {
            Some(page) => Ok(Self::with(true, tid, Some(page))),
            None => Self::ask(Path::new(SOCKET), &words::join(tid, None)),
        }
    }

    /// No place: done is `sched_yield()`.
    pub fn without() -> Self {
        Self::with(false, gettid(), None)
    }

    /// This job's work is done. Returns at the next beat; without Takt, after a
    /// `sched_yield()`. Who was released with a lead waits out the rest here, on the CPU.
    pub fn done(&self) {
        // SAFETY: it has no arguments.
        unsafe { libc::sched_yield() };
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

    /// Which job it is; `None` without Takt, or if the place is lost.
    pub fn job(&self) -> Option<Job> {
        let (pages, at) = self.page.as_ref()?;
        pages.read(*at, self.tid)
    }

    /// Whether a job was cut since this was asked last, or since the thread joined.
    pub fn overran(&mut self) -> bool {
        let Some(job) = self.job() else {
            return false;
        };
        let has = job.overruns != self.overruns_seen;
        self.overruns_seen = job.overruns;
        has
    }

    /// Why the place that the thread joined was taken back since, to make room for the tasks of a policy;
    /// `None` while it is there. Reads memory alone as long as it is.
    pub fn lost(&self) -> Option<JoinError> {
        self.lost_by(Path::new(SOCKET))
    }

    fn lost_by(&self, socket: &Path) -> Option<JoinError> {
        if !self.joined || self.page.is_none() || self.job().is_some() {
            return None;
        }
        taktd::ask(socket, &words::join(gettid(), None)).err()
    }

    /// An ordinary thread again. What was taken on terms is free for others.
    ///
    /// # Errors
    /// taktd does not run any more, or refuses.
    pub fn leave(self) -> Result<(), JoinError> {
        match self.joined {
            true => taktd::ask(Path::new(SOCKET), &words::leave(gettid())).map(drop),
            false => Ok(()),
        }
    }

    fn ask(socket: &Path, request: &str) -> Result<Self, JoinError> {
        be_exact();
        let answer = taktd::ask(socket, request)?;
        let tid = answer.tid.unwrap_or_else(gettid);
        // Without pages it runs on the beat, and does not know which.
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

/// Further away than a period is nobody's lead.
fn is_within_lead(job: &Job, now_ns: u64) -> bool {
    now_ns < job.beat_ns && job.beat_ns - now_ns < job.period_ns
}

/// Without this an ordinary thread's sleeps end up to 50 us late.
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
    // SAFETY: the clock exists, and it is told where to write.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32).as_nanos() as u64
}

#[cfg(test)]
#[path = "../tests/double/mod.rs"]
mod double;

#[cfg(test)]
mod tests {
    use super::*;
    use double::{Double, PLACE, REFUSAL};

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
        }
        assert_eq!(beat.job(), None);
        assert!(!beat.overran());
        beat.leave().expect("nothing to leave");
    }

    #[test]
    fn with_a_place_the_page_is_read() {
        let taktd = Double::start(vec![PLACE]);
        let beat_ns = now_ns() + 20_000_000;
        taktd.write_page(beat_ns);
        let mut beat = Beat::ask(taktd.socket(), "{}\n").expect("a place");
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
        // Those from before it came are not its own.
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
    fn a_place_that_is_lost_is_told_of() {
        let taktd = Double::start(vec![PLACE, REFUSAL]);
        taktd.write_page(now_ns());
        let beat = Beat::ask(taktd.socket(), "{}\n").expect("a place");
        assert!(beat.lost_by(taktd.socket()).is_none());
        taktd.take_place();
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
        let error = Beat::ask(Path::new("/nonexistent"), "{}").expect_err("nobody is there");
        assert!(matches!(error, JoinError::NotRunning));
        // SAFETY: a call by values.
        let slack_ns = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) };
        assert_eq!(slack_ns, 1);
    }
}
