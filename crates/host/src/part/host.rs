//! The host as a transaction finds it.

use std::rc::Rc;

use crate::{
    error::Error,
    os::{
        OsError,
        netlink::{Netlink, Port},
    },
};

/// This thread's network namespace.
pub(crate) struct Host {
    pub netlink: Netlink,
    pub netns_cookie: u64,
    /// Listing them takes a request for each device.
    ports: Option<Rc<[Port]>>,
}

impl Host {
    pub fn open() -> Result<Self, Error> {
        let netlink = Netlink::open().map_err(OsError::netlink("opening a route socket"))?;
        let netns_cookie = netlink
            .netns_cookie()
            .map_err(OsError::netlink("identifying the namespace"))?;
        Ok(Self {
            netlink,
            netns_cookie,
            ports: None,
        })
    }

    /// Every device of the namespace, and the qdisc at its root, when this was first asked.
    pub fn ports(&mut self) -> Result<Rc<[Port]>, Error> {
        if let Some(ports) = &self.ports {
            return Ok(Rc::clone(ports));
        }
        let ports: Rc<[Port]> = Port::list(&mut self.netlink)?.into();
        self.ports = Some(Rc::clone(&ports));
        Ok(ports)
    }
}
