//! What the sending processor runs besides packets: tasks that want it in turn, of which the most
//! important has it. Classes behind the gate wait for those that are more important than their
//! senders (`algo/gate.h`).

use takt_algo::sys::TAKT_CPU_IDLE;
use takt_policy::traffic::Task;

use crate::random::Random;

/// The number of the first task's random numbers; flows count from 0 on, the host from the end.
const FIRST: u64 = 1 << 40;

/// As `takt_task_prio` counts: 102 to 141 for nice -20 to 19.
pub(crate) fn priority(nice: i8) -> u32 {
    (i32::from(nice) + 122) as u32
}

/// The tasks of one processor.
pub(crate) struct Tasks {
    tasks: Vec<Running>,
}

struct Running {
    terms: Task,
    wants: bool,
    random: Random,
}

impl Tasks {
    /// All of them rest.
    pub fn new(terms: &[Task], seed: u64) -> Self {
        let tasks = terms.iter().zip(FIRST..).map(|(terms, number)| Running {
            terms: *terms,
            wants: false,
            random: Random::new(seed, number),
        });
        Self {
            tasks: tasks.collect(),
        }
    }

    /// How long a task's next pause takes.
    pub fn rest(&mut self, at: usize) -> u64 {
        let Running { terms, random, .. } = &mut self.tasks[at];
        random.exponential_ns(terms.rest_ns).max(1)
    }

    /// A task goes on to its next period. Returns how long that takes.
    pub fn turn(&mut self, at: usize) -> u64 {
        let task = &mut self.tasks[at];
        task.wants = !task.wants;
        let mean_ns = if task.wants {
            task.terms.work_ns
        } else {
            task.terms.rest_ns
        };
        task.random.exponential_ns(mean_ns).max(1)
    }

    /// The priority of the task that runs.
    pub fn running(&self) -> u32 {
        let wanting = self.tasks.iter().filter(|task| task.wants);
        let first = wanting.map(|task| priority(task.terms.nice)).min();
        first.unwrap_or(TAKT_CPU_IDLE)
    }
}
