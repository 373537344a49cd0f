//! What a policy's `[radio]` has taktd do: look after stations' weights, or say how well
//! this client hears. Each in a thread of its own, so that neither waits for what else
//! taktd is asked, nor the other way round.

mod access_point;
mod client;
mod own;
mod table;

use std::{
    io::{self, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use takt_kernel::{Error, Heard, Source, applied_radio};
use takt_policy::{Policy, parse_in};

use crate::server::now_ns;

/// What is done for the policy of this network namespace.
#[derive(Default)]
pub(crate) struct Radio {
    running: Option<Running>,
}

struct Running {
    source: Source,
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<()>>,
    /// By each thread that hears anybody, as it was at the end of its last step.
    heard: Vec<Arc<Mutex<Option<Heard>>>>,
}

impl Radio {
    /// Do what the policy in force says now.
    pub fn follow(&mut self) -> Result<(), Error> {
        let source = applied_radio()?;
        if source.as_ref() == self.running.as_ref().map(|running| &running.source) {
            return Ok(());
        }
        self.end();
        self.running = source.map(Running::start);
        Ok(())
    }

    /// What is heard of stations, by source.
    pub fn heard(&self) -> Vec<Heard> {
        let heard = self.running.iter().flat_map(|running| &running.heard);
        let last = |heard: &Mutex<Option<Heard>>| lock(heard).clone();
        heard.filter_map(|heard| last(heard)).collect()
    }

    /// Stations' weights go, and with them what was known of stations.
    pub fn end(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop.tell();
            for thread in running.threads {
                let _ = thread.join();
            }
        }
    }
}

impl Running {
    fn start(source: Source) -> Self {
        let stop = Arc::new(Stop::default());
        let (mut threads, mut heard) = (Vec::new(), Vec::new());
        // It was read when it was applied, by the same program.
        let policy = parse_in(&source.folder, &source.name, &source.text);
        for make in policy.iter().flat_map(parts) {
            let stop = Arc::clone(&stop);
            let said = Arc::new(Mutex::new(None));
            heard.push(Arc::clone(&said));
            let run = move || {
                let mut part = make();
                let mut problem = Problem::default();
                loop {
                    let (next_ns, result) = part.step(now_ns());
                    *lock(&said) = part.heard();
                    problem.tell(result.err());
                    if stop.wait(next_ns.saturating_sub(now_ns())) {
                        part.end();
                        return;
                    }
                }
            };
            let thread = thread::Builder::new().name("taktd radio".to_owned());
            threads.extend(thread.spawn(run).ok());
        }
        Self {
            source,
            stop,
            threads,
            heard,
        }
    }
}

/// Something that is to be done again and again.
trait Part {
    /// Do it, and say when next. What fails is tried again then.
    fn step(&mut self, now_ns: u64) -> (u64, Result<(), String>);

    /// What it has heard so far, if it listens to anybody.
    fn heard(&self) -> Option<Heard> {
        None
    }

    fn end(&mut self) {}
}

/// Nothing is half done where a thread may panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a part, in the thread that it is for.
type Make = Box<dyn FnOnce() -> Box<dyn Part> + Send>;

fn parts(policy: &Policy) -> Vec<Make> {
    let Some(radio) = &policy.radio else {
        return Vec::new();
    };
    let links = policy.links.iter().filter(|link| link.has_stations);
    let devices = links.map(|link| link.device.clone()).collect();
    let groups = access_point::groups(radio, devices).into_iter();
    let cells = groups.map(|devices| -> Make {
        let radio = radio.clone();
        Box::new(move || Box::new(access_point::Cell::of(&radio, &devices)))
    });
    let reporter = radio.report.clone().map(|report| -> Make {
        let radio = radio.clone();
        Box::new(move || Box::new(client::Reporter::new(&radio, &report)))
    });
    cells.chain(reporter).collect()
}

/// Complains once about each thing.
#[derive(Default)]
struct Problem(Option<String>);

impl Problem {
    fn tell(&mut self, problem: Option<String>) {
        if problem == self.0 {
            return;
        }
        let said = problem.as_deref().unwrap_or("all is well again");
        let _ = writeln!(io::stderr(), "taktd: radio: {said}");
        self.0 = problem;
    }
}

/// The word to stop, for threads that wait for it.
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

    /// Whether it came within this time.
    fn wait(&self, patience_ns: u64) -> bool {
        let told = lock(&self.told);
        let patience = Duration::from_nanos(patience_ns);
        let waited = self.bell.wait_timeout_while(told, patience, |told| !*told);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
