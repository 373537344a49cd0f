//! Everything that takt could leave on a host: programs, maps and links as `bpftool` lists them,
//! qdiscs, devices, namespaces, control groups, pins, files, processes and settings.

use std::{
    fs::{self, File},
    path::Path,
    thread,
    time::Duration,
};

use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use nix::sched::{CloneFlags, setns};

use crate::{
    daemon,
    helper::helpers,
    kernel_bpf::wait_for,
    shell::{run, run_far},
};

/// A line for each object, without counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory(Vec<String>);

/// The time between two looks while the kernel frees objects with a delay.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

impl Inventory {
    /// Of a settled host: no object comes or goes any more, and the objects of earlier tests are
    /// gone with the last of their sockets.
    #[track_caller]
    pub fn take() -> Self {
        daemon::sweep();
        wait_for(|| !Self::look().holds_leftovers());
        let mut last = Self::look();
        for _ in 0..50 {
            thread::sleep(BETWEEN_LOOKS);
            let now = Self::look();
            if now == last {
                return now;
            }
            last = now;
        }
        panic!("it does not settle: {last:#?}");
    }

    /// takt's programs and maps without a pin.
    fn holds_leftovers(&self) -> bool {
        let any = |start: &str| self.0.iter().any(|line| line.starts_with(start));
        let is_loaded = any("program \"takt") || any("map \"takt");
        is_loaded && !any("/sys/fs/bpf/takt")
    }

    fn look() -> Self {
        let mut lines = Vec::new();
        lines.extend(ProgInfoIter::default().map(|found| format!("program {:?}", found.name)));
        lines.extend(MapInfoIter::default().map(|found| format!("map {:?}", found.name)));
        lines.extend(LinkInfoIter::default().map(|_| "link".to_owned()));
        for list in ["tc qdisc show", "ip -d -br link show", "ip netns list"] {
            lines.extend(run(list).ok().lines().map(without_references));
            lines.extend(run_far(list).ok().lines().map(without_references));
        }
        for root in ["/sys/fs/bpf", "/run", "/sys/fs/cgroup"] {
            walk(Path::new(root), &mut lines);
        }
        // Tests with a taktd of their own mount their directories over it.
        lines.retain(|line| line != "/run/taktd");
        lines.extend(helpers().iter().map(|_| "a helper".to_owned()));
        lines.extend(settings());
        lines.sort();
        Self(lines)
    }

    /// Assert that all is as before, once the kernel has freed its objects.
    #[track_caller]
    pub fn assert_is_back(&self) {
        let mut now = Self::look();
        for _ in 0..50 {
            if now == *self {
                return;
            }
            thread::sleep(BETWEEN_LOOKS);
            now = Self::look();
        }
        let (new, gone) = (now.without(self), self.without(&now));
        panic!("left behind: {new:#?}\nlost: {gone:#?}");
    }

    /// The lines that `other` lacks, each as often as it is missing.
    fn without(&self, other: &Self) -> Vec<&str> {
        let mut others = other.0.clone();
        let is_new = |line: &&String| match others.iter().position(|other| other == *line) {
            Some(at) => {
                others.swap_remove(at);
                false
            }
            None => true,
        };
        self.0.iter().filter(is_new).map(String::as_str).collect()
    }
}

/// A device's or a qdisc's line, without its reference count.
fn without_references(line: &str) -> String {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    if let Some(at) = words.iter().position(|word| *word == "refcnt") {
        words.drain(at..(at + 2).min(words.len()));
    }
    words.join(" ")
}

/// Directories, and files whose numbers are those of generations.
fn walk(dir: &Path, lines: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir {
            let before = lines.len();
            walk(&path, lines);
            // Directories of pins go with the programs, which a keeper keeps.
            if lines.len() > before || !path.starts_with("/sys/fs/bpf") {
                lines.push(path.display().to_string());
            }
        } else if !path.starts_with("/sys/fs/cgroup") {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let name = name.trim_start_matches(|digit: char| digit.is_ascii_digit());
            lines.push(format!("{}/{name}", dir.display()));
        }
    }
}

/// Settings of the whole host that takt may change, which only its first network namespace shows.
fn settings() -> Vec<String> {
    let read = || {
        let host = File::open("/proc/1/ns/net").unwrap();
        setns(host, CloneFlags::CLONE_NEWNET).unwrap();
        let files = fs::read_dir("/proc/sys/net/core").unwrap().flatten();
        let mut lines: Vec<String> = files
            .filter_map(|file| Some((file.path(), fs::read_to_string(file.path()).ok()?)))
            .map(|(path, text)| format!("{} = {}", path.display(), text.trim()))
            .collect();
        let scheduler = fs::read_to_string("/sys/kernel/sched_ext/state");
        lines.extend(scheduler.map(|state| format!("sched_ext {}", state.trim())));
        lines
    };
    thread::spawn(read).join().unwrap()
}
