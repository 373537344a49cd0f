//! What taktd and later takts are told of a policy's section: a note for each network
//! namespace, beside the records of links. It is there as long as the policy is in force.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    error::Error,
    netlink::Netlink,
    record::{DIR, replace_file},
};

/// The notes of one section, by its name.
pub(crate) struct Notes(pub &'static str);

impl Notes {
    pub fn read<T: DeserializeOwned>(&self, netns_cookie: u64) -> Result<Option<T>, Error> {
        let path = self.path(netns_cookie);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(Error::file(&path))?,
        };
        let note = serde_json::from_str(&text);
        note.map(Some).map_err(|reason| bad(&path, &reason))
    }

    pub fn write<T: Serialize>(&self, netns_cookie: u64, note: &T) -> Result<(), Error> {
        let path = self.path(netns_cookie);
        let text = serde_json::to_string_pretty(note).map_err(|reason| bad(&path, &reason))?;
        fs::create_dir_all(self.dir()).map_err(Error::file(self.dir()))?;
        replace_file(&path, &text)
    }

    pub fn forget(&self, netns_cookie: u64) -> Result<(), Error> {
        let path = self.path(netns_cookie);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(&path)(error)),
            _ => {
                // Others may have one still.
                let _ = fs::remove_dir(self.dir());
                Ok(())
            }
        }
    }

    /// The cookies of namespaces that have one.
    pub fn namespaces(&self) -> Vec<u64> {
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

/// Of a whole note: a takt that died while it wrote has left a draft, which is none.
fn cookie_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(".json")?.parse().ok()
}

pub(crate) fn netns_cookie() -> Result<u64, Error> {
    Netlink::open()
        .and_then(|netlink| netlink.netns_cookie())
        .map_err(Error::netlink("identifying the namespace"))
}

fn bad(path: &Path, reason: &serde_json::Error) -> Error {
    Error::BadRecord {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
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
