//! What a kernel offers to links.

use takt_policy::Backend;

/// The first kernel with BPF qdiscs.
const BPF_QDISCS_FROM: (u32, u32) = (6, 16);
/// The first kernel whose programs stamp departure times as such (bpf_skb_set_tstamp).
const STAMPS_FROM: (u32, u32) = (5, 18);
/// The first kernel on which the owners of sockets are found (cgroup.ancestors).
const OWNERS_FROM: (u32, u32) = (6, 1);
/// The first kernel on which the programs that set rates on sockets were tried.
const SOCKET_RATES_FROM: (u32, u32) = (6, 1);
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
        })
    }

    /// Whether the owners of sockets can be found.
    pub(super) fn knows_owners(&self) -> bool {
        self.version >= OWNERS_FROM
    }

    /// Whether programs can set rates on sockets.
    pub fn sets_socket_rates(&self) -> bool {
        self.version >= SOCKET_RATES_FROM
    }

    /// What it lacks for a backend.
    pub(super) fn lacks(&self, backend: Backend) -> Option<String> {
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
        for other in ["", "six", "6", "6.", "v6.1", "99999999999.1"] {
            assert_eq!(Kernel::of_release(other), None, "{other}");
        }
    }
}
