//! What stands on a device.

use crate::{
    error::Error,
    os::{
        OsError,
        netlink::{Classifier, HTB, Handle, Netlink, Port},
    },
    tree::record::{Place, TreeRecord},
};

/// The major number of a tree's qdisc: takt's own qdiscs have 7a00 to 7a3f.
const MAJOR: u32 = 0x7a80;
/// What the classifier's name begins with; the generation of its policy follows.
const NAME: &str = "takt:";

/// The handle of a class; of the qdisc with 0.
pub(super) fn handle_of(minor: u16) -> Handle {
    Handle(MAJOR << 16 | u32::from(minor))
}

/// The classifier's name.
pub(super) fn name_of(generation: u64) -> String {
    format!("{NAME}{generation}")
}

impl Port {
    /// Whether the root qdisc is a tree of takt's.
    pub(crate) fn carries_tree(&self) -> bool {
        self.root
            .as_ref()
            .is_some_and(|root| root.kind == HTB && root.handle == handle_of(0))
    }
}

/// A tree that is in force.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    pub record: TreeRecord,
    /// The number of its classifier.
    pub program: u32,
    /// A takt died while it changed the tree: some classes are of another policy.
    pub is_unfinished: bool,
}

impl Standing {
    /// The one on this device, if a policy is in force: the classifier, which comes last, names it.
    pub fn read(netlink: &mut Netlink, port: &Port, place: &Place) -> Result<Option<Self>, Error> {
        if !port.carries_tree() {
            return Ok(None);
        }
        let classifiers = Classifier::list(netlink, port.device.index)
            .map_err(OsError::netlink("listing filters"))?;
        for Classifier { name, id } in classifiers {
            let generation = name.strip_prefix(NAME).and_then(|name| name.parse().ok());
            let record = match generation {
                Some(generation) => place.read(generation)?,
                None => None,
            };
            if let Some(record) = record {
                return Ok(Some(Self {
                    record,
                    program: id,
                    is_unfinished: place.has_several(),
                }));
            }
        }
        Ok(None)
    }
}
