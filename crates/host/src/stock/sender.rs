//! What a link's program reads of the owners of sockets.

use libbpf_rs::OpenMapMut;

use crate::{
    bpf::BpfError,
    error::Error,
    link::sockets::{Sockets, share},
};

/// Rules that ask about the owners of sockets.
pub(crate) struct Asking<'a> {
    /// Where the answers are.
    pub slot: u32,
    /// `None`: no program watches sockets, and this one is only verified.
    pub sockets: Option<&'a Sockets>,
}

/// A program's maps for it, before it is loaded.
pub(super) struct Maps<'a, 'obj> {
    pub sockets: &'a mut OpenMapMut<'obj>,
    pub routes: &'a mut OpenMapMut<'obj>,
    pub labels: &'a mut OpenMapMut<'obj>,
}

impl Maps<'_, '_> {
    /// Have it read what is known. Without questions it has none of these maps.
    pub fn give(self, asking: Option<&Asking>) -> Result<(), Error> {
        match asking {
            Some(Asking {
                sockets: Some(sockets),
                ..
            }) => {
                sockets.known.share(self.sockets, self.routes)?;
                share(self.labels, &sockets.labels)
            }
            Some(Asking { sockets: None, .. }) => Ok(()),
            None => [self.sockets, self.routes, self.labels]
                .into_iter()
                .try_for_each(|map| map.set_autocreate(false))
                .map_err(BpfError::of("opening the program")),
        }
    }
}
