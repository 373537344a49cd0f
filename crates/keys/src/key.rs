//! Key files: 32 bytes in hexadecimal, readable for their owner only.

use std::{
    fs::{self, File, Metadata, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use nix::{fcntl::OFlag, unistd::Uid};
use thiserror::Error;

/// The length of a secret.
pub const SECRET_BYTES: usize = 32;

/// A missing or additional line end is accepted.
const FILE_MAX_BYTES: u64 = 2 * SECRET_BYTES as u64 + 2;

const MODE: u32 = 0o600;
/// Permissions of the group and of others.
const OTHERS: u32 = 0o077;

/// Why there is no key.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The file cannot be opened, read or written.
    #[error("{path}: {source}")]
    File {
        /// The key file's path.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The file exists. A new key never replaces a file.
    #[error(
        "{path} exists, and a new key would exclude all members that have this one; name another file"
    )]
    Exists {
        /// The key file's path.
        path: PathBuf,
    },
    /// The file holds something else, or more.
    #[error(
        "{path} is not a key of 64 hexadecimal digits; `takt radio key FILE` and `takt crowd key FILE` make one"
    )]
    NoKey {
        /// The key file's path.
        path: PathBuf,
    },
    /// A directory, a device or a pipe.
    #[error("{path} is not a regular file")]
    NoFile {
        /// The key file's path.
        path: PathBuf,
    },
    /// The file's mode gives its group or others access.
    #[error(
        "{path} has mode {mode:04o}, so users other than its owner can read the key; chmod 600 {path}"
    )]
    Public {
        /// The key file's path.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Another user owns the file, so that user knows the key and can replace it.
    #[error(
        "{path} belongs to user {uid}, and a key must belong to root or to its user (mode {mode:04o}); \
         if that user does not know the key, chown root {path}"
    )]
    Foreign {
        /// The key file's path.
        path: PathBuf,
        /// The file's owner.
        uid: u32,
        /// Its permissions.
        mode: u32,
    },
    /// /dev/urandom cannot be read, and nothing was written.
    #[error("reading random numbers from the kernel: {0}")]
    NoRandom(io::Error),
}

/// The result of examining a key file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Examined {
    /// It holds a key.
    Sound,
    /// It exists, and this user may not read it.
    Unread,
    /// This user may not search its directory.
    Hidden,
}

/// Checks a key file as far as this user may see it.
pub fn examine_key(path: &Path) -> Result<Examined, KeyError> {
    let is_denied = |error: &KeyError| match error {
        KeyError::File { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
        _ => false,
    };
    let found = match fs::metadata(path).map_err(file_error(path)) {
        Err(error) if is_denied(&error) => return Ok(Examined::Hidden),
        found => found?,
    };
    check(path, &found)?;
    match read_secret(path) {
        Err(error) if is_denied(&error) => Ok(Examined::Unread),
        read => read.map(|_| Examined::Sound),
    }
}

/// Reads a key, if only its owner and root have access to the file.
pub fn read_secret(path: &Path) -> Result<[u8; SECRET_BYTES], KeyError> {
    let file = file_error(path);
    // A pipe must not block.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)
        .map_err(&file)?;
    check(path, &opened.metadata().map_err(&file)?)?;
    let mut text = Vec::new();
    opened
        .take(FILE_MAX_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(&file)?;
    parse(text.trim_ascii_end()).ok_or_else(|| KeyError::NoKey {
        path: path.to_owned(),
    })
}

/// Makes a new key, in a file that did not exist.
pub fn make_key(path: &Path) -> Result<(), KeyError> {
    let file = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => KeyError::Exists {
            path: path.to_owned(),
        },
        _ => KeyError::File {
            path: path.to_owned(),
            source,
        },
    };
    let mut bytes = [0; SECRET_BYTES];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .map_err(KeyError::NoRandom)?;
    let mut text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    text.push('\n');
    let mut made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(path)
        .map_err(file)?;
    let written = made
        .set_permissions(Permissions::from_mode(MODE))
        .and_then(|()| made.write_all(text.as_bytes()));
    written.map_err(|error| {
        // An incomplete key is useless, and would block the next attempt.
        let _ = fs::remove_file(path);
        file(error)
    })
}

fn check(path: &Path, found: &Metadata) -> Result<(), KeyError> {
    let (uid, mode) = (found.uid(), found.mode() & 0o7777);
    let path = path.to_owned();
    if !found.is_file() {
        return Err(KeyError::NoFile { path });
    }
    if mode & OTHERS != 0 {
        return Err(KeyError::Public { path, mode });
    }
    if uid == 0 || uid == Uid::effective().as_raw() {
        Ok(())
    } else {
        Err(KeyError::Foreign { path, uid, mode })
    }
}

fn file_error(path: &Path) -> impl Fn(io::Error) -> KeyError {
    |source| KeyError::File {
        path: path.to_owned(),
        source,
    }
}

fn parse(text: &[u8]) -> Option<[u8; SECRET_BYTES]> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = [0; SECRET_BYTES];
    if text.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt,
    };

    use super::*;

    #[test]
    fn a_key_is_made_once_and_read_by_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("radio.key");
        make_key(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.trim_end().len(), 64);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        read_secret(&path).unwrap();
        assert!(matches!(make_key(&path), Err(KeyError::Exists { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);

        let other = dir.path().join("other.key");
        make_key(&other).unwrap();
        assert_ne!(fs::read_to_string(&other).unwrap(), text);

        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let error = read_secret(&path)
            .map(drop)
            .expect_err("its group can read it");
        assert!(error.to_string().contains("mode 0640"), "{error}");
        let error = examine_key(&path).expect_err("its group can read it");
        assert!(error.to_string().contains("mode 0640"), "{error}");
    }

    #[test]
    fn a_key_is_examined_as_far_as_can_be_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("radio.key");
        let error = examine_key(&path).expect_err("it is not there");
        assert!(error.to_string().contains("radio.key"), "{error}");
        make_key(&path).unwrap();
        assert_eq!(examine_key(&path).unwrap(), Examined::Sound);
        assert!(matches!(
            examine_key(dir.path()),
            Err(KeyError::NoFile { .. })
        ));
        if !Uid::effective().is_root() {
            return;
        }
        // Root sees the owner.
        nix::unistd::chown(&path, Some(Uid::from_raw(1000)), None).unwrap();
        let error = examine_key(&path).expect_err("it is another user's");
        assert!(error.to_string().contains("user 1000"), "{error}");
    }

    #[test]
    fn what_is_no_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("radio.key");
        let key = "0123456789abcdef".repeat(4);
        let texts = [
            String::new(),
            key[1..].to_owned(),
            format!("{key}0"),
            key.replace('a', "g"),
            format!("\n{key}"),
        ];
        for text in texts {
            fs::write(&path, &text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            assert!(
                matches!(read_secret(&path), Err(KeyError::NoKey { .. })),
                "{text}"
            );
        }
        fs::write(&path, key.to_uppercase() + "\n").unwrap();
        read_secret(&path).unwrap();
    }
}
