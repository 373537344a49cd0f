//! Which backend carries out a link: the cheapest one that keeps what the policy asks for, on a
//! kernel.
//!
//! Every backend is offered with what the kernel lacks for it and what it would not keep
//! ([`promise`]). The cheapest offer that keeps all of it is taken; if none does, of those that keep
//! what they must the one that keeps most.

mod feature;
mod kernel;
mod promise;

use std::{collections::BTreeSet, fmt};

use serde::Serialize;
use takt_policy::{Backend, Link};
use thiserror::Error;

use crate::flow::is_paced;

pub use feature::{Feature, needs};
pub use kernel::Kernel;
pub use promise::{Promise, Unkept};

/// From the cheapest on (`takt lab run cost`: takt-flow, takt-departure, takt, takt-tree).
const BACKENDS: [Backend; 4] = [
    Backend::Flow,
    Backend::Departure,
    Backend::Takt,
    Backend::Tree,
];

/// What a backend would make of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// The backend.
    pub backend: Backend,
    /// What the kernel lacks for it; `None`: it can be used.
    pub lacks: Option<String>,
    /// What the policy asks for and this backend does not keep.
    pub unkept: Vec<Unkept>,
}

impl Offer {
    fn new(backend: Backend, link: &Link, kernel: &Kernel) -> Self {
        Self {
            backend,
            lacks: kernel.lacks(backend, link),
            unkept: match backend {
                Backend::Takt => Vec::new(),
                Backend::Departure => promise::unkept_by_departure_times(link, kernel),
                Backend::Tree => promise::unkept_by_a_tree(link, kernel),
                Backend::Flow => promise::unkept_by_socket_rates(link, kernel),
            },
        }
    }

    /// Whether a policy may get this backend: all that it must keep is kept, or the class has
    /// `best_effort = true`.
    pub fn is_acceptable(&self) -> bool {
        self.lacks.is_none() && self.unkept.iter().all(|unkept| !unkept.refuses)
    }

    /// By what offers are compared: the less, the better. Rates on sockets are for links that no
    /// other backend takes, or that demand them: no policy says that all packets of a class are TCP's
    /// of this host.
    fn distance(&self) -> (bool, usize) {
        // Where queues are managed for local senders too, they are managed.
        let worse = |unkept: &&Unkept| unkept.promise != Promise::LocalSenders;
        let count = self.unkept.iter().filter(worse).count();
        (self.backend == Backend::Flow, count)
    }
}

impl fmt::Display for Offer {
    /// Such as `tree: flows have no clocks of their own (class calls)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.backend.name())?;
        if let Some(lacks) = &self.lacks {
            return write!(f, "the kernel lacks {lacks}");
        }
        let refusing = self.unkept.iter().filter(|unkept| unkept.refuses);
        let reasons: Vec<String> = refusing.map(ToString::to_string).collect();
        if !reasons.is_empty() {
            return write!(f, "{}", reasons.join("; "));
        }
        let less: Vec<String> = self.unkept.iter().map(ToString::to_string).collect();
        if less.is_empty() {
            write!(f, "keeps all of it")
        } else {
            write!(f, "keeps less, because {}", less.join("; "))
        }
    }
}

/// No backend keeps what the policy asks for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "no backend keeps what the policy asks for on Linux {release}: {}{}",
    reasons(offers),
    remedy(offers).map(|remedy| format!("; {remedy}")).unwrap_or_default()
)]
pub struct NoBackend {
    /// The kernel's.
    pub release: String,
    /// Those that were considered.
    pub offers: Vec<Offer>,
}

fn reasons(offers: &[Offer]) -> String {
    let reasons: Vec<String> = offers.iter().map(ToString::to_string).collect();
    reasons.join("; ")
}

