//! Key files: 32 bytes in hexadecimal, for their owner's eyes only.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use thiserror::Error;

use crate::sealed::Key;

/// A line end more or less is nobody's business.
const FILE_MAX_BYTES: u64 = 2 * Key::BYTES as u64 + 2;

/// Why there is no key.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The file cannot be opened, read or written.
    #[error("{path}: {source}")]
    File {
        /// Where the key is, or was to be.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A new key is never put over anything.
    #[error("{path} exists, and whoever shares its key would be lost; name another file")]
    Exists {
        /// What is there.
        path: PathBuf,
    },
    /// The file says something else, or more.
    #[error(
        "{path} is no key of 64 hexadecimal digits; `takt radio key FILE` and `takt crowd key FILE` make one"
    )]
    NoKey {
        /// Where the key was to be.
        path: PathBuf,
    },
    /// The file's mode lets its group or others at it.
    #[error("{path} can be read by others than its owner; chmod 600 {path}")]
    Public {
        /// Where the key is.
        path: PathBuf,
    },
    /// /dev/urandom cannot be read, and nothing was written.
    #[error("the kernel has no random numbers: {0}")]
    NoRandom(io::Error),
}

/// Read a key, if it is nobody else's.
pub fn read_key(path: &Path) -> Result<Key, KeyError> {
    let file = |source| KeyError::File {
        path: path.to_owned(),
        source,
    };
    let opened = File::open(path).map_err(file)?;
    if opened.metadata().map_err(file)?.mode() & 0o077 != 0 {
        return Err(KeyError::Public {
            path: path.to_owned(),
        });
    }
    let mut text = Vec::new();
    opened
        .take(FILE_MAX_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(file)?;
    let bytes = parse(text.trim_ascii_end()).ok_or_else(|| KeyError::NoKey {
        path: path.to_owned(),
    })?;
    Ok(Key::new(&bytes))
}

/// Make a new key, in a file that did not exist.
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
    let mut bytes = [0; Key::BYTES];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .map_err(KeyError::NoRandom)?;
    let mut text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    text.push('\n');
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut made| made.write_all(text.as_bytes()))
        .map_err(file)
}

fn parse(text: &[u8]) -> Option<[u8; Key::BYTES]> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = [0; Key::BYTES];
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
        read_key(&path).unwrap();
        assert!(matches!(make_key(&path), Err(KeyError::Exists { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);

        let other = dir.path().join("other.key");
        make_key(&other).unwrap();
        assert_ne!(fs::read_to_string(&other).unwrap(), text);

        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(read_key(&path), Err(KeyError::Public { .. })));
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
                matches!(read_key(&path), Err(KeyError::NoKey { .. })),
                "{text}"
            );
        }
        fs::write(&path, key.to_uppercase() + "\n").unwrap();
        read_key(&path).unwrap();
    }
}
