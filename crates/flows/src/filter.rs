use std::net::IpAddr;

use crate::flow::{Ends, Flow};

/// Selects flows. Of each kind of condition one has to match; no condition matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of either end.
    pub ports: Vec<u16>,
    /// Of either end.
    pub addresses: Vec<IpAddr>,
    /// Names, as in [`Flow::application`].
    pub applications: Vec<String>,
}

impl Filter {
    /// Whether the flow is selected.
    pub fn admits(&self, flow: &Flow) -> bool {
        let application = flow.application.as_ref();
        self.admits_ends(&flow.ends)
            && (self.applications.is_empty()
                || application.is_some_and(|name| self.applications.contains(name)))
    }

    fn admits_ends(&self, ends: &Ends) -> bool {
        let ends = [ends.local, ends.remote];
        (self.ports.is_empty() || ends.iter().any(|end| self.ports.contains(&end.port())))
            && (self.addresses.is_empty()
                || ends.iter().any(|end| self.addresses.contains(&end.ip())))
    }
}
