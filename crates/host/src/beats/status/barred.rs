//! Why a thread cannot use its reservation: what keeps the scheduler from running it in its slots.
//! Facts of a thread are gathered from the kernel; a pure function interprets them.

use std::{fs, path::Path};

use nix::{
    sched::{CpuSet, sched_getaffinity},
    unistd::Pid,
};

/// The extensible class, which the fair class's threads are in while beats are loaded.
const SCHED_EXT: i32 = 7;

/// The part of a policy's number that the kernel sets itself.
const SCHED_RESET_ON_FORK: i32 = 0x4000_0000;

/// What is known of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Facts {
    /// Its scheduling policy.
    policy: i32,
    /// Of the CPUs that its task has slots on, the first that it may not run on.
    forbidden_cpu: Option<u32>,
    /// The letter of its state in /proc.
    state: char,
    is_frozen: bool,
}

/// Why this thread cannot run in slots on these CPUs; `None`: nothing keeps it from that, or it
/// has just ended.
pub(super) fn why(tid: u32, cpus: impl Iterator<Item = u32>) -> Option<String> {
    Facts::gather(tid, cpus)?.verdict()
}

impl Facts {
    fn gather(tid: u32, cpus: impl Iterator<Item = u32>) -> Option<Self> {
        let pid = i32::try_from(tid).ok()?;
        // SAFETY: it takes a number alone.
        let policy = unsafe { libc::sched_getscheduler(pid) };
        let allowed = sched_getaffinity(Pid::from_raw(pid)).ok()?;
        let may_run = |cpu: u32| allowed_on(&allowed, cpu);
        let read = |name: &str| fs::read_to_string(format!("/proc/{tid}/{name}")).ok();
        let group = read("cgroup").unwrap_or_default();
        Some(Self {
            policy: (policy >= 0).then_some(policy & !SCHED_RESET_ON_FORK)?,
            forbidden_cpu: { cpus }.find(|cpu| !may_run(*cpu)),
            state: state_of(&read("stat")?)?,
            is_frozen: is_frozen(&group, |path| fs::read_to_string(path).ok()),
        })
    }

    fn verdict(&self) -> Option<String> {
        let name = match self.policy {
            libc::SCHED_FIFO => Some("SCHED_FIFO"),
            libc::SCHED_RR => Some("SCHED_RR"),
            libc::SCHED_DEADLINE => Some("SCHED_DEADLINE"),
            libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE | SCHED_EXT => None,
            _ => Some("a scheduling policy of its own"),
        };
        if let Some(name) = name {
            return Some(format!("has {name}, which comes before all slots"));
        }
        if let Some(cpu) = self.forbidden_cpu {
            return Some(format!("may not run on CPU {cpu}, where its slots are"));
        }
        if self.is_frozen {
            return Some("is frozen with its control group".to_owned());
        }
        match self.state {
            'T' => Some("is stopped by a signal".to_owned()),
            't' => Some("is stopped by a debugger".to_owned()),
            'Z' | 'X' => Some("has ended".to_owned()),
            _ => None,
        }
    }
}

fn allowed_on(allowed: &CpuSet, cpu: u32) -> bool {
    // A number beyond the set's room is not in it.
    allowed.is_set(cpu as usize).unwrap_or(false)
}

/// The letter after the name, which may hold anything.
fn state_of(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// `group` is the text of /proc/PID/cgroup.
fn is_frozen(group: &str, read: impl Fn(&Path) -> Option<String>) -> bool {
    let Some(group) = group.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return false;
    };
    let events = read(
        &Path::new("/sys/fs/cgroup")
            .join(group)
            .join("cgroup.events"),
    );
    events.is_some_and(|text| text.lines().any(|line| line == "frozen 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Facts = Facts {
        policy: libc::SCHED_OTHER,
        forbidden_cpu: None,
        state: 'S',
        is_frozen: false,
    };

    #[test]
    fn every_reason_is_named() {
        assert_eq!(FREE.verdict(), None);
        for policy in [libc::SCHED_BATCH, libc::SCHED_IDLE, SCHED_EXT] {
            assert_eq!(Facts { policy, ..FREE }.verdict(), None);
        }
        for (facts, says) in [
            (
                Facts {
                    policy: libc::SCHED_RR,
                    ..FREE
                },
                "has SCHED_RR",
            ),
            (
                Facts {
                    policy: libc::SCHED_FIFO,
                    ..FREE
                },
                "has SCHED_FIFO",
            ),
            (
                Facts {
                    policy: libc::SCHED_DEADLINE,
                    ..FREE
                },
                "has SCHED_DEADLINE",
            ),
            (
                Facts {
                    forbidden_cpu: Some(1),
                    ..FREE
                },
                "may not run on CPU 1",
            ),
            (
                Facts {
                    is_frozen: true,
                    ..FREE
                },
                "is frozen",
            ),
            (Facts { state: 'T', ..FREE }, "is stopped by a signal"),
            (Facts { state: 't', ..FREE }, "by a debugger"),
            (Facts { state: 'Z', ..FREE }, "has ended"),
        ] {
            let said = facts.verdict().unwrap();
            assert!(said.starts_with(says) || said.contains(says), "{said}");
        }
    }

    #[test]
    fn what_the_kernel_says_of_a_thread() {
        assert_eq!(state_of("7 (a) b (c) R 1 7"), Some('R'));
        assert_eq!(state_of("7"), None);
        let read = |path: &Path| {
            assert_eq!(path, Path::new("/sys/fs/cgroup/a/b/cgroup.events"));
            Some("populated 1\nfrozen 1\n".to_owned())
        };
        assert!(is_frozen("1:name=x:/y\n0::/a/b\n", read));
        assert!(!is_frozen("0::/a\n", |_| Some("frozen 0\n".to_owned())));
        assert!(!is_frozen("", |_| None));
    }

    #[test]
    fn this_thread_is_free_where_it_may_run() {
        let own = nix::unistd::gettid().as_raw() as u32;
        let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let mine = (0..CpuSet::count() as u32).find(|cpu| allowed_on(&allowed, *cpu));
        assert_eq!(why(own, mine.into_iter()), None);
        let beyond = CpuSet::count() as u32;
        let said = why(own, [beyond].into_iter()).unwrap();
        assert!(
            said.starts_with(&format!("may not run on CPU {beyond}")),
            "{said}"
        );
        assert_eq!(why(0x7fff_ffff, [0].into_iter()), None);
    }
}
