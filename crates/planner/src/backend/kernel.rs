//! What a kernel offers to links.

use std::collections::BTreeSet;

use takt_policy::{Backend, Link};

use super::feature::{Feature, needs};

/// The first kernel with BPF qdiscs.
const BPF_QDISCS_FROM: (u32, u32) = (6, 16);
/// The first kernel whose programs stamp departure times as such (bpf_skb_set_tstamp).
const STAMPS_FROM: (u32, u32) = (5, 18);
/// The first kernel on which the owners of sockets are found (cgroup.ancestors).
const OWNERS_FROM: (u32, u32) = (6, 1);
/// The first kernel on which the programs that set rates on sockets were tried.
const SOCKET_RATES_FROM: (u32, u32) = (6, 1);
/// The first kernel with the functions that the scheduler of tasks calls.
const TASKS_FROM: (u32, u32) = (6, 16);
/// The first kernel whose links hold congestion controls written in BPF.
const CROWD_FROM: (u32, u32) = (6, 12);
/// Takt tells network namespaces apart by their cookies (SO_NETNS_COOKIE), on any backend.
const ANY_FROM: (u32, u32) = (5, 14);

/// A kernel, as far as backends depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// As `uname -r` prints it, or its beginning.
    pub release: String,
    /// Its two first numbers.
    pub version: (u32, u32),
    /// Whether it was built with CONFIG_NET_SCH_BPF.
    pub has_bpf_qdiscs: bool,
    /// Whether it compiles BPF programs. Its interpreter runs those of the kernel's own qdiscs.
    pub compiles_bpf: bool,
    /// What it was built without, or has no module of.
    pub missing: BTreeSet<Feature>,
}

impl Kernel {
    /// A kernel that is known by its release alone: taken to be built with all that its version
    /// has. `None`: that is no release.
    pub fn of_release(release: &str) -> Option<Self> {
        let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
        let version = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        Some(Self {
            release: release.to_owned(),
            version,
            has_bpf_qdiscs: version >= BPF_QDISCS_FROM,
            compiles_bpf: true,
            missing: BTreeSet::new(),
        })
    }

    /// Whether the owners of sockets can be found.
    pub(super) fn knows_owners(&self) -> bool {
        // What watches sockets has callbacks.
        self.version >= OWNERS_FROM && self.compiles_bpf
    }

    /// Whether programs can set rates on sockets.
    pub fn sets_socket_rates(&self) -> bool {
        self.version >= SOCKET_RATES_FROM
    }

    /// What it lacks for tasks.
    pub fn lacks_for_tasks(&self) -> Option<String> {
        let (major, minor) = TASKS_FROM;
        (self.version < TASKS_FROM).then(|| {
            format!(
                "sched_ext (Linux {major}.{minor} with CONFIG_SCHED_CLASS_EXT=y; or `takt dispatch`)"
            )
        })
    }

    /// What it lacks for a crowd.
    pub fn lacks_for_crowd(&self) -> Option<String> {
        let (major, minor) = CROWD_FROM;
        (self.version < CROWD_FROM).then(|| {
            format!(
                "congestion controls written in BPF (Linux {major}.{minor} with \
                 CONFIG_TCP_CONG_CUBIC=y and CONFIG_BPF_EVENTS=y)"
            )
        })
    }

    /// What it lacks to carry out this link by this backend.
    pub(super) fn lacks(&self, backend: Backend, link: &Link) -> Option<String> {
        self.lacks_for(backend).or_else(|| {
            let missing = needs(backend, link).into_iter();
            let missing: Vec<String> = missing
                .filter(|feature| self.missing.contains(feature))
                .map(|feature| feature.to_string())
                .collect();
            (!missing.is_empty()).then(|| missing.join(" and "))
        })
    }

    /// What it lacks for any link.
    fn lacks_for(&self, backend: Backend) -> Option<String> {
        if self.version < ANY_FROM {
            let (major, minor) = ANY_FROM;
            return Some(format!("SO_NETNS_COOKIE (Linux {major}.{minor})"));
        }
        match backend {
            Backend::Takt if !self.has_bpf_qdiscs => {
                let (major, minor) = BPF_QDISCS_FROM;
                Some(format!(
                    "BPF qdiscs (Linux {major}.{minor} with CONFIG_NET_SCH_BPF=y)"
                ))
            }
            Backend::Takt if !self.compiles_bpf => {
                Some("a compiler of BPF programs (net.core.bpf_jit_enable = 1)".to_owned())
            }
            Backend::Departure if self.version < STAMPS_FROM => {
                let (major, minor) = STAMPS_FROM;
                Some(format!("bpf_skb_set_tstamp (Linux {major}.{minor})"))
            }
            Backend::Flow if !self.sets_socket_rates() => {
                let (major, minor) = SOCKET_RATES_FROM;
                Some(format!(
                    "programs that set rates on sockets (Linux {major}.{minor})"
                ))
            }
            Backend::Takt | Backend::Departure | Backend::Tree | Backend::Flow => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_distributions_are_read() {
        for (release, version) in [
            ("6.1.0-49-amd64", (6, 1)),
            ("6.12.95+deb13-cloud-amd64", (6, 12)),
            ("7.3.0-rc1", (7, 3)),
            ("6.18", (6, 18)),
        ] {
            let kernel = Kernel::of_release(release).expect(release);
            assert_eq!(kernel.version, version);
        }
        for (release, tasks, crowd) in [
            ("5.10", true, true),
            ("6.12", true, false),
            ("6.16", false, false),
        ] {
            let kernel = Kernel::of_release(release).expect(release);
            assert_eq!(kernel.lacks_for_tasks().is_some(), tasks, "{release}");
            assert_eq!(kernel.lacks_for_crowd().is_some(), crowd, "{release}");
        }
        for other in ["", "six", "6", "6.", "v6.1", "99999999999.1"] {
            assert_eq!(Kernel::of_release(other), None, "{other}");
        }
    }
}
