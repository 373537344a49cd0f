//! Notices that a policy was applied or taken back: takt writes and removes its records then.
//! taktd sleeps meanwhile.

use std::{
    fs,
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor},
};

/// How deep records lie below takt's directory: by kind, and by network namespace.
const DEPTH: u32 = 3;
/// Directories that are watched: more than a host has network namespaces with records.
const DIRECTORIES_MAX: usize = 4096;

/// Watches takt's directory, which comes and goes with the policies in force.
pub(crate) struct Watch {
    dir: PathBuf,
    inotify: Option<Inotify>,
    /// That of the directory above.
    above: Option<WatchDescriptor>,
    /// Some directory could not be watched.
    is_blind: bool,
}

impl Watch {
    pub fn new(dir: &Path) -> Self {
        let flags = InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK;
        let mut watch = Self {
            dir: dir.to_owned(),
            inotify: Inotify::init(flags).ok(),
            above: None,
            is_blind: false,
        };
        watch.cover();
        watch
    }

    /// Whether changes may go unnoticed, so that they have to be looked for.
    pub fn is_blind(&self) -> bool {
        self.is_blind
    }

    /// Readable when there are changes.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }

    /// Whether there were changes since the last call.
    pub fn read(&mut self) -> bool {
        let Some(inotify) = &self.inotify else {
            return false;
        };
        let mut any = false;
        loop {
            match inotify.read_events() {
                Ok(events) => {
                    let own = self.dir.file_name();
                    any |= events.iter().any(|event| {
                        Some(event.wd) != self.above
                            || event.name.as_deref() == own
                            || event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW)
                    });
                }
                Err(Errno::EINTR) => {}
                Err(_) => break,
            }
        }
        if any {
            self.cover();
        }
        any
    }

    /// Watch all directories that there are now. A directory is watched once, however often it is
    /// added.
    fn cover(&mut self) {
        let above = self.dir.parent().unwrap_or(Path::new("/")).to_owned();
        self.is_blind = false;
        self.above = self.add(&above);
        let mut left = DIRECTORIES_MAX;
        let dir = self.dir.clone();
        self.cover_below(&dir, DEPTH, &mut left);
    }

    fn cover_below(&mut self, dir: &Path, depth: u32, left: &mut usize) {
        if *left == 0 {
            self.is_blind = true;
            return;
        }
        *left -= 1;
        // Watched first, so that a directory made meanwhile is either found or an event.
        if self.add(dir).is_none() || depth == 0 {
            return;
        }
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        for entry in entries {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.cover_below(&entry.path(), depth - 1, left);
            }
        }
    }

    fn add(&mut self, dir: &Path) -> Option<WatchDescriptor> {
        let changes = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_ONLYDIR
            | AddWatchFlags::IN_DONT_FOLLOW;
        let added = self.inotify.as_ref()?.add_watch(dir, changes);
        // A missing directory is noticed when it is made.
        if added.is_err_and(|errno| errno != Errno::ENOENT) {
            self.is_blind = true;
        }
        added.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_and_go_with_their_directories() {
        let run = tempfile::tempdir().unwrap();
        let dir = run.path().join("takt");
        let mut watch = Watch::new(&dir);
        assert!(!watch.is_blind() && !watch.read());

        // Other programs' files beside it are no change.
        fs::write(run.path().join("other"), "").unwrap();
        assert!(!watch.read());

        fs::create_dir(&dir).unwrap();
        assert!(watch.read());
        fs::create_dir_all(dir.join("links/1")).unwrap();
        assert!(watch.read() && !watch.read());
        let draft = dir.join("links/1/7.draft");
        fs::write(&draft, "{}").unwrap();
        assert!(watch.read());
        fs::rename(&draft, dir.join("links/1/7.json")).unwrap();
        assert!(watch.read() && !watch.read());

        // Reading is no change.
        fs::read(dir.join("links/1/7.json")).unwrap();
        fs::read_dir(&dir).unwrap().for_each(drop);
        assert!(!watch.read());

        fs::remove_dir_all(&dir).unwrap();
        assert!(watch.read() && !watch.read());
        fs::create_dir(&dir).unwrap();
        assert!(watch.read());
    }
}
