//! Which backend each link of a policy gets on the running kernel.

use std::{collections::BTreeSet, path::Path};

use takt_planner::backend::{Feature, Kernel, NoBackend, Offer, choose, needs, offers};
use takt_policy::{Backend, Link};

use super::{decide::Wanted, features};
use crate::{
    bpf::{BpfError, btf},
    error::Error,
    link::{self, Refusal},
    os::{OsError, lacking},
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
    let mut running = Running::now();
    for link in links {
        let offer = running.choose(link).map_err(|problem| Refusal::NoBackend {
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

/// The running kernel, and which of its features were tried.
#[derive(Debug)]
pub struct Running {
    /// As far as backends depend on it.
    pub kernel: Kernel,
    /// Why features could not be tried; those that are not known to be missing count as there.
    pub not_tried: Option<String>,
    tried: BTreeSet<Feature>,
}

impl Running {
    /// Nothing is tried yet.
    pub fn now() -> Self {
        Self {
            kernel: kernel(),
            not_tried: None,
            tried: BTreeSet::new(),
        }
    }

    /// The backend that a link gets. What it needs is tried.
    pub fn choose(&mut self, link: &Link) -> Result<Offer, NoBackend> {
        loop {
            let offer = choose(link, &self.kernel)?;
            if !self.find_missing(needs(offer.backend, link)) {
                return Ok(offer);
            }
        }
    }

    /// All backends, after what any of them needs was tried.
    pub fn offers(&mut self, link: &Link) -> Vec<Offer> {
        let before = offers(link, &self.kernel);
        let needed = before.iter().flat_map(|offer| needs(offer.backend, link));
        if self.find_missing(needed.collect()) {
            offers(link, &self.kernel)
        } else {
            before
        }
    }

    /// Try those that were not tried before. Whether any of them is missing.
    fn find_missing(&mut self, features: Vec<Feature>) -> bool {
        let features: BTreeSet<Feature> = features.into_iter().collect();
        let new = &features - &self.tried;
        self.tried.extend(&new);
        match features::missing(&new) {
            Ok(missing) => {
                let any = !missing.is_empty();
                self.kernel.missing.extend(missing);
                any
            }
            Err(reason) => {
                self.not_tried = Some(reason);
                false
            }
        }
    }
}

/// Refuse if the kernel lacks any of these features.
pub(crate) fn has(features: &[Feature]) -> Result<(), Error> {
    let missing = features::missing(&features.iter().copied().collect())
        .map_err(|reason| OsError::NotTried { reason })?;
    match missing.first() {
        None => Ok(()),
        Some(first) => Err(BpfError::KernelLacks {
            feature: first.name(),
            since: first.option(),
        }
        .into()),
    }
}

/// The running kernel, as far as that can be read.
pub fn kernel() -> Kernel {
    let release = crate::release();
    let unknown = || Kernel {
        release: release.clone(),
        version: (u32::MAX, 0),
        has_bpf_qdiscs: true,
        compiles_bpf: true,
        missing: BTreeSet::new(),
    };
    let kernel = Kernel::of_release(&release).unwrap_or_else(unknown);
    // Without a BPF file system that this process may read, the kernel's own types decide.
    let are_loaded = link::are_loaded().unwrap_or(false);
    Kernel {
        has_bpf_qdiscs: kernel.has_bpf_qdiscs && (are_loaded || btf::may_have_bpf_qdiscs()),
        compiles_bpf: are_loaded || lacking::compiles_bpf(),
        ..kernel
    }
}
