//! Watches the kernel's console, and recognises warnings and oopses.

use std::collections::VecDeque;

/// The beginnings of a kernel complaint.
const STARTS: [&str; 8] = [
    "WARNING: ",
    "BUG: ",
    "BUG ",
    "INFO: ",
    "UBSAN: ",
    "Oops: ",
    "Call Trace:",
    "refcount_t: ",
];

/// Strings that only a complaint contains.
const CONTAINS: [&str; 9] = [
    "kernel BUG at",
    "Kernel panic",
    "general protection fault",
    "possible circular locking",
    "suspicious RCU usage",
    "rcu: INFO: ",
    "watchdog: BUG",
    "unregister_netdevice: waiting",
    " corruption",
];

/// Lines kept from before a complaint: its head (`cut here`, `=====`) is there.
const LINES_BEFORE: usize = 3;
const SPLAT_LINES_MAX: usize = 200;
const TAIL_LINES: usize = 20;

/// The console's output so far.
#[derive(Default)]
pub struct Console {
    tail: VecDeque<String>,
    splat: Vec<String>,
}

impl Console {
    pub fn read(&mut self, line: &str) {
        let line = line.trim_end();
        if !self.splat.is_empty() {
            if self.splat.len() < SPLAT_LINES_MAX {
                self.splat.push(line.to_owned());
            }
        } else if complains(line) {
            let before = self.tail.len().saturating_sub(LINES_BEFORE);
            self.splat.extend(self.tail.iter().skip(before).cloned());
            self.splat.push(line.to_owned());
        }
        if self.tail.len() == TAIL_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(line.to_owned());
    }

    /// The first complaint and everything after it, if there was one.
    pub fn splat(&self) -> Option<String> {
        (!self.splat.is_empty()).then(|| self.splat.join("\n"))
    }

    /// The last lines.
    pub fn tail(&self) -> String {
        Vec::from(self.tail.clone()).join("\n")
    }
}

fn complains(line: &str) -> bool {
    let message = without_timestamp(line);
    STARTS.iter().any(|start| message.starts_with(start))
        || CONTAINS.iter().any(|part| message.contains(part))
}

/// `[   12.345678] text` or `[   12.345678][ T1] text` without the brackets.
fn without_timestamp(line: &str) -> &str {
    let mut text = line;
    while let Some((_, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        text = rest;
    }
    text.trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_known() {
        for line in [
            "[    5.1] WARNING: CPU: 0 PID: 61 at net/sched/sch_bpf.c:120 bpf_qdisc_dequeue+0x1/0x2",
            "[    5.1] WARNING: net/sched/sch_bpf.c:120 at bpf_qdisc_dequeue+0x1/0x2, CPU#0: sh/61",
            "[    5.1][   T61] BUG: kernel NULL pointer dereference, address: 0000000000000008",
            "[    5.1] BUG kmalloc-64 (Not tainted): Redzone overwritten",
            "[    5.1] WARNING: possible circular locking dependency detected",
            "[    5.1] WARNING: suspicious RCU usage",
            "[   63.1] rcu: INFO: rcu_preempt self-detected stall on CPU",
            "[  242.1] INFO: task ip:70 blocked for more than 120 seconds.",
            "[   28.1] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [sh:61]",
            "[    5.1] Kernel panic - not syncing: sysrq triggered crash",
            "[    5.1] unregister_netdevice: waiting for va to become free. Usage count = 2",
            "[    5.1] Oops: general protection fault, probably for non-canonical address",
            "[    5.1] list_del corruption. prev->next should be 1, but was 2",
            "[    5.1] Call Trace:",
        ] {
            assert!(complains(line), "{line}");
        }
    }

    #[test]
    fn chatter_is_not_a_complaint() {
        for line in [
            "",
            "[    0.1] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on",
            "[    0.1] Warning: unable to open an initial console.",
            "[    0.1] ACPI: INFO about nothing",
            "[    0.1] 8021q: 802.1Q VLAN Support v1.8",
        ] {
            assert!(!complains(line), "{line}");
        }
    }

    #[test]
    fn a_splat_has_its_head_and_all_that_follows() {
        let mut console = Console::default();
        for line in ["a", "b", "c", "------------[ cut here ]------------"] {
            console.read(line);
            assert_eq!(console.splat(), None);
        }
        console.read("[ 1.0] WARNING: CPU: 0\r");
        console.read("more");
        assert_eq!(
            console.splat().unwrap(),
            "b\nc\n------------[ cut here ]------------\n[ 1.0] WARNING: CPU: 0\nmore"
        );
    }
}
