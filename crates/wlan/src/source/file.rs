//! A file with lines `ADDR DB`, written by another program: a script that asks the controller
//! of closed access points, or a test.

use std::{
    fs::File,
    io::Read,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use takt_policy::parse_decibel;

use super::{Source, SourceError};
use crate::{
    Address,
    radio::{STATIONS_MAX, Sample},
};

const FILE_MAX_BYTES: u64 = 128 * STATIONS_MAX as u64;

/// A file that is not written for this time says nothing any more: its writer may have died.
const STALE_NS: u64 = 300_000_000_000;

/// Reads the whole file each time. Empty lines and text after `#` are ignored.
pub struct SnrFile {
    path: PathBuf,
    /// The version that was read last, and when it was first read.
    version: Option<(Version, u64)>,
}

/// What changes when a file is written or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl SnrFile {
    /// For this file, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            version: None,
        }
    }

    /// Whether the file has not been written for [`STALE_NS`], by a clock that cannot be set.
    fn is_stale(&mut self, version: Version, now_ns: u64) -> bool {
        match self.version {
            Some((known, since_ns)) if known == version => {
                now_ns.saturating_sub(since_ns) >= STALE_NS
            }
            _ => {
                self.version = Some((version, now_ns));
                false
            }
        }
    }
}

impl Source for SnrFile {
    fn poll(&mut self, now_ns: u64, samples: &mut Vec<Sample>) -> Result<(), SourceError> {
        let (bytes, version) = read_bounded(&self.path)?;
        if self.is_stale(version, now_ns) {
            let problem = format!("it was not written for {} s", STALE_NS / 1_000_000_000);
            return Err(unusable(&self.path, problem));
        }
        parse(&self.path, &bytes, samples)?;
        if samples.is_empty() {
            Err(unusable(&self.path, "no station is in it".to_owned()))
        } else {
            Ok(())
        }
    }
}

fn unusable(path: &Path, problem: String) -> SourceError {
    SourceError::Unusable {
        path: path.to_owned(),
        problem,
    }
}

