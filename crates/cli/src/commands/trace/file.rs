//! The file: Chrome's JSON of trace events, whole or not there.

use std::{
    fs, io,
    io::{BufWriter, Write},
    os::unix::fs::MetadataExt,
    path::Path,
};

use nix::unistd::geteuid;
use serde_json::Value;
use tempfile::NamedTempFile;

/// Larger ones are slow to open.
const BYTES_MAX: u64 = 200_000_000;

const HEAD: &[u8] = b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
const TAIL: &[u8] = b"\n]}\n";

/// Only a regular file of the caller's is replaced.
pub fn may_be_written(path: &Path) -> Result<(), String> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(format!("{shown}: {error}")),
        Ok(old) if !old.is_file() => Err(format!(
            "{shown} is not a regular file, so it is not replaced; name another file"
        )),
        Ok(old) if old.uid() != geteuid().as_raw() => Err(format!(
            "{shown} belongs to user {}, so it is not replaced; name another file",
            old.uid()
        )),
        Ok(_) => Ok(()),
    }
}

/// Not under its name yet. Only its owner may read it: it names programs and peers.
pub struct TraceFile {
    out: BufWriter<NamedTempFile>,
    events: u64,
    bytes: u64,
}

impl TraceFile {
    pub fn create(path: &Path) -> io::Result<Self> {
        let folder = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let file = tempfile::Builder::new()
            .prefix(".takt-trace-")
            .tempfile_in(folder.unwrap_or(Path::new(".")))?;
        let mut out = BufWriter::new(file);
        out.write_all(HEAD)?;
        Ok(Self {
            out,
            events: 0,
            bytes: (HEAD.len() + TAIL.len()) as u64,
        })
    }

    /// A full one takes no more.
    pub fn write(&mut self, event: &Value) -> io::Result<()> {
        if self.is_full() {
            return Ok(());
        }
        let separator = if self.events > 0 { ",\n" } else { "" };
        let text = format!("{separator}{event}");
        self.out.write_all(text.as_bytes())?;
        self.events += 1;
        self.bytes += text.len() as u64;
        Ok(())
    }

    pub fn is_full(&self) -> bool {
        self.bytes >= BYTES_MAX
    }

    pub fn events(&self) -> u64 {
        self.events
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives it its name.
    pub fn finish(mut self, path: &Path) -> io::Result<()> {
        self.out.write_all(TAIL)?;
        let file = self.out.into_inner().map_err(|error| error.into_error())?;
        may_be_written(path).map_err(io::Error::other)?;
        file.persist(path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_json_that_only_its_owner_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        for count in [0, 1, 3] {
            let mut file = TraceFile::create(&path).unwrap();
            for at in 0..count {
                file.write(&json!({ "name": "a\"\n", "ts": at })).unwrap();
            }
            let bytes = file.bytes();
            file.finish(&path).unwrap();
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(text.len() as u64, bytes);
            let read: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(read["traceEvents"].as_array().unwrap().len(), count);
        }
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_unfinished_one_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        drop(TraceFile::create(&path).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_a_regular_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [own, link, none] = ["own", "link", "none"].map(|name| folder.path().join(name));
        fs::write(&own, "old").unwrap();
        symlink(&own, &link).unwrap();
        may_be_written(&own).unwrap();
        may_be_written(&none).unwrap();
        for other in [&link, folder.path(), Path::new("/dev/null"), &own.join("x")] {
            assert!(may_be_written(other).is_err(), "{}", other.display());
        }
    }
}
