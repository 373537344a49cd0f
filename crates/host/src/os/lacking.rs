//! What an error number of the kernel means for the host: what is missing, and what to do. The
//! facts that a sentence needs are gathered after the failure; a pure function interprets them.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

/// ENOTSUPP of the kernel, which is none of user space's.
pub(crate) const ENOTSUPP: i32 = 524;

/// Numbers of bpf(2) that are the host's fault.
const BPF_NUMBERS: [i32; 6] = [
    libc::EINVAL,
    ENOTSUPP,
    libc::EOPNOTSUPP,
    libc::ENOMEM,
    libc::ENOBUFS,
    libc::EROFS,
];

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// A call of bpf(2): a program or a map is made, loaded, attached or changed.
    Bpf,
    /// A request about devices, qdiscs or filters.
    Netlink,
    /// A file or a pin.
    File(&'a Path),
}

/// Where it is mounted, as this process or process 1 sees it.
const BPF_MOUNT: &str = "sys/fs/bpf";

/// Of `net.core.bpf_jit_enable`.
const JIT_OFF: &str = "0";

/// What the host lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    cause: String,
    fix: String,
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}; {}", self.cause, self.fix)
    }
}

/// Facts about the host.
#[derive(Debug, Clone, Default)]
struct Facts {
    /// `net.core.bpf_jit_enable`.
    jit: Option<String>,
    /// The memory of this process's control groups.
    memory: Option<Memory>,
    /// Where the file is mounted.
    mount: Option<PathBuf>,
}

/// The control group above this process that has the least memory left.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Memory {
    group: String,
    max_bytes: u64,
    used_bytes: u64,
}

impl Memory {
    fn left_bytes(&self) -> u64 {
        self.max_bytes.saturating_sub(self.used_bytes)
    }
}

impl Lacking {
    /// Why this step failed, if it is the host's state and no fault of this program.
    pub(crate) fn for_step(step: Step, errno: Option<i32>) -> Option<Self> {
        of_facts(step, errno?, None, Facts::gather(step))
    }

    /// Likewise for an error of libbpf's.
    pub(crate) fn of_bpf(error: &libbpf_rs::Error) -> Option<Self> {
        Self::for_step(Step::Bpf, number_of(error))
    }

    /// Likewise where a map of so many bytes was made.
    pub(crate) fn of_map(bytes: u64, error: &libbpf_rs::Error) -> Option<Self> {
        let facts = Facts::gather(Step::Bpf);
        of_facts(Step::Bpf, number_of(error)?, Some(bytes), facts)
    }
}

/// libbpf's error has the number only in its text.
fn number_of(error: &libbpf_rs::Error) -> Option<i32> {
    let said = format!("{error:#}");
    let is = |errno: i32| said.contains(&io::Error::from_raw_os_error(errno).to_string());
    BPF_NUMBERS.into_iter().find(|errno| is(*errno))
}

/// Whether it is where takt keeps records and pins.
fn is_takts(path: &Path) -> bool {
    path.starts_with("/run") || path.ancestors().any(|parent| parent.ends_with(BPF_MOUNT))
}

fn of_facts(step: Step, errno: i32, needed_bytes: Option<u64>, facts: Facts) -> Option<Lacking> {
    let lacking = |cause: String, fix: String| Some(Lacking { cause, fix });
    let mount = facts.mount.as_deref().unwrap_or(Path::new("/")).display();
    match (step, errno) {
        // EINVAL: of programs with callbacks.
        (Step::Bpf, ENOTSUPP | libc::EOPNOTSUPP | libc::EINVAL) if facts.compiles_nothing() => {
            lacking(
                "the kernel's compiler of BPF programs is off (net.core.bpf_jit_enable = 0), and \
                 programs of this kind need it"
                    .to_owned(),
                "turn it on: sysctl -w net.core.bpf_jit_enable=1".to_owned(),
            )
        }
        (Step::Bpf, ENOTSUPP | libc::EOPNOTSUPP) => lacking(
            "this kernel cannot run BPF programs of this kind on this architecture".to_owned(),
            "`takt doctor` says which backends it has".to_owned(),
        ),
        (_, libc::ENOMEM | libc::ENOBUFS) => {
            let (cause, fix) = no_memory(needed_bytes, facts.memory.as_ref());
            lacking(cause, fix)
        }
        // Elsewhere a file that cannot be written says nothing about its mount: sysfs has links.
        (Step::File(path), libc::EROFS) if is_takts(path) => lacking(
            format!("{mount} is mounted read-only"),
            format!("make it writable: mount -o remount,rw {mount}"),
        ),
        (Step::Bpf, libc::EROFS) => lacking(
            "the BPF file system is mounted read-only".to_owned(),
            "make it writable: mount -o remount,rw /sys/fs/bpf".to_owned(),
        ),
        (Step::Netlink, libc::EOPNOTSUPP | ENOTSUPP) => lacking(
            "the kernel, or the driver of this device, does not support it".to_owned(),
            "`takt doctor` says what is missing".to_owned(),
        ),
        _ => None,
    }
}