/// The line that a policy needs to be carried out in part, and by which backend. `None`: the kernel
/// has none of them.
pub fn remedy(offers: &[Offer]) -> Option<String> {
    let refusing = |offer: &Offer| offer.unkept.iter().filter(|unkept| unkept.refuses).count();
    let usable = offers.iter().filter(|offer| offer.lacks.is_none());
    // Rates on sockets are for those who ask for them.
    let best = usable.min_by_key(|offer| (offer.backend == Backend::Flow, refusing(offer)))?;
    let unkept = best.unkept.iter().filter(|unkept| unkept.refuses);
    let classes: BTreeSet<Option<&str>> = unkept.map(|unkept| unkept.class.as_deref()).collect();
    let places = if classes.contains(&None) {
        "every class, `default` too,".to_owned()
    } else {
        let names: Vec<String> = { classes.into_iter().flatten() }
            .map(|class| format!("`{class}`"))
            .collect();
        match names.len() {
            1 => format!("class {}", names.concat()),
            _ => format!("classes {}", names.join(", ")),
        }
    };
    Some(format!(
        "the line `best_effort = true` in {places} lets {} carry it out without that",
        best.backend.name()
    ))
}

/// All backends, or the one that the policy demands, from the cheapest on. Without a flow that has a
/// rate there is nothing to set on sockets.
pub fn offers(link: &Link, kernel: &Kernel) -> Vec<Offer> {
    let has_paced_flows = link.classes.iter().any(is_paced);
    let is_offered = |backend: &Backend| match link.backend {
        Some(demanded) => demanded == *backend,
        None => *backend != Backend::Flow || has_paced_flows,
    };
    BACKENDS
        .into_iter()
        .filter(is_offered)
        .map(|backend| Offer::new(backend, link, kernel))
        .collect()
}

