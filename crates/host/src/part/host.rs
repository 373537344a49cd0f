//! The host as a transaction finds it.

use std::rc::Rc;

use crate::{
    error::Error,
    os::{
        OsError,
        netlink::{Netlink, Port, Qdisc},
    },
    part::Foreign,
};

/// This thread's network namespace.
pub(crate) struct Host {
    pub netlink: Netlink,
    pub netns_cookie: u64,
    /// Listing them takes a request for each device.
    ports: Option<Rc<[Port]>>,
    /// Devices that were given back without the qdisc that they had before.
    pub not_restored: Vec<Foreign>,
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
            not_restored: Vec::new(),
        })
    }

    /// Assume that a device has this root qdisc, as it will when a part is committed that comes
    /// before the one that asks.
    pub fn assume_root(
        &mut self,
        device: u32,
        root: Option<Qdisc>,
        gso_max_segs: u32,
    ) -> Result<(), Error> {
        let mut ports = self.ports()?.to_vec();
        for port in ports.iter_mut().filter(|port| port.device.index == device) {
            port.root.clone_from(&root);
            port.below_root = None;
            port.is_given_back = true;
            port.device.gso_max_segs = gso_max_segs;
        }
        self.ports = Some(ports.into());
        Ok(())
    }

    /// Assume that there is this device, as there will be when a policy is applied.
    pub fn assume_port(&mut self, port: Port) -> Result<(), Error> {
        let mut ports = self.ports()?.to_vec();
        ports.push(port);
        self.ports = Some(ports.into());
        Ok(())
    }

    /// Devices have changed.
    pub fn forget_ports(&mut self) {
        self.ports = None;
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
