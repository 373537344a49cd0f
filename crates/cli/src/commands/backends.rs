//! Which backend each link of a policy gets on a kernel.

use std::fmt::Write;

use serde::Serialize;
use takt_planner::backend::{Kernel, Offer, choose, offers};
use takt_policy::{Backend, Policy};

/// All links of a policy on one kernel.
#[derive(Debug, Serialize)]
pub struct Backends {
    /// The kernel's release.
    kernel: String,
    links: Vec<LinkBackends>,
}

/// What a link could get.
#[derive(Debug, Serialize)]
struct LinkBackends {
    device: String,
    /// What it gets; `None`: nothing that keeps what the policy asks for.
    backend: Option<Backend>,
    /// All that may be used, from the cheapest on.
    offers: Vec<Offer>,
}

impl Backends {
    pub fn of(policy: &Policy, kernel: Kernel) -> Self {
        let links = policy.links.iter().map(|link| LinkBackends {
            device: link.device.clone(),
            backend: choose(link, &kernel).ok().map(|offer| offer.backend),
            offers: offers(link, &kernel),
        });
        Self {
            links: links.collect(),
            kernel: kernel.release,
        }
    }

    /// Whether each link gets one.
    pub fn are_found(&self) -> bool {
        self.links.iter().all(|link| link.backend.is_some())
    }

    pub fn text(&self) -> String {
        let mut text = format!("on Linux {}:\n", self.kernel);
        for link in &self.links {
            let taken = link.backend.map_or("no backend", Backend::name);
            let _ = writeln!(text, "  {}: {taken}", link.device);
            for offer in &link.offers {
                if link.backend == Some(offer.backend) {
                    for unkept in &offer.unkept {
                        let _ = writeln!(text, "    not kept: {unkept}");
                    }
                    break;
                }
                let _ = writeln!(text, "    not {offer}");
            }
        }
        text
    }
}
