//! A file with lines `ADDR DB`, written by another program: a script that asks the controller
//! of closed access points, or a test.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use takt_policy::parse_decibel;

use super::{Source, SourceError};
use crate::{
    Address,
    radio::{STATIONS_MAX, Sample},
};

const FILE_MAX_BYTES: u64 = 128 * STATIONS_MAX as u64;

/// Reads the whole file each time. Empty lines and text after `#` are ignored.
pub struct SnrFile(PathBuf);

impl SnrFile {
    /// For this file, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }
}

impl Source for SnrFile {
    fn poll(&mut self, _now_ns: u64, samples: &mut Vec<Sample>) -> Result<(), SourceError> {
        let bytes = read_bounded(&self.0)?;
        samples.extend(parse(&self.0, &bytes)?);
        Ok(())
    }
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|source| SourceError::File {
            path: path.to_owned(),
            source,
        })?;
    if bytes.len() as u64 > FILE_MAX_BYTES {
        return Err(SourceError::TooLarge {
            path: path.to_owned(),
            problem: format!("it is longer than {FILE_MAX_BYTES} bytes"),
        });
    }
    Ok(bytes)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<Sample>, SourceError> {
    let mut samples = Vec::new();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let problem = |problem| SourceError::Line {
            path: path.to_owned(),
            line: number + 1,
            problem,
        };
        match parse_line(line).map_err(problem)? {
            Some(_) if samples.len() == STATIONS_MAX => {
                return Err(problem(format!(
                    "there are more than {STATIONS_MAX} stations"
                )));
            }
            Some(sample) => samples.push(sample),
            None => {}
        }
    }
    Ok(samples)
}

fn parse_line(line: &[u8]) -> Result<Option<Sample>, String> {
    let line = std::str::from_utf8(line).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let said = line.split('#').next().unwrap_or_default();
    let mut words = said.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (None, ..) => Ok(None),
        (Some(address), Some(strength), None) => {
            let address: Address = address.parse()?;
            Ok(Some(Sample::of(address, parse_decibel(strength)?)))
        }
        _ => Err("write an address and a strength in dB, such as 192.0.2.7 12.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<Sample>, String> {
        parse(Path::new("snr.txt"), text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn lines_as_documented() {
        let text = "# the lab's\n192.0.2.7 12.5\n\n02:00:00:00:01:00\t-3 # the moving one\r\n";
        let [v4, mac] = ["192.0.2.7", "02:00:00:00:01:00"].map(|text| text.parse().unwrap());
        assert_eq!(
            read(text),
            Ok(vec![Sample::of(v4, 1250), Sample::of(mac, -300)])
        );
        assert_eq!(read(""), Ok(vec![]));
    }

    #[test]
    fn a_bad_line_is_named_and_changes_nothing() {
        let good = "192.0.2.7 12\n";
        for (line, what) in [
            ("192.0.2.7", "write an address and a strength"),
            ("192.0.2.7 12 dB", "write an address and a strength"),
            ("192.0.2.700 12", "`192.0.2.700` is neither a MAC address"),
            ("ff:ff:ff:ff:ff:ff 12", "not the address of one station"),
            ("192.0.2.7 twelve", "not a number of dB"),
            ("192.0.2.7 61", "out of range"),
            ("192.0.2.7 1.234", "more than two decimals"),
        ] {
            let error = read(&format!("{good}{line}\n{good}")).unwrap_err();
            assert!(error.starts_with("snr.txt, line 2: "), "{error}");
            assert!(error.contains(what), "{error}");
        }
        let many: String = (0..=STATIONS_MAX)
            .map(|i| format!("2001:db8::{i:x} 1\n"))
            .collect();
        assert!(
            read(&many)
                .unwrap_err()
                .starts_with("snr.txt, line 257: there are more")
        );
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
        fs::write(&path, "192.0.2.7 6\n192.0.2.8\n").unwrap();
        assert!(file.poll(0, &mut samples).is_err());
        assert_eq!(samples.len(), 1);
        fs::write(&path, vec![b' '; FILE_MAX_BYTES as usize + 1]).unwrap();
        assert!(matches!(
            file.poll(0, &mut samples),
            Err(SourceError::TooLarge { .. })
        ));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(Path::new("snr.txt"), &bytes);
        }
    }
}
