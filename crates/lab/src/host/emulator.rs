//! The emulator: the system's where it is new enough, else Debian's backport of a newer one, which
//! the lab fetches into its cache once. It runs on the libraries of the system's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::apt::Apt;
use super::error::Doing;
use super::tool::QEMU;
use super::{Error, Result, cache, libraries};

/// Major and minor version. Before this one, processors in virtual time do not get equal turns, and
/// an instruction after cmpxchg16b may see wrong flags (docs/adr/0047).
const OLDEST: [u32; 2] = [10, 0];

/// The emulator, what it has in common with others, its data, and the BIOS.
const PACKAGES: [&str; 4] = [
    "qemu-system-x86",
    "qemu-system-common",
    "qemu-system-data",
    "seabios",
];

/// The directories of data that a fetched emulator would look for in the system's `/usr`.
const DATA: [&str; 2] = ["usr/share/qemu", "usr/share/seabios"];

/// An emulator that can be started.
#[derive(Debug)]
pub struct Emulator {
    pub program: PathBuf,
    /// Where it looks for the BIOS first; none for the system's.
    pub data: Vec<PathBuf>,
}

/// The emulator, downloaded if neither the system nor the cache has a new one.
pub fn ensure() -> Result<Emulator> {
    let own = QEMU.path().ok();
    let version = own.as_deref().and_then(version_of);
    if let (Some(program), Some(version)) = (own, &version)
        && is_new(version)
    {
        let data = Vec::new();
        return Ok(Emulator { program, data });
    }
    let [major, minor] = OLDEST;
    let oldest = format!("{major}.{minor}");
    let dir = cache::subdir("emulators")?.join(&oldest);
    if !dir.exists() {
        fetch(&dir).map_err(|source| Error::OldEmulator {
            oldest,
            found: version.unwrap_or_else(|| "none".to_owned()),
            source: Box::new(source),
        })?;
    }
    Emulator::at(&dir)
}

/// What an emulator says of itself; nothing if it does not start.
fn version_of(program: &Path) -> Option<String> {
    let said = Command::new(program).arg("--version").output().ok()?;
    version_in(&String::from_utf8_lossy(&said.stdout)).map(str::to_owned)
}

/// `10.0.2` in `QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)`.
fn version_in(said: &str) -> Option<&str> {
    said.lines()
        .next()?
        .strip_prefix("QEMU emulator version ")?
        .split_whitespace()
        .next()
}

fn is_new(version: &str) -> bool {
    let numbers: Vec<u32> = version
        .split('.')
        .map_while(|number| number.parse().ok())
        .collect();
    numbers.as_slice() >= OLDEST.as_slice()
}

/// Never leaves an incomplete emulator in `dir`.
fn fetch(dir: &Path) -> Result<()> {
    let _turn = cache::wait_turn(
        "emulators.lock",
        "another process is fetching an emulator, waiting for it",
    )?;
    if dir.exists() {
        return Ok(());
    }
    let apt = Apt::of_backports()?;
    eprintln!(
        "takt lab: fetching QEMU from {} (13 MB, once)",
        apt.suites()
    );
    apt.refresh()?;
    let parent = dir.parent().unwrap_or(dir);
    let unfinished = tempfile::Builder::new()
        .prefix(".unpack-")
        .tempdir_in(parent)
        .doing(|| format!("create a directory in {}", parent.display()))?;
    let root = unfinished.path().join("root");
    fs::create_dir(&root).doing(|| format!("create {}", root.display()))?;
    apt.unpack(&PACKAGES.map(str::to_owned), &root)?;
    let version = version_of(&Emulator::at(&root)?.program).unwrap_or_default();
    if !is_new(&version) {
        return Err(Error::OldBackport {
            suites: apt.suites().to_owned(),
            version,
        });
    }
    fs::rename(&root, dir).doing(|| format!("create {}", dir.display()))
}

impl Emulator {
    /// The emulator whose packages are unpacked in `root`.
    fn at(root: &Path) -> Result<Emulator> {
        let program = root.join("usr/bin").join(QEMU.program);
        match libraries::of(std::slice::from_ref(&program)) {
            Err(Error::MissingLibrary { library, .. }) => Err(Error::EmulatorLibrary {
                library,
                package: QEMU.package,
            }),
            Err(error) => Err(error),
            Ok(_) => Ok(Emulator {
                program,
                data: DATA.map(|data| root.join(data)).into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        for (version, new) in [
            ("7.2.22", false),
            ("9.2.4", false),
            ("10.0.0", true),
            ("10.0.2", true),
            ("11.1.3", true),
            ("10.0.50-rc1", true),
            ("", false),
            ("next", false),
        ] {
            assert_eq!(is_new(version), new, "{version}");
        }
    }

    #[test]
    fn the_version_is_in_the_first_line() {
        let said = "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\nCopyright\n";
        assert_eq!(version_in(said), Some("7.2.22"));
        assert_eq!(version_in("QEMU emulator version 10.0.2\n"), Some("10.0.2"));
        assert_eq!(version_in("qemu: no such option\n"), None);
        assert_eq!(version_in(""), None);
    }
}
