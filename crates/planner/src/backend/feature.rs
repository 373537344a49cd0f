//! What a kernel can be built without, and what of it a link needs.

use std::fmt;

use takt_policy::{AqmKind, Backend, Link};

/// A part of the kernel that has an option of its own, and mostly a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A tree of classes.
    Htb,
    /// Departure times, and the pace of sockets.
    Fq,
    /// A managed queue.
    Codel,
    /// Managed queues by flow.
    FqCodel,
    /// BPF programs as filters of a qdisc.
    Classifier,
    /// BPF programs before the qdisc of a device.
    Hook,
    /// Devices that incoming packets wait in.
    Ifb,
    /// Filters that send them there.
    Redirect,
}

impl Feature {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Htb,
        Self::Fq,
        Self::Codel,
        Self::FqCodel,
        Self::Classifier,
        Self::Hook,
        Self::Ifb,
        Self::Redirect,
    ];

    /// What it is.
    pub fn name(self) -> &'static str {
        match self {
            Self::Htb => "the qdisc htb",
            Self::Fq => "the qdisc fq",
            Self::Codel => "the qdisc codel",
            Self::FqCodel => "the qdisc fq_codel",
            Self::Classifier => "the classifier bpf",
            Self::Hook => "a hook for BPF programs before qdiscs",
            Self::Ifb => "devices of kind ifb",
            Self::Redirect => "redirection of incoming packets",
        }
    }

    /// The options that the kernel has it by.
    pub fn option(self) -> &'static str {
        match self {
            Self::Htb => "CONFIG_NET_SCH_HTB",
            Self::Fq => "CONFIG_NET_SCH_FQ",
            Self::Codel => "CONFIG_NET_SCH_CODEL",
            Self::FqCodel => "CONFIG_NET_SCH_FQ_CODEL",
            Self::Classifier => "CONFIG_NET_CLS_BPF",
            Self::Hook => "CONFIG_NET_SCH_INGRESS, and before Linux 6.6 CONFIG_NET_CLS_BPF",
            Self::Ifb => "CONFIG_IFB",
            Self::Redirect => {
                "CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_MATCHALL and CONFIG_NET_ACT_MIRRED"
            }
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.option())
    }
}

/// What a link needs of the kernel on this backend, beside what Takt loads itself.
pub fn needs(backend: Backend, link: &Link) -> Vec<Feature> {
    let incoming = [Feature::Ifb, Feature::Redirect];
    let incoming = incoming.into_iter().filter(|_| link.download_of.is_some());
    incoming.chain(needed_by(backend, link)).collect()
}

fn needed_by(backend: Backend, link: &Link) -> Vec<Feature> {
    match backend {
        Backend::Takt if link.classes.iter().any(|class| class.receive) => {
            vec![Feature::Hook, Feature::Ifb]
        }
        Backend::Takt => Vec::new(),
        Backend::Departure => vec![Feature::Fq, Feature::Hook],
        Backend::Flow => vec![Feature::Fq],
        Backend::Tree => {
            let queue = |kind| link.classes.iter().any(|class| class.aqm.kind == kind);
            let queues = [
                (AqmKind::Codel, Feature::Codel),
                (AqmKind::FqCodel, Feature::FqCodel),
            ];
            let queues = queues.into_iter().filter(|(kind, _)| queue(*kind));
            [Feature::Htb, Feature::Classifier]
                .into_iter()
                .chain(queues.map(|(_, feature)| feature))
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use takt_policy::Backend;

    use super::{
        super::{Kernel, choose},
        *,
    };

    const FIXED: &str = "[link.eth0]\nrate = \"1gbit\"\n[[link.eth0.class]]\nname = \"web\"\n\
                         rate = \"10mbit\"\nmatch = { proto = \"tcp\" }\naqm = \"off\"\n\
                         [[link.eth0.class]]\nname = \"default\"\nrate = \"1mbit\"\naqm = \"off\"\n";

    fn link(text: &str) -> Link {
        let policy = takt_policy::parse("test", text).expect("a policy");
        policy.links.into_iter().next().expect("a link")
    }

    fn without(features: &[Feature], release: &str) -> Kernel {
        Kernel {
            missing: features.iter().copied().collect(),
            ..Kernel::of_release(release).expect("a release")
        }
    }

    #[test]
    fn another_backend_is_taken_where_a_feature_is_missing() {
        for (release, missing, taken) in [
            ("6.18", &[][..], Backend::Departure),
            ("6.18", &[Feature::Fq], Backend::Takt),
            ("6.12", &[Feature::Fq], Backend::Tree),
            ("6.12", &[Feature::Hook], Backend::Tree),
            (
                "6.12",
                &[Feature::Codel, Feature::FqCodel],
                Backend::Departure,
            ),
            (
                "6.12",
                &[Feature::Fq, Feature::Codel, Feature::FqCodel],
                Backend::Tree,
            ),
        ] {
            let chosen = choose(&link(FIXED), &without(missing, release)).expect("a backend");
            assert_eq!(chosen.backend, taken, "{release} without {missing:?}");
        }
    }

    #[test]
    fn what_no_backend_can_do_without_is_named_with_its_option() {
        let managed = FIXED.replace("aqm = \"off\"", "aqm = \"fq_codel\"");
        let kernel = without(&[Feature::Fq, Feature::FqCodel], "6.12");
        let none = choose(&link(&managed), &kernel).expect_err("no backend");
        let none = none.to_string();
        assert!(none.contains("CONFIG_NET_SCH_FQ)"), "{none}");
        assert!(none.contains("CONFIG_NET_SCH_FQ_CODEL"), "{none}");
    }

    #[test]
    fn a_download_has_qdiscs_and_is_redirected() {
        let text = FIXED.replacen("\n", "\ndownload = { rate = \"500mbit\" }\n", 1);
        let policy = takt_policy::parse("test", &text).expect("a policy");
        let download = &policy.links[1];
        for (release, missing, taken) in [
            ("6.18", &[][..], Backend::Takt),
            ("6.12", &[], Backend::Tree),
        ] {
            let chosen = choose(download, &without(missing, release)).expect("a backend");
            assert_eq!(chosen.backend, taken, "{release}");
        }
        for feature in [Feature::Ifb, Feature::Redirect] {
            let none = choose(download, &without(&[feature], "6.18")).expect_err("no backend");
            assert!(none.to_string().contains(feature.option()), "{none}");
        }
    }

    #[test]
    fn incoming_traffic_needs_a_device_to_wait_in() {
        let receives = "[link.eth0]\nrate = \"1gbit\"\n[[link.eth0.class]]\nname = \"bulk\"\n\
                        match = { proto = \"tcp\" }\npriority = \"background\"\n";
        let link = link(receives);
        assert_eq!(
            link.classes.iter().any(|class| class.receive),
            needs(Backend::Takt, &link).contains(&Feature::Ifb)
        );
    }
}
