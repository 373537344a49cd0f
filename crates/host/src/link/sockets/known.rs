//! The maps that the qdisc and the programs that watch sockets share. Whichever is loaded first makes
//! them, and each pins them among its own.

use std::{os::fd::AsFd, path::Path};

use libbpf_rs::{MapHandle, MapMut, OpenMapMut};

use crate::{
    bpf::{
        BpfError,
        pinned::{Object, Pinned},
    },
    error::Error,
};

const SOCKETS: &str = "takt_sockets";
const ROUTES: &str = "takt_routes";

/// What is known of sockets.
pub(crate) struct Known {
    /// By cookie.
    pub sockets: MapHandle,
    /// Connections of sockets in other namespaces.
    pub routes: MapHandle,
}

impl Known {
    pub fn from_pins(pins: &Pinned) -> Result<Self, Error> {
        Ok(Self {
            sockets: pins.map(SOCKETS)?,
            routes: pins.map(ROUTES)?,
        })
    }

    /// `None`: this object is not loaded.
    pub fn of_loaded(object: &'static Object) -> Result<Option<Self>, Error> {
        object.open(|pins| Self::from_pins(&pins))
    }

    /// Have an object use these instead of making its own.
    pub fn share(&self, sockets: &mut OpenMapMut, routes: &mut OpenMapMut) -> Result<(), Error> {
        share(sockets, &self.sockets)?;
        share(routes, &self.routes)
    }

    pub fn pin(sockets: &mut MapMut, routes: &mut MapMut, dir: &Path) -> Result<(), Error> {
        let pin = || BpfError::of("pinning the program");
        sockets.pin(dir.join(SOCKETS)).map_err(pin())?;
        routes.pin(dir.join(ROUTES)).map_err(pin())?;
        Ok(())
    }
}

pub(crate) fn share(map: &mut OpenMapMut, known: &MapHandle) -> Result<(), Error> {
    map.reuse_fd(known.as_fd())
        .map_err(BpfError::of("sharing what is known of sockets"))
}
