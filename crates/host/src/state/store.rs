//! The store of records below /run/takt: one file for each, a JSON object.
//!
//! A record begins with the version of its format and the boot in which it was written. /run is
//! a file system in memory on most hosts, but may be a persistent one, or a copy: a record of
//! another boot says nothing about this kernel, so it does not count, and nothing removes it
//! but the next write, [`Store::keep_only`], or the end of the last policy.
//!
//! Records without both are those of takt before there was a version. Their fields are those of
//! version 1, so they are taken over, and get both when they are written next.

use std::{
    fmt::Display,
    fs,
    marker::PhantomData,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    error::Error,
    os::{OsError, boot},
    state::{StateError, runtime_dir},
};

/// Raised whenever a field of a record changes its meaning, or a new one must not be missing.
pub(crate) const VERSION: u32 = 1;

/// The records of one kind, which lie in one directory.
#[derive(Debug)]
pub(crate) struct Store<T> {
    dir: PathBuf,
    records: PhantomData<fn() -> T>,
}

/// What every record begins with.
#[derive(Deserialize)]
struct Head {
    /// 0: before there was one.
    #[serde(default)]
    version: u32,
    boot_id: Option<String>,
}

/// The content of a file.
#[derive(Serialize)]
struct Written<'a, T> {
    version: u32,
    boot_id: &'a str,
    #[serde(flatten)]
    record: &'a T,
}

impl<T> Store<T> {
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            records: PhantomData,
        }
    }

    /// Remove a record, and the draft of a takt that died.
    pub fn discard(&self, name: impl Display) -> Result<(), Error> {
        let path = self.path(name);
        runtime_dir::remove(&path)?;
        runtime_dir::remove(&path.with_extension("draft"))
    }

    /// Remove all other files of the directory.
    pub fn keep_only(&self, name: impl Display) -> Result<(), Error> {
        let keep = self.path(name);
        for entry in fs::read_dir(&self.dir).map_err(OsError::file(&self.dir))? {
            let path = entry.map_err(OsError::file(&self.dir))?.path();
            if path != keep {
                fs::remove_file(&path).map_err(OsError::file(&path))?;
            }
        }
        Ok(())
    }

    /// Remove the directory with all that is in it.
    pub fn forget(&self) -> Result<(), Error> {
        runtime_dir::remove_all(&self.dir)
    }

    /// Remove the directory, unless it holds a record.
    pub fn leave_empty(&self) {
        let _ = fs::remove_dir(&self.dir);
    }

    /// The records that have a number as their name, and may be of this boot.
    pub fn numbers(&self) -> Vec<u64> {
        let numbers = self.all_numbers().into_iter();
        numbers
            .filter(|number| !self.is_of_another_boot(number))
            .collect()
    }

    fn all_numbers(&self) -> Vec<u64> {
        let Ok(files) = fs::read_dir(&self.dir) else {
            return Vec::new();
        };
        let paths = files.flatten().map(|file| file.path());
        paths.filter_map(|path| number_of(&path)).collect()
    }

    /// One that cannot be read may be of any boot.
    fn is_of_another_boot(&self, name: impl Display) -> bool {
        let found = runtime_dir::read(&self.path(name));
        let head = found.map(|text| text.and_then(|text| serde_json::from_str::<Head>(&text).ok()));
        matches!(head, Ok(Some(head)) if !head.is_of_this_boot().unwrap_or(true))
    }

    fn path(&self, name: impl Display) -> PathBuf {
        self.dir.join(format!("{name}.json"))
    }
}

impl<T: DeserializeOwned> Store<T> {
    /// `None`: there is none of this boot.
    pub fn read(&self, name: impl Display) -> Result<Option<T>, Error> {
        let path = self.path(name);
        let Some(text) = runtime_dir::read(&path)? else {
            return Ok(None);
        };
        let head: Head = serde_json::from_str(&text).map_err(|reason| bad(&path, &reason))?;
        if !head.is_of_this_boot()? {
            return Ok(None);
        }
        let record = decode(&head, &text);
        record.map(Some).map_err(|reason| bad(&path, &reason))
    }
}

