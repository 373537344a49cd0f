//! What takt remembers of a link: the policy, its classes, and the state of the device before.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use takt_planner::{ClassIds, backend::Unkept};
use takt_policy::Framing;

use super::shape::Shape;
use crate::{
    error::Error,
    link::Before,
    os::{OsError, namespace},
    state::{
        runtime_dir::{self, DIR},
        source::Source,
        store::Store,
    },
};

/// The directory of all of them.
pub(crate) const RECORDS_DIR: &str = "stock";

const STOOD: &str = "stood";

/// A link on qdiscs of the kernel's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StockRecord {
    /// Counts the policies applied to this link.
    pub generation: u64,
    pub device: String,
    pub ifindex: u32,
    pub netns: Netns,
    pub source: Source,
    pub ids: ClassIds,
    pub shape: Shape,
    /// The slot in which it finds answers about the owners of sockets; `None`: it asks nothing.
    pub who_slot: Option<u32>,
    /// The number of the program that sees its packets; `None`: it was not loaded yet.
    pub program: Option<u32>,
    /// The device had a clsact before takt.
    pub keeps_clsact: bool,
    /// How many queues the device has.
    pub queues: u32,
    pub rate_bps: u64,
    #[serde(flatten)]
    pub framing: Framing,
    pub unkept: Vec<Unkept>,
    /// The segment limit that was set, if one was.
    pub gso_max_segs: Option<u32>,
    pub before: Before,
}

/// What a program's name begins with in `tc filter show`; the generation of its policy follows.
const NAME: &str = "takt:";

impl StockRecord {
    /// What `tc filter show` calls its program.
    pub fn program_name(&self) -> String {
        format!("{NAME}{}", self.generation)
    }
}

/// A network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Netns {
    pub cookie: u64,
    /// Its number, to find out whether it still exists.
    pub inode: u64,
}

impl Netns {
    /// This thread's.
    pub fn own(cookie: u64) -> Result<Self, Error> {
        let inode = namespace::own().map_err(OsError::file(namespace::OWN))?;
        Ok(Self { cookie, inode })
    }

    pub fn is_gone(self) -> bool {
        namespace::is_gone(self.inode, self.cookie)
    }
}

/// A device of a network namespace, and its records by generation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub netns_cookie: u64,
    pub ifindex: u32,
}

impl Place {
    pub fn new(netns_cookie: u64, ifindex: u32) -> Self {
        Self {
            netns_cookie,
            ifindex,
        }
    }

    /// Those of all namespaces.
    pub fn all() -> Vec<Self> {
        let Ok(dirs) = std::fs::read_dir(dir()) else {
            return Vec::new();
        };
        let names = dirs.flatten().map(|entry| entry.file_name());
        let mut places: Vec<Self> = names
            .filter_map(|name| Self::parse(name.to_str()?))
            .collect();
        places.sort_unstable();
        places
    }

    /// Those of a namespace.
    pub fn for_namespace(netns_cookie: u64) -> Vec<Self> {
        let mut places = Self::all();
        places.retain(|place| place.netns_cookie == netns_cookie);
        places
    }

    /// By [`Self::name`].
    pub fn parse(name: &str) -> Option<Self> {
        let (netns_cookie, ifindex) = name.split_once('-')?;
        Some(Self::new(netns_cookie.parse().ok()?, ifindex.parse().ok()?))
    }

    pub fn read(&self, generation: u64) -> Result<Option<StockRecord>, Error> {
        self.store().read(generation)
    }

    /// All of them.
    pub fn records(&self) -> Result<Vec<StockRecord>, Error> {
        let numbers = self.store().numbers().into_iter();
        let records = numbers.map(|generation| self.read(generation));
        records.filter_map(Result::transpose).collect()
    }

    /// The newest one.
    pub fn newest(&self) -> Result<Option<StockRecord>, Error> {
        match self.store().numbers().into_iter().max() {
            Some(generation) => self.read(generation),
            None => Ok(None),
        }
    }

    /// Whether there is more than the record in force: the last change was not completed.
    pub fn has_several(&self) -> bool {
        self.store().numbers().len() > 1
    }

    pub fn write(&self, record: &StockRecord) -> Result<(), Error> {
        self.store().write(record.generation, record)
    }

    pub fn discard(&self, generation: u64) -> Result<(), Error> {
        self.store().discard(generation)
    }

    /// Remove all others.
    pub fn keep_only(&self, generation: u64) -> Result<(), Error> {
        self.store().keep_only(generation)
    }

    pub fn forget(&self) -> Result<(), Error> {
        self.store().forget()?;
        // Other devices may still have one.
        let _ = std::fs::remove_dir(dir());
        Ok(())
    }

    /// Record that a tree of this device was in force. Without it a takt has died before, and the
    /// device is as it was.
    pub fn note_standing(&self) -> Result<(), Error> {
        runtime_dir::private_file(&self.dir().join(STOOD)).map(drop)
    }

    pub fn has_stood(&self) -> bool {
        self.dir().join(STOOD).exists()
    }

    /// Make all records usable, for taking back what they are about.
    pub fn salvage(&self) -> Result<(), Error> {
        self.store().salvage_all().map(drop)
    }

    fn store(&self) -> Store<StockRecord> {
        Store::at(self.dir())
    }

    /// Of its directories.
    pub fn name(&self) -> String {
        format!("{}-{}", self.netns_cookie, self.ifindex)
    }

    fn dir(&self) -> PathBuf {
        dir().join(self.name())
    }
}

fn dir() -> PathBuf {
    Path::new(DIR).join(RECORDS_DIR)
}

/// The namespaces in which links ask about the owners of sockets.
pub(crate) fn watched() -> Result<BTreeSet<u64>, Error> {
    let mut watched = BTreeSet::new();
    for place in Place::all() {
        let mut records = place.records()?.into_iter();
        if records.any(|record| record.who_slot.is_some()) {
            watched.insert(place.netns_cookie);
        }
    }
    Ok(watched)
}

/// Whether any device has one.
pub(crate) fn are_there() -> bool {
    !Place::all().is_empty()
}

/// Make all records usable.
pub(crate) fn salvage_all() -> Result<(), Error> {
    Place::all().iter().try_for_each(Place::salvage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_names_the_device() {
        assert_eq!(Place::parse("42-7"), Some(Place::new(42, 7)));
        for other in ["", "42", "-", "42-", "a-7", "42-7-1"] {
            assert_eq!(Place::parse(other), None, "{other}");
        }
    }
}
