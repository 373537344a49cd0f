//! Records of a policy's section for taktd and later takts: one file for each network
//! namespace, beside the records of links. A file exists as long as its policy is in force.

use std::path::Path;

use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};

use crate::{
    error::Error,
    os::{OsError, namespace},
    state::{StateError, runtime_dir::DIR, store::Store},
};

/// The files of one section, by its name.
pub(crate) struct Records(pub &'static str);

/// A record of a namespace.
#[derive(Serialize, Deserialize)]
struct OfNamespace<T> {
    /// The namespace's number, to find out whether it still exists.
    inode: u64,
    #[serde(flatten)]
    record: T,
}

impl Records {
    pub fn read<T: DeserializeOwned>(&self, netns_cookie: u64) -> Result<Option<T>, Error> {
        let found = self.store::<T>().read(netns_cookie)?;
        Ok(found.map(|found| found.record))
    }

    /// The file of this thread's namespace.
    pub fn write<T: Serialize>(&self, netns_cookie: u64, record: &T) -> Result<(), Error> {
        let inode = namespace::own().map_err(OsError::file(namespace::OWN))?;
        let store = self.store();
        let written = store.write(netns_cookie, &OfNamespace { inode, record });
        written.inspect_err(|_| store.leave_empty())
    }

    pub fn forget(&self, netns_cookie: u64) -> Result<(), Error> {
        let store = self.store::<IgnoredAny>();
        store.discard(netns_cookie)?;
        store.leave_empty();
        Ok(())
    }

    /// The cookies of namespaces that have one and are gone.
    pub fn of_the_gone(&self) -> Result<Vec<u64>, Error> {
        let mut gone = Vec::new();
        let store = self.store::<IgnoredAny>();
        for netns_cookie in store.numbers() {
            let found = match store.read(netns_cookie) {
                // That is said, and mended, in its own namespace.
                Err(error) if StateError::bad_record(&error).is_some() => continue,
                found => found?,
            };
            if found.is_some_and(|found| namespace::is_gone(found.inode, netns_cookie)) {
                gone.push(netns_cookie);
            }
        }
        Ok(gone)
    }

    /// Make the records usable for taking back what they are about, but for those of other
    /// living namespaces; see [`Store::salvage`]. Returns whether this namespace's is lost.
    pub fn salvage<T>(&self, netns_cookie: u64) -> Result<bool, Error>
    where
        T: Serialize + DeserializeOwned,
    {
        let store = self.store::<T>();
        let (mut is_lost, mut living) = (false, None);
        for number in store.numbers() {
            if number == netns_cookie {
                is_lost = !store.salvage(number)?;
            } else if store
                .read(number)
                .is_err_and(|error| StateError::bad_record(&error).is_some())
                && !living
                    .get_or_insert_with(namespace::living)
                    .contains(&number)
            {
                store.discard(number)?;
            }
        }
        store.leave_empty();
        Ok(is_lost)
    }

    /// Whether another living namespace has one.
    pub fn are_elsewhere(&self, netns_cookie: u64) -> bool {
        let mut others = self.store::<IgnoredAny>().numbers();
        others.retain(|number| *number != netns_cookie);
        !others.is_empty() && {
            let living = namespace::living();
            others.iter().any(|number| living.contains(number))
        }
    }

    /// Whether any namespace has one.
    pub fn are_anywhere(&self) -> bool {
        !self.store::<IgnoredAny>().numbers().is_empty()
    }

    fn store<T>(&self) -> Store<OfNamespace<T>> {
        Store::at(Path::new(DIR).join(self.0))
    }
}
