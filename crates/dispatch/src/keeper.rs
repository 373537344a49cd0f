//! Keeps the tables: finds the threads of the tasks, gives them to the processors' threads, and
//! takes them back.

use std::{
    fs::File,
    io,
    os::fd::AsFd,
    sync::{Arc, atomic::AtomicBool, atomic::Ordering},
    time::{Duration, Instant},
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        mman::{MlockAllFlags, mlockall},
        signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction},
        signalfd::{SfdFlags, SignalFd},
    },
};

use takt_beats::page::Job;

use crate::{
    attributes::{Attributes, set_cpus},
    clock::Clock,
    cycle::Cycle,
    error::{Error, Result},
    matching::{Seen, assign},
    member::{Member, Thread},
    page::Page,
    plan::Plan,
    processes::{Stat, candidates},
    processor::{Processor, Shared},
    record::{Entry, Record, close_page, jobs_folder, replace},
    status::{self, CpuStatus, Status, TaskStatus},
};

/// How often threads are looked for, and ended ones noticed.
const SCAN: Duration = Duration::from_millis(500);

pub struct Keeper {
    plan: Plan,
    shared: Arc<Shared>,
    processors: Vec<Processor>,
    kept: Vec<Option<Arc<Thread>>>,
    /// Why the thread that matched a task last is not kept.
    problems: Vec<Option<String>>,
    record: Record,
}