impl<T: Serialize> Store<T> {
    /// Write a record in one step, in the place of one of the same name.
    pub fn write(&self, name: impl Display, record: &T) -> Result<(), Error> {
        let path = self.path(name);
        let written = Written {
            version: VERSION,
            boot_id: boot::id()?,
            record,
        };
        let text = serde_json::to_string_pretty(&written).map_err(|reason| bad(&path, &reason))?;
        runtime_dir::private_dirs(&self.dir)?;
        runtime_dir::replace(&path, &text)
    }
}

impl<T: Serialize + DeserializeOwned> Store<T> {
    /// Make all records with numbers usable, for taking back what they are about: see
    /// [`Self::salvage`]. Returns those that are lost.
    pub fn salvage_all(&self) -> Result<Vec<u64>, Error> {
        let mut lost = Vec::new();
        for number in self.all_numbers() {
            if !self.salvage(number)? {
                lost.push(number);
            }
        }
        Ok(lost)
    }

    /// Make a record usable. A newer one is used if it has all fields that this takt knows; any
    /// other one that cannot be used is removed. Returns whether it was not removed.
    pub fn salvage(&self, name: impl Display + Copy) -> Result<bool, Error> {
        let found = self.read(name);
        let Some(path) = found.as_ref().err().and_then(StateError::bad_record) else {
            // What others may have written is refused later, by the file's name.
            return Ok(true);
        };
        let text = runtime_dir::read(path).ok().flatten();
        match text.and_then(|text| serde_json::from_str(&text).ok()) {
            Some(record) => self.write(name, &record).map(|()| true),
            None => self.discard(name).map(|()| false),
        }
    }
}

impl Head {
    fn is_of_this_boot(&self) -> Result<bool, Error> {
        match &self.boot_id {
            Some(id) => Ok(id == boot::id()?),
            None => Ok(true),
        }
    }
}

/// The record in a file of this boot, and otherwise what is wrong with it.
fn decode<T: DeserializeOwned>(head: &Head, text: &str) -> Result<T, String> {
    check_version(head.version)?;
    serde_json::from_str(text).map_err(|reason| reason.to_string())
}

/// A record of any origin is refused, or comes back as it was written.
pub(crate) fn fuzz<T: Serialize + DeserializeOwned>(text: &str) {
    let read = |text: &str| -> Result<T, String> {
        let head = serde_json::from_str(text).map_err(|reason| reason.to_string())?;
        decode(&head, text)
    };
    let Ok(record) = read(text) else {
        return;
    };
    let write = |record: &T| {
        serde_json::to_string(&Written {
            version: VERSION,
            boot_id: "",
            record,
        })
    };
    let Ok(written) = write(&record) else {
        return;
    };
    let again = read(&written).map(|record| write(&record).ok());
    assert_eq!(again, Ok(Some(written)), "it does not come back");
}

/// What is wrong with a record of this version, if anything is.
pub(crate) fn check_version(found: u32) -> Result<(), String> {
    if found > VERSION {
        Err(format!(
            "a newer takt wrote it (version {found}, this one reads up to {VERSION})"
        ))
    } else {
        Ok(())
    }
}

/// A complete file only: a takt that died while it wrote has left a draft, which does not
/// count.
fn number_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(".json")?.parse().ok()
}