/// A pipe or a device in the file's place is not waited for.
fn read_bounded(path: &Path) -> Result<(Vec<u8>, Version), SourceError> {
    let failed = |source| SourceError::File {
        path: path.to_owned(),
        source,
    };
    let file = File::options()
        .read(true)
        .custom_flags(nix::libc::O_NONBLOCK)
        .open(path)
        .map_err(failed)?;
    let known = file.metadata().map_err(failed)?;
    if !known.is_file() {
        return Err(unusable(path, "it is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(FILE_MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > FILE_MAX_BYTES {
        let problem = format!("it is longer than {FILE_MAX_BYTES} bytes");
        return Err(unusable(path, problem));
    }
    let version = Version {
        device: known.dev(),
        inode: known.ino(),
        changed: (known.ctime(), known.ctime_nsec()),
    };
    Ok((bytes, version))
}

/// A line that cannot be parsed is that line's error alone: the first is returned, and the others
/// are read.
fn parse(path: &Path, bytes: &[u8], samples: &mut Vec<Sample>) -> Result<(), SourceError> {
    let (mut first, mut others) = (None, 0u64);
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let problem = match parse_line(line) {
            Ok(None) => continue,
            Ok(Some(sample)) if samples.len() < STATIONS_MAX => {
                samples.push(sample);
                continue;
            }
            Ok(Some(_)) => format!("there are more than {STATIONS_MAX} stations"),
            Err(problem) => problem,
        };
        match first {
            None => first = Some((number + 1, problem)),
            Some(_) => others += 1,
        }
    }
    let Some((line, problem)) = first else {
        return Ok(());
    };
    Err(SourceError::Line {
        path: path.to_owned(),
        line,
        problem: match others {
            0 => problem,
            1 => format!("{problem} (and another line)"),
            others => format!("{problem} (and {others} other lines)"),
        },
    })
}

fn parse_line(line: &[u8]) -> Result<Option<Sample>, String> {
    let line = std::str::from_utf8(line).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let said = line.split('#').next().unwrap_or_default();
    let mut words = said.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (None, ..) => Ok(None),
        (Some(address), Some(strength), None) => {
            let address: Address = address.parse()?;
            Ok(Some(Sample::new(address, parse_decibel(strength)?)))
        }
        _ => Err("write an address and a strength in dB, such as 192.0.2.7 12.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> (Vec<Sample>, Option<String>) {
        let mut samples = Vec::new();
        let read = parse(Path::new("snr.txt"), text.as_bytes(), &mut samples);
        (samples, read.err().map(|error| error.to_string()))
    }

    #[test]
    fn lines_as_documented() {
        let text = "# the lab's\n192.0.2.7 12.5\n\n02:00:00:00:01:00\t-3 # the moving one\r\n";
        let [v4, mac] = ["192.0.2.7", "02:00:00:00:01:00"].map(|text| text.parse().unwrap());
        assert_eq!(
            read(text),
            (vec![Sample::new(v4, 1250), Sample::new(mac, -300)], None)
        );
        assert_eq!(read(""), (vec![], None));
    }

    #[test]
    fn a_bad_line_is_named_and_is_its_own_error_alone() {
        let good = "192.0.2.7 12\n";
        let others = [("192.0.2.7", 1200), ("192.0.2.8", 300)]
            .map(|(text, snr)| Sample::new(text.parse().unwrap(), snr));
        for (line, what) in [
            ("192.0.2.7", "write an address and a strength"),
            ("192.0.2.7 12 dB", "write an address and a strength"),
            ("192.0.2.700 12", "`192.0.2.700` is neither a MAC address"),
            ("ff:ff:ff:ff:ff:ff 12", "not the address of one station"),
            ("192.0.2.7 twelve", "not a number of dB"),
            ("192.0.2.7 61", "out of range"),
            ("192.0.2.7 1.234", "more than two decimals"),
        ] {
            let (samples, error) = read(&format!("{good}{line}\n192.0.2.8 3\n"));
            let error = error.unwrap();
            assert!(error.starts_with("snr.txt, line 2: "), "{error}");
            assert!(error.contains(what), "{error}");
            assert_eq!(samples, others, "{line}");
        }
        let many: String = (0..=STATIONS_MAX)
            .map(|i| format!("2001:db8::{i:x} 1\n"))
            .collect();
        let (samples, error) = read(&many);
        assert_eq!(samples.len(), STATIONS_MAX);
        assert!(
            error
                .unwrap()
                .starts_with("snr.txt, line 257: there are more")
        );
        let (_, error) = read("a\nb\nc\n");
        assert!(error.unwrap().ends_with("(and 2 other lines)"));
    }

    #[test]
    fn what_the_file_says_now() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("snr.txt");
        let mut file = SnrFile::new(&path);
        let mut samples = Vec::new();
        assert!(matches!(
            file.poll(0, &mut samples),
            Err(SourceError::File { .. })
        ));
        fs::write(&path, "192.0.2.7 12\n").unwrap();
        file.poll(0, &mut samples).unwrap();
        samples.clear();
        fs::write(&path, "192.0.2.7 6\n192.0.2.8\n").unwrap();
        assert!(matches!(
            file.poll(0, &mut samples),
            Err(SourceError::Line { line: 2, .. })
        ));
        assert_eq!(samples.len(), 1);
        samples.clear();
        for unusable in [
            vec![b' '; FILE_MAX_BYTES as usize + 1],
            b"# none\n".to_vec(),
        ] {
            fs::write(&path, unusable).unwrap();
            assert!(matches!(
                file.poll(0, &mut samples),
                Err(SourceError::Unusable { .. })
            ));
        }
        assert!(samples.is_empty());
    }

    #[test]
    fn a_pipe_in_its_place_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("snr.txt");
        let mode = nix::sys::stat::Mode::S_IRUSR;
        nix::unistd::mkfifo(&path, mode).unwrap();
        let error = SnrFile::new(&path).poll(0, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().ends_with("it is not a regular file"));
    }

    #[test]
    fn a_file_that_is_not_written_any_more_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("snr.txt");
        fs::write(&path, "192.0.2.7 12\n").unwrap();
        let mut file = SnrFile::new(&path);
        let mut poll = |now_ns| {
            let mut samples = Vec::new();
            (file.poll(now_ns, &mut samples).is_ok(), samples.len())
        };
        assert_eq!(poll(7), (true, 1));
        assert_eq!(poll(STALE_NS), (true, 1));
        assert_eq!(poll(STALE_NS + 7), (false, 0));
        // The same text, written anew.
        fs::remove_file(&path).unwrap();
        fs::write(&path, "192.0.2.7 12\n").unwrap();
        assert_eq!(poll(STALE_NS + 8), (true, 1));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(Path::new("snr.txt"), &bytes, &mut Vec::new());
        }
    }
}
