//! Tasks that are bound to the same CPUs have room on them, as far as sums can tell. Their
//! placement is the planner's, which knows the host.

use std::collections::BTreeMap;

use super::cpus;
use super::times::{WHOLE_PPM, assignable, percent};
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{PERIOD_MAX_NS, ReadBeats, ReadTask};
use crate::value::duration::format_duration;
use crate::{Code, ExactTime};

/// Entries of a CPU's table.
const SLOTS_MAX: u64 = 4096;

pub(super) fn check(beats: &ReadBeats, grid: ExactTime, findings: &mut Findings) {
    let bound: Vec<(Vec<u32>, &ReadTask)> = beats
        .tasks
        .iter()
        .filter_map(|task| Some((cpus::of_task(beats, task)?, task)))
        .collect();
    // A task that may go to fewer CPUs goes to some of these as well.
    let sets: BTreeMap<&Vec<u32>, ()> = bound.iter().map(|(cpus, _)| (cpus, ())).collect();
    for set in sets.into_keys() {
        let within = |cpus: &Vec<u32>| cpus.iter().all(|cpu| set.binary_search(cpu).is_ok());
        let tasks = bound.iter().filter(|(cpus, _)| within(cpus));
        let mut room = Room::new(set.len(), beats.free_ppm, grid);
        for (_, task) in tasks {
            if let Some((problem, help)) = room.take(task) {
                let error = Diagnostic::error(
                    Code::NoRoomTogether,
                    format!(
                        "{} cannot carry all tasks bound there: {problem}",
                        shown(set)
                    ),
                    help,
                );
                findings.add(error.at(&task.span, "the first one too many"));
                return;
            }
        }
    }
}

/// The time that some CPUs have left.
struct Room {
    cpus: u64,
    grid: ExactTime,
    free_ppm: u32,
    taken_ppm: u64,
    /// Of one CPU, in slots.
    frame: u64,
    entries: u64,
}

impl Room {
    fn new(cpus: usize, free_ppm: u32, grid: ExactTime) -> Room {
        Room {
            cpus: cpus as u64,
            grid,
            free_ppm,
            taken_ppm: 0,
            frame: 1,
            entries: 0,
        }
    }

    /// The obstacle for one more task, and the fix.
    fn take(&mut self, task: &ReadTask) -> Option<(String, &'static str)> {
        let grid = self.grid;
        let (period, budget_ns) = (task.period_ns.as_ref()?.0, task.budget_ns.as_ref()?.0);
        let lead_ns = task.lead_ns.as_ref().map_or(0, |(lead_ns, _)| *lead_ns);
        let period = grid.covering(period);
        // Rounded down, so that a task that fits is never refused.
        let width = grid.covering(budget_ns) + grid.covering(lead_ns);
        self.taken_ppm += width * WHOLE_PPM / period;
        if self.taken_ppm > self.cpus * assignable(WHOLE_PPM, self.free_ppm) {
            let problem = format!(
                "what stays free ({} %) leaves less than they need",
                percent(self.free_ppm)
            );
            return Some((problem, "lower their budgets, or let them have more CPUs"));
        }
        if self.cpus > 1 {
            return None;
        }
        let frame = lcm(self.frame, period);
        if frame > grid.whole_in(PERIOD_MAX_NS) {
            let problem = format!(
                "the periods on it would repeat after {}, and {} is the most",
                grid.times(frame),
                format_duration(PERIOD_MAX_NS)
            );
            return Some((problem, "choose periods that divide each other"));
        }
        self.entries = self.entries * (frame / self.frame) + frame / period;
        self.frame = frame;
        (self.entries > SLOTS_MAX).then(|| {
            let problem = format!("its table would have more than {SLOTS_MAX} slots");
            (problem, "choose longer periods, or let them have more CPUs")
        })
    }
}

/// Of periods, so it is far from overflow.
fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

fn shown(cpus: &[u32]) -> String {
    match cpus {
        [one] => format!("CPU {one}"),
        [first, .., last] => format!("the {} CPUs from {first} to {last}", cpus.len()),
        [] => "no CPU".to_owned(),
    }
}
