//! The host's threads, out of /proc. Those that end meanwhile are left out.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

use takt_policy::Task;

use crate::matching::Seen;

/// What `stat` of a thread says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Whether it runs, or waits for a CPU.
    pub is_ready: bool,
    /// Whether it is one of the kernel's own.
    pub is_kernels: bool,
    /// In clock ticks since boot.
    pub started: u64,
}

impl Stat {
    /// A name may have parentheses and blanks in it, but no field after it does.
    pub fn parse(text: &[u8]) -> Option<Self> {
        /// The fields after the state, and after the flags.
        const FLAGS: usize = 5;
        const STARTED: usize = 12;
        const PF_KTHREAD: u32 = 0x0020_0000;
        let after = text.iter().rposition(|byte| *byte == b')')? + 1;
        let mut fields = std::str::from_utf8(&text[after..])
            .ok()?
            .split_ascii_whitespace();
        Some(Self {
            is_ready: fields.next()? == "R",
            is_kernels: fields.nth(FLAGS)?.parse::<u32>().ok()? & PF_KTHREAD != 0,
            started: fields.nth(STARTED)?.parse().ok()?,
        })
    }

    pub fn for_thread(tid: i32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{tid}/stat")).ok()?)
    }
}

/// Threads that could be of a task: those of processes whose command a task asks for, or of all if
/// one asks for none.
pub fn candidates<'a>(wanted: impl Iterator<Item = &'a Task>) -> io::Result<Vec<Seen>> {
    let rules = wanted.flat_map(|task| task.members.iter().map(|member| &member.matches));
    let commands: Vec<Option<&str>> = rules.map(|rule| rule.command.as_deref()).collect();
    let mut seen = Vec::new();
    for process in numbers_in(Path::new("/proc"))? {
        let folder = format!("/proc/{process}");
        let Some(command) = name_in(&folder) else {
            continue;
        };
        if commands
            .iter()
            .any(|asked| asked.is_none_or(|asked| asked == command))
        {
            seen.extend(threads_of(process, &folder, &command));
        }
    }
    Ok(seen)
}

fn threads_of(pid: i32, folder: &str, command: &str) -> Vec<Seen> {
    let tids = numbers_in(Path::new(&format!("{folder}/task"))).unwrap_or_default();
    let of_thread = |tid: i32| {
        let folder = format!("{folder}/task/{tid}");
        let stat = Stat::for_thread(tid).filter(|stat| !stat.is_kernels)?;
        Some(Seen {
            pid,
            tid,
            uid: fs::metadata(&folder).ok()?.uid(),
            thread: name_in(&folder)?,
            command: command.to_owned(),
            cgroup: cgroup_in(&fs::read_to_string(format!("{folder}/cgroup")).ok()?),
            started: stat.started,
        })
    };
    tids.into_iter().filter_map(of_thread).collect()
}

/// In ascending order, so that a process's first thread is the first.
fn numbers_in(folder: &Path) -> io::Result<Vec<i32>> {
    let number = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    let mut numbers: Vec<i32> = fs::read_dir(folder)?.filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The name of a process's first thread; `None` if it has ended.
pub fn name_of(pid: u32) -> Option<String> {
    name_in(&format!("/proc/{pid}"))
}

fn name_in(folder: &str) -> Option<String> {
    let name = fs::read(format!("{folder}/comm")).ok()?;
    let name = String::from_utf8_lossy(&name);
    Some(name.strip_suffix('\n').unwrap_or(&name).to_owned())
}

/// The path in cgroup2, whose hierarchy has the number 0.
fn cgroup_in(text: &str) -> String {
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"));
    path.unwrap_or_default().to_owned()
}

/// The CPUs that are online, in ascending order.
pub fn online_cpus(text: &str) -> Vec<u32> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_is_read_after_the_name() {
        let text = b"7 (a) R (x) S 1 7 7 0 -1 64 1 0 0 0 1 1 0 0 20 0 1 0 4711 0 0";
        let stat = Stat::parse(text).unwrap();
        assert_eq!(
            stat,
            Stat {
                is_ready: false,
                is_kernels: false,
                started: 4711
            }
        );
        assert!(
            Stat::parse(b"7 (x) R 1 7 7 0 -1 64 1 0 0 0 1 1 0 0 20 0 1 0 5")
                .unwrap()
                .is_ready
        );
        let kernels = b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 3 0";
        assert!(Stat::parse(kernels).unwrap().is_kernels);
        assert_eq!(Stat::parse(b"7 (x) R 1"), None);
        assert_eq!(Stat::parse(b""), None);
        assert!(Stat::for_thread(std::process::id() as i32).is_some());
    }

    #[test]
    fn cpus_are_ranges() {
        assert_eq!(online_cpus("0-2,5\n"), [0, 1, 2, 5]);
        assert!(online_cpus("").is_empty());
    }

    #[test]
    fn the_unified_hierarchy_counts() {
        assert_eq!(cgroup_in("3:cpu:/other\n0::/a.slice/b\n"), "a.slice/b");
        assert_eq!(cgroup_in(""), "");
    }

    #[test]
    fn this_process_is_among_them() {
        let policy = "[[task]]\nname = \"t\"\nperiod = \"10ms\"\nbudget = \"1ms\"\n";
        let policy = takt_policy::parse("policy.toml", policy).unwrap();
        let seen = candidates(policy.beats.unwrap().tasks.iter()).unwrap();
        let own = seen
            .iter()
            .filter(|seen| seen.pid == std::process::id() as i32);
        assert!(own.count() >= 2);
    }
}
