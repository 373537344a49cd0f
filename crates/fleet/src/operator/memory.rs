//! What an operator's side remembers: how far it signed, and which key each host has.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{host::replace, keys::PublicKey};

/// Of one fleet, in a file of its own.
pub struct Memory {
    directory: PathBuf,
    name: String,
    known: Known,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Known {
    /// The highest number that was seen signed: an engine that shows a lower one has lost
    /// something, or lies.
    number: u64,
    /// The first key that each host reported with.
    hosts: BTreeMap<String, String>,
}

impl Memory {
    /// Reads it; a fleet that was not there has none.
    pub fn open(directory: &Path, fleet: &str) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        let name = format!("{fleet}.json");
        let known = match fs::read(directory.join(&name)) {
            Ok(text) => serde_json::from_slice(&text).map_err(io::Error::other)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Known::default(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            directory: directory.to_owned(),
            name,
            known,
        })
    }

    /// The highest number that was seen.
    pub const fn number(&self) -> u64 {
        self.known.number
    }

    /// Notes a number.
    pub fn saw(&mut self, number: u64) -> io::Result<()> {
        if number <= self.known.number {
            return Ok(());
        }
        self.known.number = number;
        self.save()
    }

    /// Whether a host reports with its own key. One that was not known is known from now on, once
    /// [`Memory::save`] is called.
    pub fn is_own(&mut self, id: &str, key: &PublicKey) -> bool {
        let key = key.to_string();
        match self.known.hosts.get(id) {
            Some(known) => *known == key,
            None => {
                self.known.hosts.insert(id.to_owned(), key);
                true
            }
        }
    }

    /// Forgets the key of a host, as when it was installed anew.
    pub fn forget(&mut self, id: &str) -> io::Result<bool> {
        let was_known = self.known.hosts.remove(id).is_some();
        self.save()?;
        Ok(was_known)
    }

    /// Writes it.
    pub fn save(&self) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(&self.known).map_err(io::Error::other)?;
        replace(&self.directory, &self.name, &text)
    }
}
