//! A file that others read at any time: node_exporter's textfile collector.

use std::{
    fs::Permissions,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

/// Every user may read what is in it, whatever the umask.
const MODE: u32 = 0o644;

/// The collector reads names that end in `.prom`: those of files that are not whole do not.
const UNFINISHED: &str = ".takt-metrics-";

/// Readers see the old text or the new one, and never a part.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let mut file = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file()
        .set_permissions(Permissions::from_mode(MODE))?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        assert_eq!(mode & 0o7777, MODE);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        replace(&folder.path().join("none/takt.prom"), "x").unwrap_err();
        replace(folder.path(), "x").unwrap_err();
    }
}
