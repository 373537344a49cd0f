//! What becomes of a policy on a kernel: which backend each link gets, and whether tasks and crowds
//! can be.

use std::fmt::Write;

use serde::Serialize;
use takt_host::{LinkPrediction, Prediction};
use takt_planner::backend::{Kernel, Offer, remedy};
use takt_policy::{Backend, Policy};

/// A whole policy on one kernel.
#[derive(Debug, Serialize)]
pub struct Backends {
    /// The kernel's release.
    kernel: String,
    /// Why not everything was tried; `None`: it was.
    not_tried: Option<String>,
    /// Why no policy can be applied at all.
    refused: Option<String>,
    links: Vec<LinkBackends>,
    /// Of a policy with tasks.
    tasks: Option<Verdict>,
    /// Of a policy with a crowd.
    crowd: Option<Verdict>,
}

/// What a link could get.
#[derive(Debug, Serialize)]
struct LinkBackends {
    device: String,
    /// What it gets; `None`: nothing that keeps what the policy asks for.
    backend: Option<Backend>,
    /// Why that one cannot be used.
    problem: Option<String>,
    /// All that may be used, from the cheapest on.
    offers: Vec<Offer>,
}

/// Whether something other than a link can be.
#[derive(Debug, Serialize)]
struct Verdict {
    works: bool,
    problem: Option<String>,
}

impl Verdict {
    fn from_problem(problem: Option<String>) -> Self {
        Self {
            works: problem.is_none(),
            problem,
        }
    }

    fn text(&self, what: &str) -> String {
        match &self.problem {
            None => format!("  {what}: works\n"),
            Some(problem) => format!("  {what}: {problem}\n"),
        }
    }
}

impl Backends {
    /// On the running kernel.
    pub fn here(policy: &Policy) -> Self {
        Self::new(policy, takt_host::predict(policy))
    }

    /// On another one, of which nothing but the release is known.
    pub fn on(policy: &Policy, kernel: Kernel) -> Self {
        let not_tried = format!(
            "of Linux {} only the release is known; a kernel built without some \
             options would lack them",
            kernel.release
        );
        Self::new(
            policy,
            takt_host::predict_by_release(policy, kernel, not_tried),
        )
    }

    fn new(policy: &Policy, prediction: Prediction) -> Self {
        let of_link = |link: LinkPrediction, device: &String| LinkBackends {
            device: device.clone(),
            backend: link.backend,
            problem: link.problem,
            offers: link.offers,
        };
        let devices = policy.links.iter().map(|link| &link.device);
        let links = prediction.links.into_iter().zip(devices);
        let links = links.map(|(link, device)| of_link(link, device)).collect();
        Self {
            kernel: prediction.kernel,
            not_tried: prediction.not_tried,
            refused: prediction.refused,
            links,
            tasks: { policy.beats.as_ref() }.map(|_| Verdict::from_problem(prediction.tasks)),
            crowd: { policy.crowd.as_ref() }.map(|_| Verdict::from_problem(prediction.crowd)),
        }
    }

    /// Whether all of the policy can be carried out, as far as that was tried.
    pub fn are_found(&self) -> bool {
        let has_backend = |link: &LinkBackends| link.backend.is_some() && link.problem.is_none();
        let mut others = self.tasks.iter().chain(&self.crowd);
        self.refused.is_none()
            && self.links.iter().all(has_backend)
            && others.all(|verdict| verdict.works)
    }

    pub fn text(&self) -> String {
        let mut text = format!("on Linux {}:\n", self.kernel);
        if let Some(refused) = &self.refused {
            let _ = writeln!(text, "  no policy can be applied: {refused}");
        }
        for link in &self.links {
            text.push_str(&link.text());
        }
        text.extend(self.tasks.iter().map(|verdict| verdict.text("tasks")));
        text.extend(self.crowd.iter().map(|verdict| verdict.text("crowd")));
        text + &self.not_tried()
    }

    /// What may be missing all the same.
    pub fn not_tried(&self) -> String {
        let reason = self.not_tried.as_ref();
        reason.map_or_else(String::new, |reason| format!("not tried: {reason}\n"))
    }
}

impl LinkBackends {
    fn text(&self) -> String {
        let mut text = String::new();
        let taken = self.backend.map_or("no backend", Backend::name);
        let _ = match &self.problem {
            None => writeln!(text, "  {}: {taken}", self.device),
            Some(problem) => writeln!(text, "  {}: {taken}, but {problem}", self.device),
        };
        for offer in &self.offers {
            if self.backend == Some(offer.backend) {
                for unkept in &offer.unkept {
                    let _ = writeln!(text, "    not kept: {unkept}");
                }
                break;
            }
            let _ = writeln!(text, "    not {offer}");
        }
        if let (None, Some(remedy)) = (self.backend, remedy(&self.offers)) {
            let _ = writeln!(text, "    {remedy}");
        }
        text
    }
}
