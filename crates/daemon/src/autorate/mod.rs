//! What taktd does for lines that change: it asks the policy's reflectors for the delay of each line,
//! and sets the rates of its links by the law of `takt_autorate` (`docs/autorate.md`).

mod icmp;
mod line;
mod probes;
#[cfg(test)]
mod tests;
mod world;

use takt_host::{Error, applied_autorate};
use takt_policy::{Link, Policy};

use self::line::Follower;
use crate::service::{Make, Services};

/// The lines of the policy in this network namespace.
pub(crate) struct Autorate(Services<()>);

impl Default for Autorate {
    fn default() -> Self {
        Self(Services::new("autorate"))
    }
}

impl Autorate {
    /// Follow the policy in force from now on.
    pub fn follow(&mut self) -> Result<(), Error> {
        self.0.follow(applied_autorate()?, parts);
        Ok(())
    }

    /// The rates that were set last run out by themselves.
    pub fn end(&mut self) {
        self.0.end();
    }
}

fn parts(policy: &Policy) -> Vec<Make<()>> {
    let links = policy
        .links
        .iter()
        .filter(|link| link.download_of.is_none());
    let lines = links.filter_map(|link| terms(link, policy));
    let make = |terms: line::Terms| -> Make<()> {
        Box::new(move || {
            let world = world::Host::new(&terms);
            Box::new(Follower::new(terms, world))
        })
    };
    lines.map(make).collect()
}

/// `None`: neither direction of the line changes.
fn terms(link: &Link, policy: &Policy) -> Option<line::Terms> {
    let mut links = policy.links.iter();
    let download = links.find(|other| other.download_of.as_ref() == Some(&link.device));
    let autorates = [Some(link), download];
    let reflectors = { autorates.into_iter().flatten() }
        .find_map(|link| link.autorate.as_ref())
        .map(|autorate| autorate.reflectors.clone())?;
    Some(line::Terms {
        device: link.device.clone(),
        up: line::Way::for_link(link),
        down: download.and_then(line::Way::for_link),
        reflectors,
    })
}