fn no_memory(needed_bytes: Option<u64>, memory: Option<&Memory>) -> (String, String) {
    let needed = needed_bytes.map(|bytes| format!("{} are needed", mib(bytes)));
    let tight = memory.filter(|memory| {
        // What else takt and the kernel need meanwhile.
        const BESIDE_BYTES: u64 = 32 << 20;
        memory.left_bytes() < needed_bytes.unwrap_or(0) + BESIDE_BYTES
    });
    match tight {
        Some(memory) => (
            format!(
                "there is too little memory: {}the control group {} has {} left of {}",
                needed.map(|needed| needed + ", and ").unwrap_or_default(),
                memory.group,
                mib(memory.left_bytes()),
                mib(memory.max_bytes),
            ),
            "raise its memory.max (MemoryMax= of its unit)".to_owned(),
        ),
        None => (
            format!(
                "the kernel has too little memory{}",
                needed
                    .map(|needed| format!(": {needed}"))
                    .unwrap_or_default()
            ),
            "free some: free -m, and dmesg for what the kernel says".to_owned(),
        ),
    }
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// `net.core.bpf_jit_enable`.
fn jit() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/net/core/bpf_jit_enable").ok()?;
    Some(text.trim().to_owned())
}

/// Whether the kernel compiles BPF programs, as far as it says: only the host's own network namespace has
/// the setting.
pub(crate) fn compiles_bpf() -> bool {
    jit().as_deref() != Some(JIT_OFF)
}

impl Facts {
    fn compiles_nothing(&self) -> bool {
        self.jit.as_deref() == Some(JIT_OFF)
    }

    fn gather(step: Step) -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        Self {
            jit: jit(),
            memory: read("/proc/self/cgroup").and_then(|text| {
                tightest(&text, &|path| {
                    let text = fs::read_to_string(path).ok()?;
                    text.trim().parse().ok()
                })
            }),
            mount: match step {
                Step::File(path) => {
                    read("/proc/self/mountinfo").and_then(|text| mount_of(path, &text))
                }
                _ => None,
            },
        }
    }
}

/// The group with the least memory left of those above this process; `cgroups` is the text of
/// /proc/self/cgroup. Groups without a limit have no number.
fn tightest(cgroups: &str, number: &dyn Fn(&Path) -> Option<u64>) -> Option<Memory> {
    let group = cgroups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let of_one = |group: &Path| {
        let relative = group.strip_prefix("/").unwrap_or(group);
        let folder = Path::new("/sys/fs/cgroup").join(relative);
        Some(Memory {
            group: group.display().to_string(),
            max_bytes: number(&folder.join("memory.max"))?,
            used_bytes: number(&folder.join("memory.current"))?,
        })
    };
    let all = Path::new(group).ancestors().filter_map(of_one);
    all.min_by_key(Memory::left_bytes)
}

