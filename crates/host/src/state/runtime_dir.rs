//! Directories and files of state, which root alone can enter, read and change, with any umask.
//! What exists already is checked: its kind, its owner and its mode.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use crate::{
    error::Error,
    os::OsError,
    state::{
        StateError,
        trust::{self, Kind},
    },
};

/// Takt's directory. It exists while anything is managed.
pub const DIR: &str = "/run/takt";

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// For a directory that another takt removes meanwhile.
const TRIES: u32 = 16;

/// More than any policy and its records.
const FILE_MAX_BYTES: u64 = 64 << 20;

/// Make a directory of mode 0700, or use the existing one; its parent must exist. One that only
/// its owner can change gets that mode; any other is refused.
pub fn private_dir(path: &Path) -> Result<File, Error> {
    persist(|| make_dir(path))
}

/// Likewise, with all directories above it that lie in [`DIR`].
pub fn private_dirs(path: &Path) -> Result<File, Error> {
    persist(|| {
        let mut above = within_dir(path).into_iter();
        above.try_for_each(|dir| make_dir(dir).map(drop))?;
        make_dir(path)
    })
}

/// An ending takt removes empty directories, perhaps in this moment.
fn persist<T>(make: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    for _ in 1..TRIES {
        match make() {
            Err(error) if error.is_missing() => {}
            made => return made,
        }
    }
    make()
}

fn make_dir(path: &Path) -> Result<File, Error> {
    match DirBuilder::new().mode(DIRECTORY_MODE).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(OsError::file(path)(error));
        }
        _ => {}
    }
    let dir = open_dir(path)?;
    set_mode(path, &dir, DIRECTORY_MODE)?;
    Ok(dir)
}

/// Open a file of mode 0600 for reading and writing, and make it if missing.
pub fn private_file(path: &Path) -> Result<File, Error> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(|error| explain(path, error))?;
    check(path, &file, Kind::File)?;
    set_mode(path, &file, FILE_MODE)?;
    Ok(file)
}

/// The content of a file, if it and the directories above it in [`DIR`] are takt's own; `None`
/// if there is none.
pub fn read(path: &Path) -> Result<Option<String>, Error> {
    for above in within_dir(path) {
        if unless_missing(open_dir(above))?.is_none() {
            return Ok(None);
        }
    }
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(|error| explain(path, error));
    let Some(file) = unless_missing(opened)? else {
        return Ok(None);
    };
    check(path, &file, Kind::File)?;
    let mut text = String::new();
    let length = file
        .take(FILE_MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(OsError::file(path))?;
    if length as u64 > FILE_MAX_BYTES {
        return Err(StateError::BadRecord {
            path: path.to_owned(),
            reason: format!("it is longer than {FILE_MAX_BYTES} bytes"),
        }
        .into());
    }
    Ok(Some(text))
}

/// Write a file of mode 0600 in one step. An incomplete file must never have the final name.
pub fn replace(path: &Path, text: &str) -> Result<(), Error> {
    let draft = path.with_extension("draft");
    remove(&draft)?;
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(&draft)?;
        file.set_permissions(Permissions::from_mode(FILE_MODE))?;
        file.write_all(text.as_bytes())?;
        fs::rename(&draft, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&draft);
        OsError::file(path)(error)
    })
}

/// Remove a file, if it exists.
pub fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(OsError::file(path)(error)),
        _ => Ok(()),
    }
}

/// Remove a directory with all that is in it, if it exists.
pub fn remove_all(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(OsError::file(path)(error)),
        _ => Ok(()),
    }
}

/// A directory that exists and is takt's own.
pub(crate) fn open_dir(path: &Path) -> Result<File, Error> {
    let dir = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(path)
        .map_err(|error| explain(path, error))?;
    check(path, &dir, Kind::Directory)?;
    Ok(dir)
}

