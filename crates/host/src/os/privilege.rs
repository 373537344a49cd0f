//! What denies a process BPF: a missing capability, or another cause for which the kernel has
//! the same error. Facts are gathered first; a pure function interprets them.

use std::{fs, os::unix::fs::MetadataExt};

use nix::errno::Errno;
use thiserror::Error;

/// Name and bit, as in `capabilities(7)`.
const NEEDED: [(&str, u32); 3] = [("CAP_NET_ADMIN", 12), ("CAP_PERFMON", 38), ("CAP_BPF", 39)];
const CAP_SYS_ADMIN: u32 = 21;

/// PROC_USER_INIT_INO: the initial user namespace.
const INITIAL_USER_NAMESPACE: u64 = 0xEFFF_FFFD;

const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
const MODULES: &str = "/sys/kernel/security/lsm";

/// No command of bpf(2): a call that reaches the kernel's own code returns EINVAL.
const NO_COMMAND: libc::c_long = 0xffff;

/// What denies BPF to a process whose capabilities suffice.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Barred {
    /// Capabilities count only within the user namespace, and programs are loaded for the whole
    /// host.
    #[error(
        "this process is in a user namespace of its own, where capabilities do not count for BPF; \
         run takt outside of it: as root of the host, not in a rootless container or `unshare -U`"
    )]
    UserNamespace,
    /// A seccomp filter answers in place of the kernel.
    #[error(
        "a seccomp filter forbids bpf(2) to this process; allow the system call for the \
         container or the unit (SystemCallFilter=, --security-opt seccomp=)"
    )]
    Seccomp,
    /// Lockdown: the kernel denies its memory even to root.
    #[error(
        "the kernel is locked down (confidentiality), so BPF programs cannot read its memory; \
         boot with lockdown=integrity or without (see {LOCKDOWN})"
    )]
    Lockdown,
    /// SELinux, AppArmor, or another.
    #[error(
        "a security module of the kernel forbids bpf(2) to this process (one of \
         {modules}); its log names the rule"
    )]
    SecurityModule {
        /// The security modules in force, as the kernel lists them.
        modules: String,
    },
}

/// Why BPF is denied to this process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Lacks(&'static str),
    Barred(Barred),
}

/// Facts about a process and its kernel.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// Bits of the effective capabilities.
    capabilities: u64,
    /// The number of its user namespace; `None` if that cannot be told.
    user_namespace: Option<u64>,
    /// Whether it has a seccomp filter.
    filtered: bool,
    /// The error of a call of bpf(2) without a command.
    answer: Option<Errno>,
    /// The text of /sys/kernel/security/lockdown; empty if it cannot be read.
    lockdown: String,
    modules: String,
}

impl Facts {
    pub fn gather() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let status = read("/proc/self/status");
        let field = |name: &str| {
            let mut lines = status.lines();
            lines.find_map(|line| Some(line.strip_prefix(name)?.trim()))
        };
        let capabilities = field("CapEff:").and_then(|mask| u64::from_str_radix(mask, 16).ok());
        Self {
            capabilities: capabilities.unwrap_or(0),
            user_namespace: fs::metadata("/proc/self/ns/user").ok().map(|of| of.ino()),
            filtered: field("Seccomp:").is_some_and(|mode| mode != "0"),
            answer: probe(),
            lockdown: read(LOCKDOWN),
            modules: read(MODULES),
        }
    }

    /// What denies this process all of BPF.
    pub fn verdict(&self) -> Option<Verdict> {
        let is_initial = |number: u64| number == INITIAL_USER_NAMESPACE;
        if !self.user_namespace.is_none_or(is_initial) {
            return Some(Verdict::Barred(Barred::UserNamespace));
        }
        if let Some(missing) = self.missing() {
            return Some(Verdict::Lacks(missing));
        }
        let refused = matches!(self.answer, Some(Errno::EPERM | Errno::EACCES));
        refused.then(|| Verdict::Barred(self.who_answers()))
    }

    /// The meaning of a later refusal, although [`Self::verdict`] found nothing; `None` if it
    /// may have other reasons.
    pub fn of_refusal(&self) -> Option<Verdict> {
        let lockdown = self.is_locked_down().then_some(Barred::Lockdown);
        self.verdict().or(lockdown.map(Verdict::Barred))
    }

    /// Likewise for a refusal without other reasons.
    pub fn of_bare_refusal(&self) -> Option<Verdict> {
        self.of_refusal().or_else(|| {
            let barred = if self.filtered {
                // A filter may check commands, and a security module anything.
                Some(Barred::Seccomp)
            } else {
                self.module()
            };
            barred.map(Verdict::Barred)
        })
    }

    /// Whether programs may not read the kernel's memory.
    pub fn is_locked_down(&self) -> bool {
        // Such as "none integrity [confidentiality]".
        self.lockdown.contains("[confidentiality]")
    }

    fn missing(&self) -> Option<&'static str> {
        let has = |bit: u32| self.capabilities & (1 << bit) != 0;
        // CAP_SYS_ADMIN included the BPF capabilities before these were split off.
        let lacks = |(name, bit): &(&str, u32)| {
            !has(*bit) && (*name == "CAP_NET_ADMIN" || !has(CAP_SYS_ADMIN))
        };
        NEEDED.into_iter().find(lacks).map(|(name, _)| name)
    }

    /// A filter answers before the kernel's own code is reached.
    fn who_answers(&self) -> Barred {
        if self.filtered {
            Barred::Seccomp
        } else {
            self.module().unwrap_or_else(|| Barred::SecurityModule {
                modules: "those in the kernel".to_owned(),
            })
        }
    }

    /// Security modules that can refuse; those that are always present do not.
    fn module(&self) -> Option<Barred> {
        const HARMLESS: [&str; 9] = [
            "lockdown",
            "capability",
            "landlock",
            "yama",
            "loadpin",
            "safesetid",
            "integrity",
            "ima",
            "evm",
        ];
        let modules: Vec<&str> = self
            .modules
            .trim()
            .split(',')
            .filter(|name| !name.is_empty() && !HARMLESS.contains(name))
            .collect();
        (!modules.is_empty()).then(|| Barred::SecurityModule {
            modules: modules.join(", "),
        })
    }
}

