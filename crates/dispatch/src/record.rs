//! What has to be restored: each thread as it was before it came. Written before a thread is
//! changed, so that a dispatcher that dies leaves nothing that is not in it.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    attributes::Attributes,
    error::{Error, Result},
    page::{self, Page},
    processes::Stat,
};

pub const FOLDER: &str = "/run/takt-dispatch";
const FILE: &str = "threads.json";
const JOBS: &str = "jobs";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub tid: i32,
    pub started: u64,
    pub before: Attributes,
}

impl Entry {
    fn is_there(&self) -> bool {
        Stat::for_thread(self.tid).is_some_and(|stat| stat.started == self.started)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Record {
    threads: Vec<Entry>,
}

impl Record {
    pub fn add(&mut self, entry: Entry) -> Result<()> {
        self.threads.push(entry);
        self.write()
    }

    pub fn remove(&mut self, tid: i32) -> Result<()> {
        self.threads.retain(|entry| entry.tid != tid);
        self.write()
    }

    fn write(&self) -> Result<()> {
        let text = serde_json::to_vec(self).map_err(|error| {
            Error::file(FILE)(io::Error::new(io::ErrorKind::InvalidData, error))
        })?;
        replace(FILE, &text, 0o600)
    }
}

/// The folder of job pages.
pub fn jobs_folder() -> PathBuf {
    Path::new(FOLDER).join(JOBS)
}

/// The folders, readable by all users, since each thread has its page there.
pub fn make_folders() -> Result<()> {
    for folder in [PathBuf::from(FOLDER), jobs_folder()] {
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Error::file(folder)(error));
            }
            _ => {}
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))
            .map_err(Error::file(folder))?;
    }
    Ok(())
}

/// Makes a file of [`FOLDER`] anew, whole at any moment.
pub fn replace(name: &str, text: &[u8], mode: u32) -> Result<()> {
    let path = Path::new(FOLDER).join(name);
    let write = || {
        let mut file = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(mode))
            .tempfile_in(FOLDER)?;
        io::Write::write_all(&mut file, text)?;
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(mode))?;
        file.persist(&path)?;
        Ok(())
    };
    write().map_err(Error::file(&path))
}

/// Restores every thread of the record, closes its page, and removes all files. Returns how many
/// threads were restored.
pub fn restore_all() -> Result<usize> {
    let path = Path::new(FOLDER).join(FILE);
    let record = match fs::read(&path) {
        // One that cannot be read was never written whole by this program.
        Ok(text) => serde_json::from_slice(&text).unwrap_or_default(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Record::default(),
        Err(error) => return Err(Error::file(path)(error)),
    };
    let mut restored = 0;
    for entry in record.threads.iter().filter(|entry| entry.is_there()) {
        match entry.before.restore(entry.tid) {
            Ok(()) => restored += 1,
            // It ended meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(source) => eprintln!("takt-dispatch: restore thread {}: {source}", entry.tid),
        }
    }
    for entry in &record.threads {
        close_page(entry.tid);
    }
    for name in [FILE, crate::status::FILE] {
        remove(&Path::new(FOLDER).join(name))?;
    }
    Ok(restored)
}

/// Ends a thread's page: the thread goes on if it waits there.
pub fn close_page(tid: i32) {
    let folder = jobs_folder();
    if let Ok(page) = Page::open(&folder, tid) {
        page.close();
    }
    let _ = remove(&page::path_of(&folder, tid));
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::file(path)(error)),
        _ => Ok(()),
    }
}
