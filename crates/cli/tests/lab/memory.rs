//! A host that is short of memory: allocations fail, or takt is killed, and either the old policy
//! is in force or the new one.

use std::{fs, process::Command};

use crate::{
    inventory::Inventory,
    machine::DEFAULT,
    refused::{ALL, OLD},
    shell::{Ran, run, run_command},
    takt::{POLICY, apply, status, takt},
    wire::Wire,
};

const GROUPS: &str = "/sys/fs/cgroup";
const SHORT: &str = "/sys/fs/cgroup/short";
const CONSOLE: &str = "/proc/sys/kernel/printk";
/// How much more memory each try has than the one before it.
const STEP_BYTES: usize = 4 << 20;

/// A control group with so much memory. The kernel's log of an out-of-memory kill looks like an
/// error, so it is hidden from the lab.
struct Short {
    console: String,
}

impl Short {
    fn new() -> Self {
        let console = fs::read_to_string(CONSOLE).unwrap();
        fs::write(CONSOLE, "1").unwrap();
        fs::write(format!("{GROUPS}/cgroup.subtree_control"), "+memory").unwrap();
        fs::create_dir(SHORT).unwrap();
        Self { console }
    }

    fn apply(&self, policy: &str, memory_bytes: usize) -> Ran {
        fs::write(format!("{SHORT}/memory.max"), memory_bytes.to_string()).unwrap();
        fs::write(POLICY, policy).unwrap();
        let words = format!("echo $$ >{SHORT}/cgroup.procs && exec takt apply {POLICY}");
        run_command(Command::new("sh").args(["-c", &words]))
    }
}

impl Drop for Short {
    fn drop(&mut self) {
        run(&format!("rmdir {SHORT}"));
        let _ = fs::write(format!("{GROUPS}/cgroup.subtree_control"), "-memory");
        let _ = fs::write(CONSOLE, &self.console);
    }
}

/// Errors in the kernel's log since it started, kills aside.
fn complaints() -> usize {
    let said = run("dmesg").ok();
    let signs = ["WARNING:", "BUG:", "Oops:", "INFO: rcu", "refcount_t:"];
    said.lines()
        .filter(|line| signs.iter().any(|sign| line.contains(sign)))
        .count()
}

/// Tries with more and more memory until it suffices; returns the number of failures.
fn until_enough(
    short: &Short,
    before: &Inventory,
    unchanged: impl Fn(),
    recover: impl Fn(),
) -> [usize; 2] {
    let (mut refused, mut killed) = (0, 0);
    for tries in 1.. {
        let applied = short.apply(ALL, tries * STEP_BYTES);
        match applied.status {
            Some(0) => break,
            Some(_) => {
                applied.says(&["memory"]).ends_with(3);
                refused += 1;
                unchanged();
            }
            None => {
                killed += 1;
                recover();
            }
        }
        before.assert_is_back();
    }
    [refused, killed]
}

#[test]
fn a_policy_is_in_force_or_nothing_is() {
    DEFAULT.alone().run(|| {
        let wire = Wire::new(1);
        run("takt crowd key /lab/crowd.key");
        let nothing = Inventory::take();
        let complained = complaints();
        let short = Short::new();
        let before = Inventory::take();
        let unchanged = || wire.assert_passes();
        let recover = || {
            takt("revert").ok();
            wire.assert_passes();
        };
        let counts = until_enough(&short, &before, unchanged, recover);
        println!("from nothing: {counts:?} were refused and killed");
        assert!(counts.iter().sum::<usize>() > 1);
        takt("revert").ok();
        before.assert_is_back();

        apply(OLD).ok();
        let before = Inventory::take();
        let unchanged = || {
            assert_eq!(status().0[0].rate_bps, 100_000_000);
            wire.assert_passes();
        };
        let recover = || {
            let (links, code) = status();
            assert!(
                [100_000_000, 200_000_000].contains(&links[0].rate_bps),
                "{code:?}"
            );
            wire.assert_passes();
            apply(OLD).ok();
        };
        let counts = until_enough(&short, &before, unchanged, recover);
        println!("from another: {counts:?} were refused and killed");
        assert!(counts.iter().sum::<usize>() > 1);
        assert_eq!(status().0[0].rate_bps, 200_000_000);
        takt("revert").ok();
        drop(short);
        assert_eq!(complaints(), complained);
        nothing.assert_is_back();
    });
}