/// The mount that a path is on; `mounts` is the text of /proc/self/mountinfo. Of several at one
/// place the last is on top.
fn mount_of(path: &Path, mounts: &str) -> Option<PathBuf> {
    let places = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    let above = places
        .map(Path::new)
        .filter(|place| path.starts_with(place));
    above
        .max_by_key(|place| place.components().count())
        .map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            jit: Some("1".to_owned()),
            memory: Some(Memory {
                group: "/small".to_owned(),
                max_bytes: 64 << 20,
                used_bytes: 60 << 20,
            }),
            mount: Some(PathBuf::from("/run")),
        }
    }

    /// What each number means at each step, and a word of the fix. Others are not the host's fault.
    #[test]
    fn every_number_at_every_step() {
        let file = Step::File(Path::new("/run/takt/lock"));
        let table: &[(Step, i32, &str, &str)] = &[
            (Step::Bpf, ENOTSUPP, "architecture", "doctor"),
            (Step::Bpf, libc::EOPNOTSUPP, "architecture", "doctor"),
            (
                Step::Bpf,
                libc::ENOMEM,
                "/small has 4.0 MiB left of 64.0 MiB",
                "memory.max",
            ),
            (Step::Bpf, libc::ENOBUFS, "/small", "memory.max"),
            (Step::Bpf, libc::EROFS, "BPF file system", "remount"),
            (Step::Netlink, libc::ENOMEM, "/small", "memory.max"),
            (Step::Netlink, libc::ENOBUFS, "/small", "memory.max"),
            (Step::Netlink, libc::EOPNOTSUPP, "driver", "doctor"),
            (Step::Netlink, ENOTSUPP, "driver", "doctor"),
            (file, libc::ENOMEM, "/small", "memory.max"),
            (file, libc::ENOBUFS, "/small", "memory.max"),
            (
                file,
                libc::EROFS,
                "/run is mounted read-only",
                "remount,rw /run",
            ),
        ];
        for step in [Step::Bpf, Step::Netlink, file] {
            for errno in (1..134).chain([ENOTSUPP]) {
                let told = of_facts(step, errno, None, facts());
                let row = table.iter().find(|row| (row.0, row.1) == (step, errno));
                match (told, row) {
                    (Some(told), Some((.., cause, fix))) => {
                        assert!(told.cause.contains(cause), "{told}");
                        assert!(told.fix.contains(fix), "{told}");
                    }
                    (None, None) => {}
                    (told, row) => panic!("{step:?}, {errno}: {told:?}, {row:?}"),
                }
            }
        }
    }

    #[test]
    fn a_read_only_file_system_is_named_where_takt_has_files() {
        for (path, is_named) in [
            ("/run/takt/links", true),
            ("/sys/fs/bpf/takt-aside-1", true),
            ("/proc/1/root/sys/fs/bpf/takt", true),
            ("/sys/class/net/eth0/queues", false),
        ] {
            let told = of_facts(Step::File(Path::new(path)), libc::EROFS, None, facts());
            assert_eq!(told.is_some(), is_named, "{path}");
        }
    }

    #[test]
    fn a_compiler_that_is_off_is_named() {
        let jit = Some("0".to_owned());
        for errno in [ENOTSUPP, libc::EOPNOTSUPP, libc::EINVAL] {
            let facts = Facts {
                jit: jit.clone(),
                ..facts()
            };
            let told = of_facts(Step::Bpf, errno, None, facts).unwrap();
            assert!(told.fix.contains("net.core.bpf_jit_enable=1"), "{told}");
        }
        let bpf = libbpf_rs::Error::from_raw_os_error(ENOTSUPP);
        assert!(Lacking::of_bpf(&bpf).is_some());
        assert!(Lacking::of_bpf(&libbpf_rs::Error::from_raw_os_error(libc::EINVAL)).is_none());
    }

    #[test]
    fn memory_that_is_needed_and_there() {
        let told = of_facts(Step::Bpf, libc::ENOMEM, Some(50 << 20), facts()).unwrap();
        assert!(
            told.cause
                .contains("50.0 MiB are needed, and the control group /small has 4.0 MiB"),
            "{told}"
        );
        let memory = None;
        let told = of_facts(
            Step::Bpf,
            libc::ENOMEM,
            Some(50 << 20),
            Facts { memory, ..facts() },
        );
        assert!(told.unwrap().cause.contains("too little memory: 50.0 MiB"));
    }

    #[test]
    fn the_tightest_group_counts() {
        let number = |path: &Path| match path.to_str().unwrap() {
            "/sys/fs/cgroup/a/memory.max" => Some(100),
            "/sys/fs/cgroup/a/memory.current" => Some(70),
            "/sys/fs/cgroup/a/b/memory.max" => Some(90),
            "/sys/fs/cgroup/a/b/memory.current" => Some(10),
            _ => None,
        };
        let found = tightest("1:cpu:/x\n0::/a/b/c\n", &number).unwrap();
        assert_eq!((found.group.as_str(), found.left_bytes()), ("/a", 30));
        assert_eq!(tightest("0::/\n", &number), None);
        assert_eq!(tightest("", &number), None);
    }

    #[test]
    fn the_nearest_mount_counts() {
        let mounts = "1 0 8:1 / / rw - ext4 x rw\n2 1 0:5 / /run rw - tmpfs x rw\n\
                      3 2 0:6 / /run/user rw - tmpfs x rw\nshort\n";
        let of = |path: &str| mount_of(Path::new(path), mounts);
        assert_eq!(of("/run/takt/lock"), Some(PathBuf::from("/run")));
        assert_eq!(of("/runner"), Some(PathBuf::from("/")));
        assert_eq!(mount_of(Path::new("/x"), ""), None);
    }
}
