//! Control groups, most of them of processor time.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::metronome::Shell;

const ROOT: &str = "/sys/fs/cgroup";
const CONTROLLERS: &str = "cgroup.subtree_control";
/// The longest time until the kernel lets go of processes that have ended.
const LET_GO_MAX_MS: u64 = 10_000;

/// A control group until this is dropped, before which its processes have to end.
pub struct Group {
    path: PathBuf,
    /// Where its controller was turned on.
    above: Option<PathBuf>,
}

impl Group {
    pub fn new(name: &str) -> Self {
        Self::made(Path::new(ROOT), name)
    }

    pub fn below(&self, name: &str) -> Self {
        Self::made(&self.path, name)
    }

    /// It limits and weighs nothing.
    pub fn without_controllers(name: &str) -> Self {
        let path = Path::new(ROOT).join(name);
        fs::create_dir(&path).unwrap();
        Self { path, above: None }
    }

    fn made(above: &Path, name: &str) -> Self {
        fs::write(above.join(CONTROLLERS), "+cpu").unwrap();
        let path = above.join(name);
        fs::create_dir(&path).unwrap();
        Self {
            path,
            above: Some(above.to_owned()),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends all its processes, those that fork meanwhile as well.
    pub fn kill(&self) {
        self.set("cgroup.kill", "1");
    }

    pub fn set(&self, setting: &str, value: &str) {
        fs::write(self.path.join(setting), value).unwrap();
    }

    /// The processor time of all its threads so far.
    pub fn usage_us(&self) -> u64 {
        let stat = fs::read_to_string(self.path.join("cpu.stat")).unwrap();
        let mut lines = stat.lines();
        let usage = lines.find_map(|line| line.strip_prefix("usage_usec "));
        usage.unwrap().parse().unwrap()
    }

    /// This process goes back to the root.
    pub fn leave_all() {
        let own = std::process::id().to_string();
        fs::write(Path::new(ROOT).join("cgroup.procs"), own).unwrap();
    }

    pub fn take(&self, process: &Shell) {
        self.set("cgroup.procs", &process.pid().to_string());
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let is_busy = |error: std::io::Error| error.raw_os_error() == Some(libc::EBUSY);
        let is_removed = || {
            thread::sleep(Duration::from_millis(1));
            !fs::remove_dir(&self.path).is_err_and(is_busy)
        };
        let let_go = (0..LET_GO_MAX_MS).any(|_| is_removed());
        // Another group may have need of it.
        if let Some(above) = &self.above {
            let _ = fs::write(above.join(CONTROLLERS), "-cpu");
        }
        assert!(
            let_go || thread::panicking(),
            "{} still has processes",
            self.path.display()
        );
    }
}