fn probe() -> Option<Errno> {
    // SAFETY: no attributes, of length 0, and no command that would read any.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            NO_COMMAND,
            std::ptr::null::<libc::c_void>(),
            0usize,
        )
    };
    Errno::result(answer).err()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u64 = u64::MAX;

    fn root() -> Facts {
        Facts {
            capabilities: ALL,
            user_namespace: Some(INITIAL_USER_NAMESPACE),
            filtered: false,
            answer: Some(Errno::EINVAL),
            lockdown: "[none] integrity confidentiality\n".to_owned(),
            modules: "lockdown,capability,yama,apparmor".to_owned(),
        }
    }

    fn apparmor() -> Option<Verdict> {
        Some(Verdict::Barred(Barred::SecurityModule {
            modules: "apparmor".to_owned(),
        }))
    }

    #[test]
    fn what_the_facts_mean_from_the_beginning() {
        let without = |bit: u32| ALL & !(1 << bit) & !(1 << CAP_SYS_ADMIN);
        let barred = |barred: Barred| Some(Verdict::Barred(barred));
        let cases = [
            (root(), None),
            (
                Facts {
                    capabilities: without(12),
                    ..root()
                },
                Some(Verdict::Lacks("CAP_NET_ADMIN")),
            ),
            (
                Facts {
                    capabilities: without(39),
                    ..root()
                },
                Some(Verdict::Lacks("CAP_BPF")),
            ),
            (
                Facts {
                    capabilities: without(38),
                    ..root()
                },
                Some(Verdict::Lacks("CAP_PERFMON")),
            ),
            // CAP_SYS_ADMIN stands for the two.
            (
                Facts {
                    capabilities: 1 << 12 | 1 << CAP_SYS_ADMIN,
                    ..root()
                },
                None,
            ),
            // All capabilities in another user namespace, or none there.
            (
                Facts {
                    user_namespace: Some(4_026_532_000),
                    ..root()
                },
                barred(Barred::UserNamespace),
            ),
            (
                Facts {
                    user_namespace: Some(4_026_532_000),
                    capabilities: 0,
                    ..root()
                },
                barred(Barred::UserNamespace),
            ),
            (
                Facts {
                    user_namespace: None,
                    ..root()
                },
                None,
            ),
            // Containers have filters that permit bpf(2).
            (
                Facts {
                    filtered: true,
                    ..root()
                },
                None,
            ),
            (
                Facts {
                    filtered: true,
                    answer: Some(Errno::EPERM),
                    ..root()
                },
                barred(Barred::Seccomp),
            ),
            // A missing capability is reported first: with it the filter may permit the call.
            (
                Facts {
                    capabilities: 0,
                    filtered: true,
                    answer: Some(Errno::EPERM),
                    ..root()
                },
                Some(Verdict::Lacks("CAP_NET_ADMIN")),
            ),
            (
                Facts {
                    answer: Some(Errno::EACCES),
                    ..root()
                },
                apparmor(),
            ),
            // Not built in, which another check reports.
            (
                Facts {
                    answer: Some(Errno::ENOSYS),
                    ..root()
                },
                None,
            ),
            // Most of BPF works all the same.
            (
                Facts {
                    lockdown: "none integrity [confidentiality]".to_owned(),
                    ..root()
                },
                None,
            ),
        ];
        for (facts, verdict) in cases {
            assert_eq!(facts.verdict(), verdict, "{facts:?}");
        }
    }

    #[test]
    fn what_a_later_refusal_means() {
        let locked = |how: &str| Facts {
            lockdown: how.to_owned(),
            ..root()
        };
        let lockdown = Some(Verdict::Barred(Barred::Lockdown));
        let confidential = locked("none integrity [confidentiality]\n");
        assert_eq!(confidential.of_refusal(), lockdown);
        let filtered = Facts {
            filtered: true,
            ..confidential
        };
        assert_eq!(filtered.of_bare_refusal(), lockdown);
        let filtered = Facts {
            filtered: true,
            ..locked("none [integrity] confidentiality\n")
        };
        let seccomp = Some(Verdict::Barred(Barred::Seccomp));
        assert_eq!(filtered.of_refusal(), None);
        assert_eq!(filtered.of_bare_refusal(), seccomp);
        assert_eq!(root().of_refusal(), None);
        assert_eq!(root().of_bare_refusal(), apparmor());
        let nothing = Facts {
            modules: "lockdown,capability,yama".to_owned(),
            ..root()
        };
        assert_eq!(nothing.of_bare_refusal(), None);
    }
}
