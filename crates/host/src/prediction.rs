//! Whether this host can carry a policy out, found out by trying: what [`crate::apply`] needs is
//! loaded, or put on devices of a network namespace of its own, and nothing of it stays. The
//! policy's devices need not be there.

use std::{collections::BTreeMap, slice};

use takt_planner::backend::{Kernel, Offer, choose, offers};
use takt_policy::{Backend, Link, Policy};

use crate::{
    beats::{self, Scheduler, refuse_cgroup_limits},
    bpf::pins,
    crowd::Crowd,
    error::Error,
    link::{egress::Writer, program::Program, receive, sockets::Sockets},
    os::capability,
    stock::{self, Running},
};

/// What applying a policy would come to.
#[derive(Debug)]
pub struct Prediction {
    /// The running kernel's release.
    pub kernel: String,
    /// Why no policy can be applied at all.
    pub refused: Option<String>,
    /// Why not everything was tried: what is not said to be lacking may be.
    pub not_tried: Option<String>,
    /// In the policy's order.
    pub links: Vec<LinkPrediction>,
    /// Why tasks cannot run; `None`: they can, or there are none.
    pub tasks: Option<String>,
    /// Why windows cannot be bounded; `None`: they can, or there is no crowd.
    pub crowd: Option<String>,
}

/// What applying a policy would come to for one link.
#[derive(Debug)]
pub struct LinkPrediction {
    /// The backends that it could have, from the cheapest on.
    pub offers: Vec<Offer>,
    /// The one that it gets; `None`: none keeps what the policy asks for.
    pub backend: Option<Backend>,
    /// Why that one cannot be used all the same.
    pub problem: Option<String>,
}

/// What another kernel's release says of it. `not_tried`: why nothing was tried.
pub fn predict_by_release(policy: &Policy, kernel: Kernel, not_tried: String) -> Prediction {
    let links = policy.links.iter().map(|link| LinkPrediction {
        offers: offers(link, &kernel),
        backend: choose(link, &kernel).ok().map(|offer| offer.backend),
        problem: None,
    });
    let lacks = |what: Option<String>| what.map(|what| format!("the kernel lacks {what}"));
    Prediction {
        refused: None,
        not_tried: Some(not_tried),
        links: links.collect(),
        tasks: { policy.beats.as_ref() }.and_then(|_| lacks(kernel.lacks_for_tasks())),
        crowd: { policy.crowd.as_ref() }.and_then(|_| lacks(kernel.lacks_for_crowd())),
        kernel: kernel.release,
    }
}

/// Try what this policy needs.
pub fn predict(policy: &Policy) -> Prediction {
    let mut running = Running::now();
    match capability::require() {
        Ok(()) => try_all(policy, &mut running),
        Err(error) => predict_by_release(policy, running.kernel, error.to_string()),
    }
}

fn try_all(policy: &Policy, running: &mut Running) -> Prediction {
    let why = |tried: Result<(), Error>| tried.err().map(|error| error.to_string());
    let mut programs = BTreeMap::new();
    let links = policy.links.iter().map(|link| {
        let offers = running.offers(link);
        let backend = running.choose(link).ok().map(|offer| offer.backend);
        let problem = backend.and_then(|backend| {
            let loads = programs
                .entry(backend.name())
                .or_insert_with(|| why(verify(backend)));
            loads.clone().or_else(|| why(verify_beside(link, backend)))
        });
        LinkPrediction {
            offers,
            backend,
            problem,
        }
    });
    let links = links.collect();
    let of_tasks = policy.beats.as_ref().map(|beats| {
        beats::refuse_other_scheduler()
            .and_then(|()| refuse_cgroup_limits(Some(beats)))
            .and_then(|()| Scheduler::verify())
    });
    Prediction {
        kernel: running.kernel.release.clone(),
        refused: why(pins::require_writable()),
        not_tried: running.not_tried.clone(),
        links,
        tasks: of_tasks.and_then(why),
        crowd: policy.crowd.as_ref().and_then(|_| why(Crowd::verify())),
    }
}

/// Load what a backend runs, and leave nothing loaded.
fn verify(backend: Backend) -> Result<(), Error> {
    match backend {
        Backend::Takt => Program::verify(),
        Backend::Tree => stock::verify_tree(),
        Backend::Departure => stock::verify_departure(),
        Backend::Flow => stock::verify_flow(),
    }
}

/// Likewise for what runs beside it.
fn verify_beside(link: &Link, backend: Backend) -> Result<(), Error> {
    let mut matches = link.classes.iter().flat_map(|class| &class.matches);
    let watches = match backend {
        Backend::Takt => Sockets::are_watched_for(slice::from_ref(link)),
        _ => matches.any(|entry| entry.questions().next().is_some()),
    };
    if watches {
        Sockets::verify()?;
    }
    if backend == Backend::Takt && link.classes.iter().any(|class| class.receive) {
        receive::verify_program()?;
    }
    if backend == Backend::Takt && link.ecn {
        Writer::Mark.verify()?;
    }
    if backend == Backend::Takt && link.sets_dscp() {
        Writer::Dscp.verify()?;
    }
    Ok(())
}
