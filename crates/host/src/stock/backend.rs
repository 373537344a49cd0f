//! Which backend each link of a policy gets on the running kernel.

use std::path::Path;

use takt_planner::backend::{Kernel, choose};
use takt_policy::{Backend, Link};

use super::decide::Wanted;
use crate::{
    bpf::btf,
    link::{self, Refusal},
};

/// A policy's links by their backends.
pub(crate) struct Assigned<'a> {
    /// On takt's own qdisc.
    pub takt: Vec<Link>,
    /// On qdiscs of the kernel's own.
    pub stock: Vec<Wanted<'a>>,
}

impl Assigned<'_> {
    /// All links, and whether their backend paces sockets itself.
    pub fn links(&self) -> impl Iterator<Item = (&Link, bool)> {
        let takt = self.takt.iter().map(|link| (link, false));
        let stock = self.stock.iter();
        takt.chain(stock.map(|wanted| (wanted.link, wanted.backend == Backend::Flow)))
    }
}

/// Choose the backend of each link.
pub(crate) fn assign(links: &[Link]) -> Result<Assigned<'_>, Refusal> {
    let mut assigned = Assigned {
        takt: Vec::new(),
        stock: Vec::new(),
    };
    if links.is_empty() {
        return Ok(assigned);
    }
    let kernel = kernel();
    for link in links {
        let offer = choose(link, &kernel).map_err(|problem| Refusal::NoBackend {
            device: link.device.clone(),
            problem,
        })?;
        match offer.backend {
            Backend::Takt => assigned.takt.push(link.clone()),
            backend => assigned.stock.push(Wanted {
                link,
                backend,
                unkept: offer.unkept,
            }),
        }
    }
    Ok(assigned)
}

/// Whether programs can set rates on sockets here.
pub(crate) fn can_set_rates() -> bool {
    let kernel = Kernel::of_release(&crate::release());
    kernel.is_none_or(|kernel| kernel.sets_socket_rates()) && Path::new(btf::OF_KERNEL).exists()
}

/// The running kernel, as far as backends depend on it.
pub fn kernel() -> Kernel {
    let release = crate::release();
    let unknown = || Kernel {
        release: release.clone(),
        version: (u32::MAX, 0),
        has_bpf_qdiscs: true,
    };
    let kernel = Kernel::of_release(&release).unwrap_or_else(unknown);
    Kernel {
        has_bpf_qdiscs: kernel.has_bpf_qdiscs
            && (link::are_loaded().unwrap_or(true) || btf::may_have_bpf_qdiscs()),
        ..kernel
    }
}
