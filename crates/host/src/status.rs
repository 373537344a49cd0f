//! What takt does on this host, part by part.

use std::time::Duration;

use serde::Serialize;

use crate::{
    apply::pending::{self, PendingStatus},
    beats::{BeatsStatus, TaskStatus, Tasks},
    crowd::{CrowdStatus, Windows},
    download,
    error::Error,
    helper,
    link::{Links, status::LinkStatus},
    os::{capability, flock::Holder},
    part::{Host, Part, Query},
    radio::Radio,
    state::lock::{Glance, Glanced},
    stock::Stock,
};

/// How long to wait for a takt that changes the host.
const PATIENCE: Duration = Duration::from_secs(2);
/// For a host where takts begin and end all the time.
const GLANCES_MAX: u32 = 8;

/// What takt does on this host, at about one moment.
#[derive(Debug, Default, Serialize)]
pub struct Status {
    /// Those of this network namespace.
    pub links: Vec<LinkStatus>,
    /// `None` if no scheduler is loaded.
    pub beats: Option<BeatsStatus>,
    /// Of the whole host, in the policy's order; ad hoc tasks come last.
    pub tasks: Vec<TaskStatus>,
    /// `None` if the policy of this network namespace has no crowd.
    pub crowd: Option<CrowdStatus>,
    /// The process that is changing the host. The rest may be inconsistent then, and no problem
    /// is reported. `None`: it is of one moment.
    pub changing: Option<Holder>,
    /// A policy of this host that waits to be confirmed.
    pub pending: Option<PendingStatus>,
}

/// The links of this network namespace, with their flows if `with_flows`, and the host's beats.
pub fn status(with_flows: bool) -> Result<Status, Error> {
    capability::require()?;
    for _ in 0..GLANCES_MAX {
        let holder = match Glance::take_within(PATIENCE)? {
            Glanced::At(_glance) => return look(with_flows),
            Glanced::Nothing => {
                let status = look(with_flows);
                match Glance::take_within(Duration::ZERO)? {
                    Glanced::Nothing => return status,
                    // A takt has begun a change meanwhile.
                    _ => continue,
                }
            }
            Glanced::Changing(holder) => holder,
        };
        return Ok(look_at_change(with_flows, holder));
    }
    Ok(look_at_change(with_flows, Holder::unknown()))
}

fn look(with_flows: bool) -> Result<Status, Error> {
    let host = &mut Host::open()?;
    let query = Query {
        with_flows,
        helper_running: helper::is_running()?,
    };
    let (beats, tasks) = Tasks::status(host, query)?;
    Radio::status(host, query)?;
    Ok(Status {
        links: links(host, query)?,
        beats,
        tasks,
        crowd: Windows::status(host, query)?,
        changing: None,
        pending: pending::status()?,
    })
}

/// On all backends.
fn links(host: &mut Host, query: Query) -> Result<Vec<LinkStatus>, Error> {
    let mut links = Links::status(host, query)?;
    links.extend(Stock::status(host, query)?);
    download::tell(&mut links, host)?;
    Ok(links)
}

/// What a takt leaves incomplete for a moment is no problem and no error.
fn look_at_change(with_flows: bool, holder: Holder) -> Status {
    let mut status = look(with_flows).unwrap_or_default();
    status.changing = Some(holder);
    for link in &mut status.links {
        link.problem = None;
    }
    if let Some(beats) = &mut status.beats {
        beats.problem = None;
    }
    if let Some(crowd) = &mut status.crowd {
        crowd.problem = None;
    }
    if let Some(pending) = &mut status.pending {
        pending.problem = None;
    }
    status
}