/// The directories above a path that are [`DIR`] or below it, from the top.
fn within_dir(path: &Path) -> Vec<&Path> {
    let above = path.ancestors().skip(1);
    let mut within: Vec<&Path> = above.take_while(|dir| dir.starts_with(DIR)).collect();
    within.reverse();
    within
}

fn unless_missing<T>(opened: Result<T, Error>) -> Result<Option<T>, Error> {
    match opened {
        Err(error) if error.is_missing() => Ok(None),
        opened => opened.map(Some),
    }
}

/// A file that could not be opened because it is of another kind is reported as that.
fn explain(path: &Path, error: io::Error) -> Error {
    let is_of_another_kind = matches!(
        error.raw_os_error(),
        Some(libc::ELOOP | libc::ENOTDIR | libc::EISDIR | libc::ENXIO)
    );
    match fs::symlink_metadata(path) {
        Ok(found) if is_of_another_kind => trust::refuse(path, &found),
        _ => OsError::file(path)(error),
    }
}

fn check(path: &Path, file: &File, kind: Kind) -> Result<(), Error> {
    let found = file.metadata().map_err(OsError::file(path))?;
    trust::check(path, &found, kind)
}

fn set_mode(path: &Path, file: &File, mode: u32) -> Result<(), Error> {
    let found = file.metadata().map_err(OsError::file(path))?;
    if trust::permissions(&found) == mode {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(mode))
        .map_err(OsError::file(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode_of(path: &Path) -> u32 {
        trust::permissions(&fs::metadata(path).unwrap())
    }

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[track_caller]
    fn refused<T>(done: Result<T, Error>, says: &str) {
        let error = done.map(drop).expect_err("it is not takt's").to_string();
        assert!(error.contains(says), "{error}");
    }

    #[test]
    fn a_directory_is_its_owners_alone() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("state");
        private_dir(&dir).unwrap();
        assert_eq!(mode_of(&dir), 0o700);
        // As an earlier version left it.
        chmod(&dir, 0o755);
        private_dir(&dir).unwrap();
        assert_eq!(mode_of(&dir), 0o700);

        chmod(&dir, 0o777);
        refused(private_dir(&dir), "mode 0777");
        let link = root.path().join("link");
        symlink(root.path(), &link).unwrap();
        refused(private_dir(&link), "a symbolic link");
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        refused(private_dir(&file), "a file");
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("note.json");
        assert_eq!(read(&path).unwrap(), None);
        replace(&path, "first").unwrap();
        // A takt that died left a draft.
        fs::write(path.with_extension("draft"), "half").unwrap();
        replace(&path, "second").unwrap();
        assert_eq!(mode_of(&path), 0o600);
        assert_eq!(read(&path).unwrap().as_deref(), Some("second"));
        assert!(!path.with_extension("draft").exists());
    }

    #[test]
    fn what_others_may_have_written_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("note.json");
        replace(&path, "mine").unwrap();
        for mode in [0o620, 0o602, 0o666] {
            chmod(&path, mode);
            refused(read(&path), &format!("mode {mode:04o}"));
            refused(private_file(&path), &format!("mode {mode:04o}"));
        }
        chmod(&path, 0o644);
        assert_eq!(read(&path).unwrap().as_deref(), Some("mine"));
        let link = root.path().join("link.json");
        symlink(&path, &link).unwrap();
        refused(read(&link), "a symbolic link");
        refused(private_file(&link), "a symbolic link");
        refused(read(root.path()), "a directory");
    }

    #[test]
    fn the_directories_of_a_record() {
        let names = |path: &str| {
            let within = within_dir(Path::new(path)).into_iter();
            within
                .map(|dir| dir.display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names("/run/takt/links/3/1.json"),
            ["/run/takt", "/run/takt/links", "/run/takt/links/3"]
        );
        assert_eq!(names("/run/takt"), [""; 0]);
        assert_eq!(names("/tmp/note.json"), [""; 0]);
    }
}
