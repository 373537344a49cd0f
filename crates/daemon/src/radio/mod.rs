//! What taktd does for a policy's `[radio]`: it maintains stations' weights, or reports how
//! well this client hears.

mod access_point;
mod client;
mod table;

use takt_host::{Error, Heard, applied_radio};
use takt_policy::Policy;

use crate::service::{Make, Services};

/// The radio part of the policy in this network namespace.
pub(crate) struct Radio(Services<Heard>);

impl Default for Radio {
    fn default() -> Self {
        Self(Services::new("radio"))
    }
}

impl Radio {
    /// Follow the policy in force from now on.
    pub fn follow(&mut self) -> Result<(), Error> {
        self.0.follow(applied_radio()?, parts);
        Ok(())
    }

    /// What was heard of stations, by source.
    pub fn heard(&self) -> Vec<Heard> {
        self.0.said()
    }

    /// Removes stations' weights, and what was known of stations.
    pub fn end(&mut self) {
        self.0.end();
    }
}

fn parts(policy: &Policy) -> Vec<Make<Heard>> {
    let Some(radio) = &policy.radio else {
        return Vec::new();
    };
    let links = policy.links.iter().filter(|link| link.has_stations);
    let devices = links.map(|link| link.device.clone()).collect();
    let groups = access_point::groups(radio, devices).into_iter();
    let cells = groups.map(|devices| -> Make<Heard> {
        let radio = radio.clone();
        Box::new(move || Box::new(access_point::Cell::for_radio(&radio, &devices)))
    });
    let reporter = radio.report.clone().map(|report| -> Make<Heard> {
        let radio = radio.clone();
        Box::new(move || Box::new(client::Reporter::new(&radio, &report)))
    });
    cells.chain(reporter).collect()
}
