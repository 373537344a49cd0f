//! The thread that keeps one CPU's table. It sleeps until something is due, and has a higher
//! priority than the threads that it releases.

use std::{
    io,
    os::unix::thread::JoinHandleExt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nix::{sys::pthread::pthread_kill, sys::signal::Signal};
use takt_beats::page::Job;
use takt_policy::{Overrun, Task};

use crate::{
    attributes::{raise, set_cpus},
    clock::Clock,
    cycle::{Cycle, Span},
    member::{Member, Thread},
};

/// An edge that is counted from a frame and from a period may differ so much, with fractions.
const SAME_EDGE_NS: u64 = 2;

/// What all processors' threads know.
#[derive(Debug)]
pub struct Shared {
    pub clock: Clock,
    pub tasks: Vec<Task>,
    /// When the last slot of each task's period ends, as a phase of the period.
    pub ends_ns: Vec<u64>,
    /// Of the tasks, in their order.
    pub members: Vec<Member>,
    /// The dispatcher's; the threads have one less.
    pub priority: u8,
    pub stop: AtomicBool,
}

impl Shared {
    /// The number of the job that a slot is of, from the clock's zero and from 1.
    fn job_at(&self, span: &Span) -> u64 {
        self.tasks[span.task].period_ns.whole_in(span.beat_ns) + 1
    }

    /// When the last slot of a job ends.
    fn end_of(&self, job: u64, task: usize) -> u64 {
        self.tasks[task].period_ns.edge_ns(job - 1) + self.ends_ns[task]
    }
}

/// A CPU that is kept.
#[derive(Debug)]
pub struct Processor {
    pub cpu: u32,
    pub missed: Arc<AtomicU64>,
    running: JoinHandle<()>,
}

impl Processor {
    /// # Errors
    /// The CPU is not this process's, or the class is refused.
    pub fn start(cpu: u32, cycle: Cycle, shared: Arc<Shared>) -> io::Result<Self> {
        let missed = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&missed);
        let (said, hears) = std::sync::mpsc::sync_channel(1);
        let running = thread::Builder::new()
            .name(format!("takt-cpu-{cpu}"))
            .spawn(move || {
                let prepared = set_cpus(0, [cpu as usize]).and_then(|()| raise(0, shared.priority));
                let is_ready = prepared.is_ok();
                // The receiver waits for it.
                let _ = said.send(prepared);
                if is_ready {
                    keep(cpu, cycle, &shared, &counted);
                }
            })?;
        hears.recv().map_err(io::Error::other)??;
        Ok(Self {
            cpu,
            missed,
            running,
        })
    }

    /// Wakes the thread, which finds that it is to stop, and waits for its end.
    pub fn join(self) {
        while !self.running.is_finished() {
            // A thread that ended meanwhile is all right.
            let _ = pthread_kill(self.running.as_pthread_t(), Signal::SIGUSR1);
            thread::sleep(Duration::from_millis(1));
        }
        let _ = self.running.join();
    }
}

fn keep(cpu: u32, mut cycle: Cycle, shared: &Shared, missed: &AtomicU64) {
    while !shared.stop.load(Ordering::Acquire) {
        let step = cycle.step(shared.clock.now_ns());
        if let Some(ended) = step.ended {
            end(&ended, shared);
        }
        if let Some(begun) = step.begun {
            begin(cpu, &begun, shared);
        }
        missed.fetch_add(step.missed, Ordering::Relaxed);
        shared.clock.sleep_until(step.wake_ns);
    }
    if let Some(open) = cycle.close() {
        end(&open, shared);
    }
}

fn begin(cpu: u32, span: &Span, shared: &Shared) {
    let (task, member) = (&shared.tasks[span.task], &shared.members[span.task]);
    let Ok(slot) = member.thread.try_lock() else {
        member.skipped.fetch_add(1, Ordering::Relaxed);
        return;
    };
    let Some(thread) = slot.as_ref() else {
        return;
    };
    if raise(thread.tid, shared.priority - 1).is_err() {
        thread
            .is_gone
            .store(thread.look().is_none(), Ordering::Relaxed);
        member.skipped.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let job = shared.job_at(span);
    if member.job.swap(job, Ordering::Relaxed) == job {
        // The budget goes on, and maybe on another CPU.
        let _ = set_cpus(thread.tid, [cpu as usize]);
        return;
    }
    // A page counts in CLOCK_MONOTONIC, whatever the table counts in.
    let (here_ns, there_ns) = (shared.clock.now_ns(), Clock::MONOTONIC.now_ns());
    let in_page = |time_ns: u64| there_ns.wrapping_add(time_ns).wrapping_sub(here_ns);
    thread.page.begin(&Job {
        number: job,
        beat_ns: in_page(span.beat_ns),
        deadline_ns: in_page(shared.end_of(job, span.task)),
        period_ns: task.period_ns.whole_ns(),
        budget_ns: task.budget_ns,
        overruns: member.overruns.load(Ordering::Relaxed),
    });
    member.note_release(here_ns.saturating_sub(span.begin_ns));
}

fn end(span: &Span, shared: &Shared) {
    let (task, member) = (&shared.tasks[span.task], &shared.members[span.task]);
    // The keeper has it while a thread comes, which is not in a slot yet, or goes.
    let Ok(slot) = member.thread.try_lock() else {
        return;
    };
    let Some(thread) = slot.as_ref() else {
        return;
    };
    let _ = thread.before.restore_class(thread.tid);
    if span.end_ns + SAME_EDGE_NS < shared.end_of(shared.job_at(span), span.task) {
        // Another piece of its budget comes.
        return;
    }
    match thread.look() {
        None => thread.is_gone.store(true, Ordering::Relaxed),
        Some(stat) if !stat.is_ready => thread.settled.store(true, Ordering::Relaxed),
        Some(_) => overrun(task, member, thread),
    }
}

fn overrun(task: &Task, member: &Member, thread: &Thread) {
    member.overruns.fetch_add(1, Ordering::Relaxed);
    if task.overrun != Overrun::Signal || !thread.settled.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: a call by values. A thread that has ended is no failure.
    unsafe { libc::syscall(libc::SYS_tgkill, thread.pid, thread.tid, libc::SIGXCPU) };
}
