//! A file that others read at any time: node_exporter's textfile collector.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process,
};

/// Every user may read what is in it.
const MODE: u32 = 0o644;

/// Readers see the old text or the new one, and never a part.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let aside = beside(path)?;
    let written = write(&aside, text).and_then(|()| fs::rename(&aside, path));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}

/// The collector reads names that end in `.prom`: this one does not.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut aside = name.to_owned();
    aside.push(format!(".{}", process::id()));
    Ok(path.with_file_name(aside))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_new_text_takes_the_old_ones_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("takt.prom");
        for text in ["one", "two"] {
            replace(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777 & !MODE, 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        replace(&folder.path().join("none/takt.prom"), "x").unwrap_err();
    }
}