/// The backend that a link gets.
pub fn choose(link: &Link, kernel: &Kernel) -> Result<Offer, NoBackend> {
    let mut offers = offers(link, kernel);
    let acceptable = offers.iter().enumerate();
    let acceptable = acceptable.filter(|(_, offer)| offer.is_acceptable());
    // The first of those that keep most is the cheapest of them.
    let best = acceptable.min_by_key(|(_, offer)| offer.distance());
    match best.map(|(at, _)| at) {
        Some(at) => Ok(offers.swap_remove(at)),
        None => Err(NoBackend {
            release: kernel.release.clone(),
            offers,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(text: &str) -> Link {
        let policy = takt_policy::parse("test", text).expect("a policy");
        policy.links.into_iter().next().expect("a link")
    }

    fn kernel(release: &str) -> Kernel {
        Kernel::of_release(release).expect("a release")
    }

    const PLAIN: &str = "[link.eth0]\nrate = \"1gbit\"\n[[link.eth0.class]]\nname = \"web\"\n\
                         rate = \"10mbit\"\nmatch = { proto = \"tcp\" }\n";

    #[test]
    fn new_kernels_have_the_qdisc_and_old_ones_a_tree() {
        for (release, backend) in [
            ("7.3.0", Backend::Takt),
            ("6.16", Backend::Takt),
            ("6.12.9-amd64", Backend::Tree),
            ("5.15.0-91-generic", Backend::Tree),
        ] {
            let chosen = choose(&link(PLAIN), &kernel(release)).expect("a backend");
            assert_eq!(chosen.backend, backend, "{release}");
        }
        let none = choose(&link(PLAIN), &kernel("4.19")).expect_err("too old");
        assert!(none.to_string().contains("Linux 5.14"), "{none}");
    }

    #[test]
    fn a_demanded_backend_is_the_only_one() {
        let tree = PLAIN.replacen("rate", "backend = \"tree\"\nrate", 1);
        let chosen = choose(&link(&tree), &kernel("7.3")).expect("a backend");
        assert_eq!(chosen.backend, Backend::Tree);
        let takt = PLAIN.replacen("rate", "backend = \"takt\"\nrate", 1);
        let none = choose(&link(&takt), &kernel("6.12")).expect_err("there is no BPF qdisc");
        assert_eq!(none.offers.len(), 1);
    }

    #[test]
    fn what_is_not_kept_refuses_unless_the_class_says_so() {
        let flows = format!("{PLAIN}per_flow = true\n");
        let none = choose(&link(&flows), &kernel("6.12")).expect_err("no clocks for flows");
        assert!(none.to_string().contains("class web"), "{none}");
        let line = "`best_effort = true` in class `web` lets tree carry it out";
        assert!(none.to_string().contains(line), "{none}");
        let best = format!("{flows}best_effort = true\n");
        let chosen = choose(&link(&best), &kernel("6.12")).expect("a backend");
        let flows = |unkept: &&Unkept| unkept.promise == Promise::FlowClocks;
        assert_eq!(chosen.unkept.iter().filter(flows).count(), 1);
    }

    const FIXED: &str = "[link.eth0]\nrate = \"1gbit\"\n[[link.eth0.class]]\nname = \"web\"\n\
                         rate = \"10mbit\"\nmatch = { proto = \"tcp\" }\naqm = \"off\"\n\
                         [[link.eth0.class]]\nname = \"default\"\nrate = \"1mbit\"\naqm = \"off\"\n";

    #[test]
    fn fixed_rates_have_departure_times() {
        for release in ["5.18", "6.1.0-49-amd64", "6.18", "7.3"] {
            let chosen = choose(&link(FIXED), &kernel(release)).expect("a backend");
            assert_eq!(chosen.backend, Backend::Departure, "{release}");
            assert_eq!(chosen.unkept, []);
        }
        let older = choose(&link(FIXED), &kernel("5.15")).expect("a backend");
        assert_eq!(older.backend, Backend::Tree);
        // Managed queues: takt's qdisc keeps all of it; without that a tree misses more.
        let managed = FIXED.replacen("aqm = \"off\"", "aqm = \"codel\"", 1);
        let new = choose(&link(&managed), &kernel("6.18")).expect("a backend");
        assert_eq!(new.backend, Backend::Takt);
        let old = choose(&link(&managed), &kernel("6.12")).expect("a backend");
        assert_eq!(old.backend, Backend::Departure);
    }

    #[test]
    fn what_is_shared_has_no_departure_times() {
        let demanded = FIXED.replacen("rate", "backend = \"departure\"\nrate", 1);
        let spare = demanded.replacen("rate = \"1mbit\"\n", "", 1);
        let none = choose(&link(&spare), &kernel("6.18")).expect_err("spare capacity");
        assert!(none.to_string().contains("class default"), "{none}");
        let urgent = demanded.replacen("10mbit", "999mbit", 1).replacen(
            "1mbit",
            "2mbit\"\npriority = \"background",
            1,
        );
        choose(&link(&urgent), &kernel("6.18")).expect_err("priorities");
    }

    #[test]
    fn owners_are_known_from_linux_6_1_on_and_registrations_to_takt_alone() {
        let by_unit = PLAIN.replace("proto = \"tcp\"", "unit = \"a.service\"");
        choose(&link(&by_unit), &kernel("5.15")).expect_err("no ancestors of a group");
        let chosen = choose(&link(&by_unit), &kernel("6.1")).expect("a backend");
        assert_eq!(chosen.backend, Backend::Tree);
        let registered = PLAIN.replace("proto = \"tcp\"", "registered = true");
        let none = choose(&link(&registered), &kernel("6.12")).expect_err("no registrations");
        assert!(
            none.to_string().contains("registered destinations"),
            "{none}"
        );
        let chosen = choose(&link(&registered), &kernel("6.16")).expect("a backend");
        assert_eq!(chosen.backend, Backend::Takt);
    }

    const PACED: &str = "[link.eth0]\nrate = \"1gbit\"\nbackend = \"flow\"\n\
                         [[link.eth0.class]]\nname = \"web\"\nrate = \"10mbit\"\n\
                         per_flow = true\nbest_effort = true\nmatch = { proto = \"tcp\" }\n\
                         [[link.eth0.class]]\nname = \"default\"\nbest_effort = true\n";

    fn unkept_of(offer: &Offer) -> Vec<Promise> {
        offer.unkept.iter().map(|unkept| unkept.promise).collect()
    }

    #[test]
    fn a_link_that_demands_it_has_rates_on_sockets() {
        let chosen = choose(&link(PACED), &kernel("6.1.0-49-amd64")).expect("a backend");
        assert_eq!(chosen.backend, Backend::Flow);
        assert_eq!(
            unkept_of(&chosen),
            [
                Promise::LinkRate,
                Promise::Spacing,
                Promise::ForwardedPackets,
                Promise::QueueManagement
            ]
        );
        choose(&link(PACED), &kernel("5.18")).expect_err("too old");
        let strict = PACED.replacen("best_effort = true\n", "", 1);
        let none = choose(&link(&strict), &kernel("6.18")).expect_err("not all is kept");
        assert!(none.to_string().contains("that no socket sends"), "{none}");
    }

    #[test]
    fn takt_alone_thins_acknowledgements() {
        let access_point = "[crowd]\naccess_point = true\ndevice = \"eth0\"\n\
                            [link.eth0]\nrate = \"20mbit\"\n";
        let chosen = choose(&link(access_point), &kernel("6.18")).expect("a backend");
        assert_eq!(
            (chosen.backend, unkept_of(&chosen)),
            (Backend::Takt, vec![])
        );
        let old = choose(&link(access_point), &kernel("6.12")).expect("a backend");
        assert_eq!(old.backend, Backend::Tree);
        assert!(unkept_of(&old).contains(&Promise::Thinning), "{old}");
    }

    #[test]
    fn no_other_link_gets_rates_on_sockets() {
        let free = PACED.replacen("backend = \"flow\"\n", "", 1);
        for (release, backend) in [("6.18", Backend::Takt), ("6.1", Backend::Tree)] {
            let chosen = choose(&link(&free), &kernel(release)).expect("a backend");
            assert_eq!(chosen.backend, backend, "{release}");
        }
    }

    #[test]
    fn what_sockets_cannot_keep_is_said() {
        let wide = PACED.replacen("1gbit", "100gbit", 1);
        for (from, to, promise) in [
            ("\"tcp\"", "\"udp\"", Promise::OtherProtocols),
            ("per_flow = true\n", "", Promise::ClassRates),
            ("\"10mbit\"", "\"40gbit\"", Promise::FlowClocks),
            ("\"tcp\"", "\"tcp\", mark = 1", Promise::PacketFields),
            (
                "\"10mbit\"",
                "\"10mbit\"\nceil = \"20mbit\"",
                Promise::SpareCapacity,
            ),
            (
                "\"10mbit\"",
                "\"10mbit\"\nfloor = \"1mbit\"",
                Promise::Floors,
            ),
        ] {
            let policy = wide.replacen(from, to, 1);
            let asked = unkept_of(&choose(&link(&policy), &kernel("6.18")).expect("a backend"));
            assert!(asked.contains(&promise), "{promise:?}: {asked:?}");
        }
    }

    #[test]
    fn a_kernel_that_compiles_no_programs_gets_what_its_interpreter_runs() {
        let kernel = Kernel {
            compiles_bpf: false,
            ..kernel("6.18")
        };
        let chosen = choose(&link(PLAIN), &kernel).expect("a backend");
        assert_eq!(chosen.backend, Backend::Tree);
        let demanded = PLAIN.replacen("rate", "backend = \"takt\"\nrate", 1);
        let none = choose(&link(&demanded), &kernel).expect_err("nothing compiles it");
        assert!(none.to_string().contains("bpf_jit_enable"), "{none}");
        let by_unit = PLAIN.replace("proto = \"tcp\"", "unit = \"a.service\"");
        let none = choose(&link(&by_unit), &kernel).expect_err("no owners");
        assert!(none.to_string().contains("owners of sockets"), "{none}");
    }

    #[test]
    fn a_kernel_without_bpf_qdiscs_gets_a_tree_at_any_version() {
        let kernel = Kernel {
            has_bpf_qdiscs: false,
            ..kernel("6.18")
        };
        let chosen = choose(&link(PLAIN), &kernel).expect("a backend");
        assert_eq!(chosen.backend, Backend::Tree);
    }
}