impl Keeper {
    /// Starts a thread for each CPU that has slots.
    pub fn start(plan: Plan, priority: u8) -> Result<Self> {
        mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE)
            .map_err(|error| Error::doing("lock memory")(error.into()))?;
        let shared = Arc::new(Shared {
            clock: Clock::new(plan.clock),
            tasks: plan.tasks.clone(),
            ends_ns: plan.ends_ns.clone(),
            members: plan.tasks.iter().map(|_| Member::new()).collect(),
            priority,
            stop: AtomicBool::new(false),
        });
        interrupt_sleeps()?;
        let mut keeper = Self {
            shared,
            processors: Vec::new(),
            kept: plan.tasks.iter().map(|_| None).collect(),
            problems: plan.tasks.iter().map(|_| None).collect(),
            record: Record::default(),
            plan,
        };
        for table in &keeper.plan.tables {
            let cycle = Cycle::new(table.clone());
            let started = Processor::start(table.cpu, cycle, Arc::clone(&keeper.shared));
            match started {
                Ok(processor) => keeper.processors.push(processor),
                Err(error) => {
                    keeper.stop();
                    return Err(match error.raw_os_error() {
                        Some(libc::EPERM) => Error::NoRealtime,
                        _ => Error::doing("start a CPU's thread")(error),
                    });
                }
            }
        }
        Ok(keeper)
    }

    /// Until one of these signals comes, which are blocked.
    pub fn keep(mut self, signals: &SigSet) -> Result<()> {
        let ends = SignalFd::with_flags(signals, SfdFlags::SFD_CLOEXEC)
            .map_err(|error| Error::doing("wait for signals")(error.into()))?;
        loop {
            let begun = Instant::now();
            let done = self.look_around();
            if let Err(error) = done {
                self.stop();
                return Err(error);
            }
            let left = SCAN.saturating_sub(begun.elapsed()).max(SCAN / 10);
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
            let mut polled = [PollFd::new(ends.as_fd(), PollFlags::POLLIN)];
            if poll(&mut polled, timeout).is_ok_and(|ready| ready > 0) {
                self.stop();
                return Ok(());
            }
        }
    }

    fn look_around(&mut self) -> Result<()> {
        for at in 0..self.kept.len() {
            let is_over = |thread: &Arc<Thread>| {
                thread.is_gone.load(Ordering::Relaxed) || thread.look().is_none()
            };
            if self.kept[at].as_ref().is_some_and(is_over) {
                self.let_go(at)?;
            }
        }
        let has: Vec<bool> = self.kept.iter().map(Option::is_some).collect();
        if has.contains(&false) {
            let tasks = self.plan.tasks.iter().zip(&has);
            let wanted = tasks.filter(|(_, has)| !**has).map(|(task, _)| task);
            let seen = candidates(wanted).map_err(Error::file("/proc"))?;
            let kept: Vec<i32> = self
                .kept
                .iter()
                .flatten()
                .map(|thread| thread.tid)
                .collect();
            let free = seen.into_iter().filter(|seen| !kept.contains(&seen.tid));
            for (at, seen) in assign(&self.plan.tasks, &has, free.collect()) {
                self.problems[at] = self.take(at, &seen)?.err();
            }
        }
        self.tell()
    }

    /// The thread has the task from its next slot on. The inner error is why it has not.
    fn take(&mut self, at: usize, seen: &Seen) -> Result<std::result::Result<(), String>> {
        let said = |doing: &str, error: io::Error| {
            Ok(Err(format!(
                "thread {} ({}): {doing}: {error}",
                seen.tid, seen.thread
            )))
        };
        let before = match Attributes::for_thread(seen.tid) {
            Ok(before) if before.is_ordinary() => before,
            Ok(_) => {
                return Ok(Err(format!(
                    "thread {} ({}) has a real-time class of its own: start the program without it",
                    seen.tid, seen.thread
                )));
            }
            Err(error) => return said("read its class", error),
        };
        let stat = match File::open(format!("/proc/{}/stat", seen.tid)) {
            Ok(stat) => stat,
            Err(error) => return said("look at it", error),
        };
        self.record.add(Entry {
            tid: seen.tid,
            started: seen.started,
            before: before.clone(),
        })?;
        let home = self.plan.home_of(at).map(|cpu| cpu as usize);
        let task = &self.plan.tasks[at];
        let before_first = Job {
            period_ns: task.period_ns.whole_ns(),
            budget_ns: task.budget_ns,
            ..Job::default()
        };
        let page = set_cpus(seen.tid, home)
            .and_then(|()| Page::create(&jobs_folder(), seen.tid, seen.uid, &before_first));
        let page = match page {
            Ok(page) => page,
            Err(error) => {
                let _ = before.restore(seen.tid);
                self.record.remove(seen.tid)?;
                return said("put it on its CPU", error);
            }
        };
        let thread = Arc::new(Thread {
            pid: seen.pid,
            tid: seen.tid,
            started: seen.started,
            before,
            page,
            stat,
            settled: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
        });
        self.kept[at] = Some(Arc::clone(&thread));
        self.give(at, Some(thread));
        Ok(Ok(()))
    }

    fn let_go(&mut self, at: usize) -> Result<()> {
        self.give(at, None);
        let Some(thread) = self.kept[at].take() else {
            return Ok(());
        };
        if Stat::for_thread(thread.tid).is_some_and(|stat| stat.started == thread.started) {
            let _ = thread.before.restore(thread.tid);
        }
        close_page(thread.tid);
        self.record.remove(thread.tid)
    }

    fn give(&self, at: usize, thread: Option<Arc<Thread>>) {
        // A processor's thread does not panic while it has it.
        if let Ok(mut slot) = self.shared.members[at].thread.lock() {
            *slot = thread;
        }
    }

    fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.processors.drain(..).for_each(Processor::join);
        // The supervisor restores what is left of it.
        for at in 0..self.kept.len() {
            let _ = self.let_go(at);
        }
    }

    fn tell(&self) -> Result<()> {
        let task = |at: usize| {
            let task = &self.plan.tasks[at];
            let status = TaskStatus {
                name: task.name.clone(),
                cpu: self.plan.home_of(at),
                period_ns: task.period_ns.rounded_ns(),
                budget_ns: task.budget_ns,
                tid: self.kept[at].as_ref().map(|thread| thread.tid),
                jobs_count: 0,
                overruns_count: 0,
                skipped_slots_count: 0,
                late_p50_ns: 0,
                late_p99_ns: 0,
                late_max_ns: 0,
                problem: self.problems[at].clone(),
            };
            status.count(&self.shared.members[at])
        };
        let cpu = |processor: &Processor| CpuStatus {
            cpu: processor.cpu,
            missed_slots_count: processor.missed.load(Ordering::Relaxed),
        };
        let status = Status {
            pid: std::process::id(),
            clock: self.plan.clock,
            priority: self.shared.priority,
            cpus: self.processors.iter().map(cpu).collect(),
            tasks: (0..self.plan.tasks.len()).map(task).collect(),
        };
        let text = serde_json::to_vec_pretty(&status).map_err(|error| {
            Error::file(status::FILE)(io::Error::new(io::ErrorKind::InvalidData, error))
        })?;
        replace(status::FILE, &text, 0o644)
    }
}

/// SIGUSR1 ends the sleep of a processor's thread, and does nothing else.
fn interrupt_sleeps() -> Result<()> {
    extern "C" fn nothing(_: libc::c_int) {}
    let action = SigAction::new(
        SigHandler::Handler(nothing),
        SaFlags::empty(),
        SigSet::empty(),
    );
    // SAFETY: the handler does nothing.
    unsafe { sigaction(Signal::SIGUSR1, &action) }
        .map(drop)
        .map_err(|error| Error::doing("handle SIGUSR1")(error.into()))
}
