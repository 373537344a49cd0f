//! The journal of a policy on trial, which every takt can read: first what is changed, then one
//! line for each event.
//!
//! The first line appears at once, further lines are appended, and an incomplete line does not
//! count. A process that has the file open reads the outcome even after the file is removed.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    process::{Admin, Process},
    stage::Stage,
};
use crate::{
    apply::restore::Replaced,
    error::Error,
    os::{OsError, boot},
    state::{
        StateError, runtime_dir, store,
        trust::{self, Kind},
    },
};

const PATH: &str = "/run/takt/pending.jsonl";

/// What is changed, by which administrator, and what was in force before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Change {
    /// As of every record.
    #[serde(default)]
    pub version: u32,
    pub id: String,
    pub boot_id: String,
    pub by: Admin,
    pub takt: Process,
    pub guard: Process,
    pub netns_inode: u64,
    pub netns_cookie: u64,
    /// The name of its file.
    pub policy: String,
    pub begun_ns: u64,
    /// From when it is in force.
    pub patience_ns: u64,
    pub replaced: Replaced,
}

/// An event of the trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Event {
    /// It is in force.
    Applied {
        at_ns: u64,
        /// The default congestion control after that.
        congestion: String,
    },
    /// The previous state could not be restored.
    Failed { at_ns: u64, reason: String },
    /// The policy was confirmed.
    Kept { by: Admin },
    /// The previous state is restored.
    TakenBack { by: Admin, left: Vec<String> },
}

#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    pub change: Change,
    events: Vec<Event>,
    gone: bool,
}

impl Journal {
    /// Begin a journal with what is to be changed. Needs the lock, and that no other policy is
    /// on trial.
    pub fn begin(change: Change) -> Result<Self, Error> {
        runtime_dir::replace(Path::new(PATH), &line(&change)?)?;
        Self::open()?.ok_or_else(|| OsError::file(PATH)(ErrorKind::NotFound.into()))
    }

    /// The journal of this boot, if there is one.
    pub fn open() -> Result<Option<Self>, Error> {
        let file = match open_at(Path::new(PATH)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.map_err(OsError::file(PATH))?,
        };
        let found = file.metadata().map_err(OsError::file(PATH))?;
        trust::check(Path::new(PATH), &found, Kind::File)?;
        let (change, events) = parse(&text_of(&file)?)?;
        if change.boot_id != boot::id()? {
            return Ok(None);
        }
        store::check_version(change.version).map_err(|reason| bad(&reason))?;
        Ok(Some(Self {
            file,
            change,
            events,
            gone: false,
        }))
    }

    /// Read the events since the last look.
    pub fn look(&mut self) -> Result<(), Error> {
        // In this order: the last line is written before the file is removed.
        let linked = self.file.metadata().map_err(OsError::file(PATH))?.nlink() > 0;
        self.events = parse(&text_of(&self.file)?)?.1;
        self.gone = !linked;
        Ok(())
    }

    pub fn append(&mut self, event: Event) -> Result<(), Error> {
        let text = text_of(&self.file)?;
        let whole_bytes = whole(&text).len() as u64;
        let line = line(&event)?;
        let added = self
            .file
            .set_len(whole_bytes)
            .and_then(|()| self.file.write_all(line.as_bytes()));
        added.map_err(|error| {
            let _ = self.file.set_len(whole_bytes);
            OsError::file(PATH)(error)
        })?;
        self.events.push(event);
        Ok(())
    }

    /// The trial is decided.
    pub fn remove(&mut self) -> Result<(), Error> {
        self.gone = true;
        remove()
    }

    pub fn stage(&self, now_ns: u64) -> Stage {
        let stage = match self.events.last() {
            Some(event) => event.stage(&self.change, now_ns),
            None => Stage::Applying,
        };
        if self.gone && !stage.is_decided() {
            Stage::Gone
        } else {
            stage
        }
    }

    pub fn is_undecided(&self) -> bool {
        !self.stage(0).is_decided()
    }

    /// Whether no process is responsible for it any more.
    pub fn is_orphaned(&self) -> bool {
        !self.change.takt.runs() && !self.change.guard.runs()
    }

    /// The default congestion control that the policy set; `None` if it was not applied
    /// completely.
    pub fn congestion(&self) -> Option<&str> {
        self.events.iter().find_map(|event| match event {
            Event::Applied { congestion, .. } => Some(congestion.as_str()),
            _ => None,
        })
    }
}

