//! Records of a policy's section for taktd and later takts: one file for each network
//! namespace, beside the records of links. A file exists as long as its policy is in force.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};

use crate::{
    error::Error,
    os::{OsError, namespace},
    state::{
        StateError,
        runtime_dir::{self, DIR},
    },
};

/// The files of one section, by its name.
pub(crate) struct Notes(pub &'static str);

/// The content of a file.
#[derive(Serialize, Deserialize)]
struct Written<T> {
    /// The namespace's number, to find out whether it still exists.
    inode: u64,
    #[serde(flatten)]
    note: T,
}

impl Notes {
    pub fn read<T: DeserializeOwned>(&self, netns_cookie: u64) -> Result<Option<T>, Error> {
        let written = self.read_written(netns_cookie)?;
        Ok(written.map(|written| written.note))
    }

    fn read_written<T: DeserializeOwned>(
        &self,
        netns_cookie: u64,
    ) -> Result<Option<Written<T>>, Error> {
        let path = self.path(netns_cookie);
        let Some(text) = runtime_dir::read(&path)? else {
            return Ok(None);
        };
        match serde_json::from_str::<Written<T>>(&text) {
            Ok(written) => Ok(Some(written)),
            Err(reason) => Err(bad(&path, &reason)),
        }
    }

    /// The file of this thread's namespace.
    pub fn write<T: Serialize>(&self, netns_cookie: u64, note: &T) -> Result<(), Error> {
        let path = self.path(netns_cookie);
        let inode = namespace::own().map_err(OsError::file(namespace::OWN))?;
        let text = serde_json::to_string_pretty(&Written { inode, note })
            .map_err(|reason| bad(&path, &reason))?;
        runtime_dir::private_dirs(&self.dir())?;
        runtime_dir::replace(&path, &text).inspect_err(|_| {
            // The directory was not needed, unless other namespaces have a file.
            let _ = fs::remove_dir(self.dir());
        })
    }

    pub fn forget(&self, netns_cookie: u64) -> Result<(), Error> {
        runtime_dir::remove(&self.path(netns_cookie))?;
        // Other namespaces may still have one.
        let _ = fs::remove_dir(self.dir());
        Ok(())
    }

    /// The cookies of namespaces that have one and are gone.
    pub fn of_the_gone(&self) -> Result<Vec<u64>, Error> {
        let mut gone = Vec::new();
        for netns_cookie in self.namespaces() {
            let written = self.read_written::<IgnoredAny>(netns_cookie)?;
            if written.is_some_and(|written| namespace::is_gone(written.inode, netns_cookie)) {
                gone.push(netns_cookie);
            }
        }
        Ok(gone)
    }

    /// The cookies of namespaces that have one.
    fn namespaces(&self) -> Vec<u64> {
        let Ok(notes) = fs::read_dir(self.dir()) else {
            return Vec::new();
        };
        let paths = notes.flatten().map(|note| note.path());
        paths.filter_map(|path| cookie_of(&path)).collect()
    }

    /// Whether any namespace has one.
    pub fn are_anywhere(&self) -> bool {
        !self.namespaces().is_empty()
    }

    fn dir(&self) -> PathBuf {
        Path::new(DIR).join(self.0)
    }

    fn path(&self, netns_cookie: u64) -> PathBuf {
        self.dir().join(format!("{netns_cookie}.json"))
    }
}

/// A complete file only: a takt that died while it wrote has left a draft, which does not
/// count.
fn cookie_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(".json")?.parse().ok()
}

fn bad(path: &Path, reason: &serde_json::Error) -> Error {
    StateError::BadRecord {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_no_note() {
        let of = |name: &str| cookie_of(&Path::new(DIR).join("crowd").join(name));
        assert_eq!(of("4242.json"), Some(4242));
        assert_eq!(of("4242.draft"), None);
        assert_eq!(of("4242"), None);
        assert_eq!(of("x.json"), None);
    }
}
