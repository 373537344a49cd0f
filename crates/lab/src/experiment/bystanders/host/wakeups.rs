//! As schbench: message threads wake workers, which compute a little and sleep again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use crate::experiment::beats::{Work, now_ns};

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Fewer workers than processors, busy half of the time.
    Partial,
    /// Four workers for each processor, which are asked for more than they can do.
    Over,
}

/// The threads of a load.
struct Cast {
    messengers: usize,
    workers_each: usize,
    work_ns: u64,
    /// The mean time between a message thread's rounds.
    pause_ns: u64,
}

impl Load {
    pub fn case(self) -> &'static str {
        match self {
            Self::Partial => "wakeups-partial",
            Self::Over => "wakeups-over",
        }
    }

    /// Processors that take turns do as much as one, so the pause grows with the workers.
    fn cast(self, cpus: usize) -> Cast {
        let (messengers, workers_each, work_ns) = match self {
            Self::Partial => (1, cpus.div_ceil(2), 500 * US),
            Self::Over => (2, 2 * cpus, 2 * MS),
        };
        let pause_ns = match self {
            Self::Partial => 2 * workers_each as u64 * work_ns,
            Self::Over => cpus as u64 * work_ns,
        };
        Cast {
            messengers,
            workers_each,
            work_ns,
            pause_ns,
        }
    }
}

/// What a worker and its message thread share.
struct Desk {
    /// When the worker was woken; 0 once it has seen that.
    woken_ns: AtomicU64,
    is_idle: AtomicBool,
    done: AtomicBool,
}

impl Desk {
    fn new() -> Self {
        Self {
            woken_ns: AtomicU64::new(0),
            is_idle: AtomicBool::new(true),
            done: AtomicBool::new(false),
        }
    }
}

/// The time from waking a worker until it runs, of all wake-ups.
pub fn run(load: Load, cpus: usize, short: bool) -> Vec<u64> {
    let length = Duration::from_millis(if short { 250 } else { 1_000 });
    let cast = load.cast(cpus);
    let work = Work::calibrate();
    let end_ns = now_ns() + length.as_nanos() as u64;
    let desks: Vec<Vec<Desk>> = (0..cast.messengers)
        .map(|_| (0..cast.workers_each).map(|_| Desk::new()).collect())
        .collect();
    std::thread::scope(|scope| {
        let messengers: Vec<_> = desks
            .iter()
            .enumerate()
            .map(|(at, desks)| {
                let cast = &cast;
                scope.spawn(move || send_messages(scope, desks, cast, work, at, end_ns))
            })
            .collect();
        messengers.into_iter().flat_map(joined).collect()
    })
}

/// Starts its workers, and wakes those that are idle, round after round.
fn send_messages<'scope>(
    scope: &'scope Scope<'scope, '_>,
    desks: &'scope [Desk],
    cast: &Cast,
    work: Work,
    seed: usize,
    end_ns: u64,
) -> Vec<u64> {
    let work_ns = cast.work_ns;
    let workers: Vec<_> = desks
        .iter()
        .map(|desk| scope.spawn(move || work_when_woken(desk, work, work_ns)))
        .collect();
    let mut pauses = Pauses::new(cast.pause_ns, seed);
    while now_ns() < end_ns {
        std::thread::sleep(pauses.next());
        for (desk, worker) in desks.iter().zip(&workers) {
            if desk.is_idle.swap(false, Ordering::AcqRel) {
                desk.woken_ns.store(now_ns(), Ordering::Release);
                worker.thread().unpark();
            }
        }
    }
    for (desk, worker) in desks.iter().zip(&workers) {
        desk.done.store(true, Ordering::Release);
        worker.thread().unpark();
    }
    workers.into_iter().flat_map(joined).collect()
}

fn work_when_woken(desk: &Desk, work: Work, work_ns: u64) -> Vec<u64> {
    let mut latencies_ns = Vec::new();
    let piece = work.of_ns(work_ns);
    while !desk.done.load(Ordering::Acquire) {
        match desk.woken_ns.swap(0, Ordering::AcqRel) {
            0 => std::thread::park(),
            woken_ns => {
                latencies_ns.push(now_ns() - woken_ns);
                piece.perform();
                desk.is_idle.store(true, Ordering::Release);
            }
        }
    }
    latencies_ns
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Between half and one and a half of the mean, the same in every run: rounds do not keep step
/// with the kernel's ticks.
struct Pauses {
    mean_ns: u64,
    state: u64,
}

impl Pauses {
    fn new(mean_ns: u64, seed: usize) -> Self {
        Self {
            mean_ns,
            state: seed as u64 + 1,
        }
    }

    fn next(&mut self) -> Duration {
        // Knuth's MMIX generator, whose upper bits are the good ones.
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        Duration::from_nanos(self.mean_ns / 2 + (self.state >> 33) % self.mean_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_vary_around_their_mean() {
        let mut pauses = Pauses::new(1_000, 0);
        let all: Vec<_> = (0..1_000).map(|_| pauses.next().as_nanos()).collect();
        assert!(all.iter().all(|pause| (500..1_500).contains(pause)));
        let mean = all.iter().sum::<u128>() / 1_000;
        assert!((950..1_050).contains(&mean), "{mean}");
    }

    #[test]
    fn every_wake_up_has_its_latency() {
        let latencies = run(Load::Partial, 2, true);
        assert!(latencies.len() > 10, "{}", latencies.len());
    }
}