fn bad(path: &Path, reason: &dyn Display) -> Error {
    StateError::BadRecord {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
    struct Record {
        device: String,
        limit: u64,
    }

    fn record() -> Record {
        Record {
            device: "near1".to_owned(),
            limit: u64::MAX,
        }
    }

    /// A store, and what holds its directory.
    fn store() -> (Store<Record>, tempfile::TempDir) {
        let root = tempfile::tempdir().unwrap();
        (Store::at(root.path().join("links")), root)
    }

    fn edit(store: &Store<Record>, name: u64, change: impl FnOnce(&mut Value)) {
        let path = store.path(name);
        let mut value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        change(&mut value);
        fs::write(&path, value.to_string()).unwrap();
    }

    #[track_caller]
    fn refused(store: &Store<Record>, name: u64, says: &str) {
        let error = store.read(name).expect_err("it cannot be used").to_string();
        let path = store.path(name).display().to_string();
        for says in [says, &path, "takt revert"] {
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_record_comes_back_with_its_version_and_boot() {
        let (store, _root) = store();
        assert_eq!(store.read(7).unwrap(), None);
        store.write(7, &record()).unwrap();
        assert_eq!(store.read(7).unwrap(), Some(record()));
        edit(&store, 7, |value| {
            assert_eq!(value["version"], VERSION);
            assert_eq!(value["boot_id"], boot::id().unwrap());
        });
        store.write(8, &record()).unwrap();
        store.keep_only(8).unwrap();
        assert_eq!(store.numbers(), [8]);
        store.discard(8).unwrap();
        store.leave_empty();
        assert!(!store.dir.exists());
        store.forget().unwrap();
    }

    #[test]
    fn the_form_before_is_taken_over_and_written_anew() {
        let (store, _root) = store();
        store.write(7, &record()).unwrap();
        edit(&store, 7, |value| {
            value.as_object_mut().unwrap().remove("version");
            value.as_object_mut().unwrap().remove("boot_id");
        });
        assert_eq!(store.read(7).unwrap(), Some(record()));
        assert_eq!(store.numbers(), [7]);
        assert!(store.salvage_all().unwrap().is_empty());
        store.write(7, &record()).unwrap();
        edit(&store, 7, |value| assert_eq!(value["version"], VERSION));
    }

    #[test]
    fn a_newer_one_is_refused_and_salvaged_if_it_has_what_is_known() {
        let (store, _root) = store();
        for name in [7, 8] {
            store.write(name, &record()).unwrap();
            edit(&store, name, |value| {
                value["version"] = json!(VERSION + 1);
                value["more"] = json!({"than": "known"});
            });
            refused(&store, name, "a newer takt wrote it (version 2");
        }
        edit(&store, 8, |value| value["limit"] = json!("none"));
        assert_eq!(store.salvage_all().unwrap(), [8]);
        assert_eq!(store.read(7).unwrap(), Some(record()));
        assert_eq!(store.read(8).unwrap(), None);
    }

    #[test]
    fn one_of_another_boot_does_not_count() {
        let (store, _root) = store();
        store.write(7, &record()).unwrap();
        for version in [VERSION, VERSION + 1] {
            edit(&store, 7, |value| {
                value["boot_id"] = json!("another");
                value["version"] = json!(version);
            });
            assert_eq!(store.read(7).unwrap(), None);
            assert!(store.numbers().is_empty());
        }
        // It does not become one of this boot either.
        assert!(store.salvage_all().unwrap().is_empty());
        assert_eq!(store.read(7).unwrap(), None);
        store.write(7, &record()).unwrap();
        assert_eq!(store.read(7).unwrap(), Some(record()));
    }

    #[test]
    fn half_a_record_is_refused_and_not_salvaged() {
        let (store, _root) = store();
        store.write(7, &record()).unwrap();
        let path = store.path(7);
        let text = fs::read_to_string(&path).unwrap();
        for length in [0, text.len() / 2, text.len() - 1] {
            fs::write(&path, &text[..length]).unwrap();
            refused(&store, 7, "EOF");
            // It may be of this boot.
            assert_eq!(store.numbers(), [7]);
        }
        assert_eq!(store.salvage_all().unwrap(), [7]);
        assert_eq!(store.read(7).unwrap(), None);
    }

    #[test]
    fn a_draft_is_no_record() {
        let of = |name: &str| number_of(&Path::new("/run/takt/crowd").join(name));
        assert_eq!(of("4242.json"), Some(4242));
        assert_eq!(of("4242.draft"), None);
        assert_eq!(of("4242"), None);
        assert_eq!(of("x.json"), None);
    }
}
