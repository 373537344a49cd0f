//! Files of an agent. Each is replaced as a whole, so a kill at any moment leaves the old one or
//! the new one.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use nix::fcntl::{Flock, FlockArg};

use super::journal::Journal;
use crate::{digest::Digest, policy::POLICY_MAX_BYTES};

const FILE_MAX_BYTES: u64 = 1 << 20;

/// Where an agent keeps what it must not forget.
pub trait Store: Send {
    /// The signed revision that is obeyed.
    fn revision(&self) -> io::Result<Option<Vec<u8>>>;
    /// Replaces it, for good.
    fn keep_revision(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// What was remembered.
    fn journal(&self) -> io::Result<Journal>;
    /// Replaces it, for good.
    fn keep_journal(&mut self, journal: &Journal) -> io::Result<()>;
    /// A policy's text, if it is there and whole.
    fn policy(&self, digest: &Digest) -> Option<String>;
    /// Keeps a policy's text.
    fn keep_policy(&mut self, digest: &Digest, text: &str) -> io::Result<()>;
    /// The file of a policy.
    fn policy_file(&self, digest: &Digest) -> PathBuf;
    /// Forgets all policies but these.
    fn keep_only(&mut self, digests: &[Digest]);
}

/// A directory, which one agent at a time uses.
pub struct Directory {
    path: PathBuf,
    _lock: Flock<File>,
}

impl Directory {
    /// Opens it, and makes it for root alone if it is not there.
    pub fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path.join("policies"))?;
        let lock = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .mode(0o600)
            .open(path.join("lock"))?;
        let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|_| {
            io::Error::other("another agent uses it; stop that one, or give --state DIR")
        })?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        read(&self.path.join(name))
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        replace(&self.path, name, bytes)
    }
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(FILE_MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Replaces a file by renaming, with what is on the disk before and after.
pub fn replace(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let (path, new) = (directory.join(name), directory.join(format!("{name}.new")));
    let mut file = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, &path)?;
    File::open(path.parent().unwrap_or(directory))?.sync_all()
}

impl Store for Directory {
    fn revision(&self) -> io::Result<Option<Vec<u8>>> {
        self.read("revision")
    }

    fn keep_revision(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.replace("revision", bytes)
    }

    fn journal(&self) -> io::Result<Journal> {
        let text = self.read("journal.json")?;
        let read = |text: Vec<u8>| serde_json::from_slice(&text).map_err(io::Error::other);
        text.map_or_else(|| Ok(Journal::default()), read)
    }

    fn keep_journal(&mut self, journal: &Journal) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(journal).map_err(io::Error::other)?;
        self.replace("journal.json", &text)
    }

    fn policy(&self, digest: &Digest) -> Option<String> {
        let bytes = read(&self.policy_file(digest)).ok()??;
        let is_whole = bytes.len() <= POLICY_MAX_BYTES && Digest::for_content(&bytes) == *digest;
        is_whole.then(|| String::from_utf8(bytes).ok())?
    }

    fn keep_policy(&mut self, digest: &Digest, text: &str) -> io::Result<()> {
        self.replace(&format!("policies/{digest}.toml"), text.as_bytes())
    }

    fn policy_file(&self, digest: &Digest) -> PathBuf {
        self.path.join(format!("policies/{digest}.toml"))
    }

    fn keep_only(&mut self, digests: &[Digest]) {
        let kept: Vec<PathBuf> = digests.iter().map(|d| self.policy_file(d)).collect();
        let entries = fs::read_dir(self.path.join("policies"));
        for entry in entries.into_iter().flatten().flatten() {
            if !kept.contains(&entry.path()) {
                // Room, not correctness: another attempt comes with the next policy.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Of an agent without a disk: a stand-in.
#[derive(Debug, Default)]
pub struct Memory {
    revision: Option<Vec<u8>>,
    journal: Journal,
    policies: Vec<(Digest, String)>,
}

impl Store for Memory {
    fn revision(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.revision.clone())
    }

    fn keep_revision(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.revision = Some(bytes.to_owned());
        Ok(())
    }

    fn journal(&self) -> io::Result<Journal> {
        Ok(self.journal.clone())
    }

    fn keep_journal(&mut self, journal: &Journal) -> io::Result<()> {
        self.journal = journal.clone();
        Ok(())
    }

    fn policy(&self, digest: &Digest) -> Option<String> {
        let found = self.policies.iter().find(|(own, _)| own == digest);
        found.map(|(_, text)| text.clone())
    }

    fn keep_policy(&mut self, digest: &Digest, text: &str) -> io::Result<()> {
        self.policies.push((*digest, text.to_owned()));
        Ok(())
    }

    fn policy_file(&self, digest: &Digest) -> PathBuf {
        PathBuf::from(digest.to_string())
    }

    fn keep_only(&mut self, digests: &[Digest]) {
        self.policies.retain(|(own, _)| digests.contains(own));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_kept_is_found_and_nobody_else_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fleet");
        let mut store = Directory::open(&path).unwrap();
        assert_eq!(store.revision().unwrap(), None);
        assert_eq!(store.journal().unwrap(), Journal::default());
        store.keep_revision(b"one").unwrap();
        let digest = Digest::for_content(b"text");
        store.keep_policy(&digest, "text").unwrap();
        assert!(Directory::open(&path).is_err(), "it is locked");
        drop(store);
        let mut store = Directory::open(&path).unwrap();
        assert_eq!(store.revision().unwrap(), Some(b"one".to_vec()));
        assert_eq!(store.policy(&digest).unwrap(), "text");
        for file in [
            path.clone(),
            path.join("revision"),
            store.policy_file(&digest),
        ] {
            let mode = fs::metadata(file).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0);
        }
        fs::write(store.policy_file(&digest), "other").unwrap();
        assert_eq!(store.policy(&digest), None);
        store.keep_only(&[]);
        assert!(!store.policy_file(&digest).exists());
    }
}