fn open_at(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .append(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
}

pub(super) fn remove() -> Result<(), Error> {
    runtime_dir::remove(Path::new(PATH))
}

fn text_of(file: &File) -> Result<String, Error> {
    let read = || {
        let mut bytes = vec![0; file.metadata()?.len() as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    };
    let bytes = read().map_err(OsError::file(PATH))?;
    String::from_utf8(bytes).map_err(|error| bad(&error))
}

/// All complete lines.
fn whole(text: &str) -> &str {
    text.rfind('\n').map_or("", |end| &text[..=end])
}

fn parse(text: &str) -> Result<(Change, Vec<Event>), Error> {
    let mut lines = whole(text).lines();
    let change = value(lines.next().unwrap_or_default())?;
    let events = lines.map(value).collect::<Result<_, _>>()?;
    Ok((change, events))
}

/// A journal of any origin is refused, or has a stage.
pub(crate) fn fuzz(text: &str) {
    let Ok((change, events)) = parse(text) else {
        return;
    };
    for event in &events {
        event.stage(&change, change.begun_ns);
    }
    let written = [line(&change)].into_iter().chain(events.iter().map(line));
    let written: String = written.filter_map(Result::ok).collect();
    let again = parse(&written).ok();
    assert_eq!(again, Some((change, events)), "it does not come back");
}

fn value<T: DeserializeOwned>(line: &str) -> Result<T, Error> {
    serde_json::from_str(line).map_err(|error| bad(&error))
}

fn line<T: Serialize>(value: &T) -> Result<String, Error> {
    let text = serde_json::to_string(value).map_err(|error| bad(&error))?;
    Ok(text + "\n")
}

fn bad(reason: &dyn std::fmt::Display) -> Error {
    StateError::BadRecord {
        path: PATH.into(),
        reason: reason.to_string(),
    }
    .into()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn root() -> Admin {
        Admin {
            uid: 0,
            user: Some("root".to_owned()),
            pid: 812,
            tty: None,
        }
    }

    pub fn change() -> Change {
        Change {
            version: store::VERSION,
            id: "812-1".to_owned(),
            boot_id: "a-boot".to_owned(),
            by: root(),
            takt: Process::own(),
            guard: Process::new(0),
            netns_inode: 1,
            netns_cookie: 1,
            policy: "new.toml".to_owned(),
            begun_ns: 99_000_000_000,
            patience_ns: 120_000_000_000,
            replaced: Replaced::default(),
        }
    }

    fn journal(events: &[Event]) -> Journal {
        let named = tempfile::NamedTempFile::new().unwrap();
        let mut file = open_at(named.path()).unwrap();
        file.write_all(line(&change()).unwrap().as_bytes()).unwrap();
        for event in events {
            file.write_all(line(event).unwrap().as_bytes()).unwrap();
        }
        Journal {
            file,
            change: change(),
            events: events.to_vec(),
            gone: false,
        }
    }

    fn applied() -> Event {
        Event::Applied {
            at_ns: 100,
            congestion: "cubic".to_owned(),
        }
    }

    #[test]
    fn the_last_event_counts() {
        let mut journal = journal(&[]);
        assert_eq!(journal.stage(0), Stage::Applying);
        assert_eq!(journal.congestion(), None);
        journal.append(applied()).unwrap();
        assert!(matches!(journal.stage(0), Stage::Waiting { .. }));
        assert_eq!(journal.congestion(), Some("cubic"));
        let reason = "the lock".to_owned();
        journal.append(Event::Failed { at_ns: 7, reason }).unwrap();
        assert!(matches!(
            journal.stage(9),
            Stage::Failed { since_ns: 2, .. }
        ));
        assert!(journal.is_undecided());
        journal.append(Event::Kept { by: root() }).unwrap();
        assert_eq!(journal.stage(0), Stage::Kept { by: root() });
        assert!(!journal.is_undecided());
        let (change, events) = parse(&text_of(&journal.file).unwrap()).unwrap();
        assert_eq!((change, events), (journal.change, journal.events));
    }

    #[test]
    fn half_a_line_is_none_and_the_next_takes_its_place() {
        let mut journal = journal(&[applied()]);
        journal.file.write_all(b"{\"kept\":{\"by\"").unwrap();
        assert_eq!(parse(&text_of(&journal.file).unwrap()).unwrap().1.len(), 1);
        let left = vec!["near1".to_owned()];
        journal
            .append(Event::TakenBack { by: root(), left })
            .unwrap();
        let (_, events) = parse(&text_of(&journal.file).unwrap()).unwrap();
        assert_eq!(events, journal.events);
    }

    #[test]
    fn what_takt_did_not_write_is_no_journal() {
        for text in ["", "{}\n", "nonsense\n"] {
            assert!(
                matches!(
                    parse(text).unwrap_err().of(),
                    Some(StateError::BadRecord { .. })
                ),
                "{text}"
            );
        }
    }

    #[test]
    fn one_that_is_gone_without_a_word_is_decided() {
        let mut journal = journal(&[applied()]);
        journal.look().unwrap();
        // Dropping the test's handle removed the file.
        assert_eq!(journal.stage(0), Stage::Gone);
        assert!(!journal.is_undecided());
    }
}
