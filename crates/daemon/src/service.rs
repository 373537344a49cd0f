//! What taktd does periodically for a policy. Each service runs in a thread of its own, so that
//! services and requests do not wait for each other.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use takt_host::Source;
use takt_policy::{Policy, parse_in};
use tracing::{info, warn};

use crate::server::now_ns;

/// How long a service's end is waited for. A service that takes longer, in a driver or a file system
/// that does not answer, ends by itself or with the process.
const END_PATIENCE: Duration = Duration::from_millis(300);

/// A periodic job.
pub(crate) trait Service<S> {
    /// Do the next step, and return when the next one is due. A failure is retried then.
    fn step(&mut self, now_ns: u64) -> (u64, Result<(), String>);

    /// What it reports, if anything.
    fn said(&self) -> Option<S> {
        None
    }

    fn end(&mut self) {}
}

/// Makes a service, in the service's own thread.
pub(crate) type Make<S> = Box<dyn FnOnce() -> Box<dyn Service<S>> + Send>;

/// The services of the policy in force.
pub(crate) struct Services<S> {
    /// What they are about.
    called: &'static str,
    running: Option<Running<S>>,
}

struct Running<S> {
    source: Source,
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<()>>,
    /// Disconnected when the last of them has ended.
    at_work: Receiver<()>,
    /// By each thread, as of the end of its last step.
    said: Vec<Arc<Mutex<Option<S>>>>,
}

impl<S: Clone + Send + 'static> Services<S> {
    pub fn new(called: &'static str) -> Self {
        Self {
            called,
            running: None,
        }
    }

    /// Follow this policy from now on.
    pub fn follow(
        &mut self,
        source: Option<Source>,
        services: impl FnOnce(&Policy) -> Vec<Make<S>>,
    ) {
        if source.as_ref() == self.running.as_ref().map(|running| &running.source) {
            return;
        }
        self.end();
        self.running = source.map(|source| {
            // The same program read it when it was applied.
            let policy = parse_in(&source.folder, &source.name, &source.text);
            let services = policy.as_ref().map(services).unwrap_or_default();
            Running::start(self.called, source, services)
        });
    }

    pub fn said(&self) -> Vec<S> {
        let said = self.running.iter().flat_map(|running| &running.said);
        said.filter_map(|said| lock(said).clone()).collect()
    }

    pub fn end(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop.tell();
            if running.at_work.recv_timeout(END_PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let called = self.called;
                warn!(part = called, "{called}: it does not end; left behind");
                return;
            }
            for thread in running.threads {
                let _ = thread.join();
            }
        }
    }
}

impl<S: Send + 'static> Running<S> {
    fn start(called: &'static str, source: Source, services: Vec<Make<S>>) -> Self {
        let stop = Arc::new(Stop::default());
        let (mut threads, mut all_said) = (Vec::new(), Vec::new());
        let (works, at_work): (Sender<()>, _) = channel();
        for make in services {
            let works = works.clone();
            let stop = Arc::clone(&stop);
            let said = Arc::new(Mutex::new(None));
            all_said.push(Arc::clone(&said));
            let run = move || {
                // Dropped at the end, on every path.
                let _works = works;
                let mut service = make();
                let mut problem = Problem::new(called);
                loop {
                    let (next_ns, result) = service.step(now_ns());
                    *lock(&said) = service.said();
                    problem.tell(result.err());
                    if stop.wait(next_ns.saturating_sub(now_ns())) {
                        service.end();
                        return;
                    }
                }
            };
            let thread = thread::Builder::new().name(format!("taktd {called}"));
            threads.extend(thread.spawn(run).ok());
        }
        Self {
            source,
            stop,
            threads,
            at_work,
            said: all_said,
        }
    }
}

/// The data is consistent wherever a thread may panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Logs each problem once.
struct Problem {
    about: &'static str,
    last: Option<String>,
}

impl Problem {
    fn new(about: &'static str) -> Self {
        Self { about, last: None }
    }

    fn tell(&mut self, problem: Option<String>) {
        if problem == self.last {
            return;
        }
        let part = self.about;
        match &problem {
            Some(problem) => warn!(part, "{part}: {problem}"),
            None => info!(part, "{part}: all is well again"),
        }
        self.last = problem;
    }
}

/// Tells threads to stop, and wakes those that wait for it.
#[derive(Default)]
struct Stop {
    told: Mutex<bool>,
    bell: Condvar,
}

impl Stop {
    fn tell(&self) {
        *lock(&self.told) = true;
        self.bell.notify_all();
    }

    /// Whether the stop came within this time.
    fn wait(&self, patience_ns: u64) -> bool {
        let told = lock(&self.told);
        let patience = Duration::from_nanos(patience_ns);
        let waited = self.bell.wait_timeout_while(told, patience, |told| !*told);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, time::Instant};

    use super::*;

    struct Stuck {
        for_ms: u64,
    }

    impl Service<()> for Stuck {
        fn step(&mut self, now_ns: u64) -> (u64, Result<(), String>) {
            thread::sleep(Duration::from_millis(self.for_ms));
            (now_ns + 1_000_000_000, Ok(()))
        }
    }

    fn services(for_ms: u64) -> Services<()> {
        let mut services = Services::new("test");
        let source = Source {
            folder: PathBuf::new(),
            name: "policy.toml".to_owned(),
            text: String::new(),
        };
        services.follow(Some(source), |_| {
            vec![Box::new(move || Box::new(Stuck { for_ms }))]
        });
        services
    }

    #[test]
    fn a_part_that_does_not_end_keeps_none_from_ending() {
        let began = Instant::now();
        services(60_000).end();
        assert!(began.elapsed() < Duration::from_secs(10));
        let mut prompt = services(0);
        prompt.end();
        assert!(prompt.running.is_none());
    }
}
