//! Debian's packages through the machine's own apt, with a separate configuration: its lists,
//! caches and sources are in the lab's cache directory, and nothing is installed. Only the
//! mirror and the keyring are the system's.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::error::Doing;
use super::tool::{APT_CACHE, APT_GET, DPKG_DEB, Tool};
use super::{Error, Result, cache};

/// The release after Debian 13 backports its kernels to the first; 13's own is in the second, 12's in
/// the third.
const SUITES_OF_KERNELS: &str = "trixie-backports trixie bookworm";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Kernels' packages: of the flavour without hardware drivers, of the one with all, and of the one with all and
/// PREEMPT_RT. Until Debian 12 a
/// kernel's name had its series and the number of its ABI, now its version and the distribution's.
const PACKAGES: &str =
    r"^linux-(image|binary|modules)-[0-9][0-9.]*(\+deb[0-9]+|-[0-9]+)-(cloud-|rt-)?amd64$";

/// A kernel in the archive, and its packages.
#[derive(Debug, PartialEq)]
pub struct Offer {
    pub release: String,
    pub packages: Vec<String>,
    /// The size of all packages, as downloaded.
    pub bytes: u64,
}

/// The fields of a package's record that are used.
#[derive(Clone, Copy)]
struct Package<'a> {
    depends: &'a str,
    bytes: u64,
}

pub struct Apt {
    dir: PathBuf,
    suites: String,
}

impl Apt {
    /// For kernels, of several of Debian's releases.
    pub fn of_kernels() -> Result<Apt> {
        Apt::open("apt", SUITES_OF_KERNELS.to_owned())
    }

    /// For newer programs than this system's release has, which run on its libraries.
    pub fn of_backports() -> Result<Apt> {
        Apt::open("apt-backports", format!("{}-backports", codename()?))
    }

    fn open(name: &str, suites: String) -> Result<Apt> {
        let dir = cache::subdir(name)?;
        for sub in [
            "state",
            "lists/partial",
            "cache/archives/partial",
            "sources",
        ] {
            let path = dir.join(sub);
            fs::create_dir_all(&path).doing(|| format!("create {}", path.display()))?;
        }
        let apt = Apt { dir, suites };
        // An empty list of installed packages.
        apt.write_if_absent("state/status", "")?;
        Ok(apt)
    }

    /// The names of the releases, separated by spaces.
    pub fn suites(&self) -> &str {
        &self.suites
    }

    /// Reads the mirror's list.
    pub fn refresh(&self) -> Result<()> {
        let sources = self.dir.join("sources/takt.sources");
        fs::write(&sources, source_of_this_system(&self.suites)?)
            .doing(|| format!("write {}", sources.display()))?;
        self.run(&APT_GET, &["update".into()], &self.dir)
    }

    /// The kernels in the mirror's list when last read; empty before that.
    pub fn offers(&self) -> Result<Vec<Offer>> {
        let mut arguments = self.options();
        arguments.extend(["search", "--names-only", "--full", PACKAGES].map(String::from));
        Ok(offers_in(&APT_CACHE.output(&arguments, &self.dir)?))
    }

    /// Downloads the packages, verified by apt, and unpacks them.
    pub fn unpack(&self, packages: &[String], into: &Path) -> Result<()> {
        let downloads = tempfile::tempdir_in(&self.dir)
            .doing(|| format!("create a directory in {}", self.dir.display()))?;
        let mut arguments = vec!["download".to_owned()];
        arguments.extend(packages.iter().cloned());
        self.run(&APT_GET, &arguments, downloads.path())?;

        let listing = || format!("list {}", downloads.path().display());
        for entry in fs::read_dir(downloads.path()).doing(listing)? {
            let package = entry.doing(listing)?.path();
            DPKG_DEB.output(
                &["-x".as_ref(), package.as_os_str(), into.as_os_str()],
                &self.dir,
            )?;
        }
        Ok(())
    }

    /// Runs apt-get with its messages, progress included, on standard error: standard output
    /// belongs to the command in the lab.
    fn run(&self, tool: &Tool, arguments: &[String], dir: &Path) -> Result<()> {
        let output = tool
            .command()?
            .args(self.options())
            .args(arguments)
            .current_dir(dir)
            .stdout(io::stderr())
            .stderr(Stdio::inherit())
            .output()
            .doing(|| format!("start {}", tool.program))?;
        tool.check(&output)
    }

    fn options(&self) -> Vec<String> {
        let dir = self.dir.display();
        [
            format!("Dir::State={dir}/state"),
            format!("Dir::State::Lists={dir}/lists"),
            format!("Dir::State::status={dir}/state/status"),
            format!("Dir::Cache={dir}/cache"),
            "Dir::Etc::SourceList=/dev/null".to_owned(),
            format!("Dir::Etc::SourceParts={dir}/sources"),
            "APT::Architecture=amd64".to_owned(),
            "APT::Architectures=amd64".to_owned(),
            // The _apt user may have no access to the cache.
            "APT::Sandbox::User=root".to_owned(),
        ]
        .into_iter()
        .flat_map(|option| ["-o".to_owned(), option])
        .collect()
    }

    fn write_if_absent(&self, name: &str, text: &str) -> Result<()> {
        let path = self.dir.join(name);
        if path.exists() {
            return Ok(());
        }
        fs::write(&path, text).doing(|| format!("write {}", path.display()))
    }
}

/// A deb822 source for these releases, on the mirror this system uses.
fn source_of_this_system(suites: &str) -> Result<String> {
    let arguments = [
        "indextargets",
        "--format",
        "$(ORIGIN)|$(COMPONENT)|$(CODENAME)|$(REPO_URI)|$(SIGNED_BY)",
        "Created-By: Packages",
    ];
    let targets = APT_GET.output(&arguments, Path::new("/"))?;
    let (uri, signed_by) = main_archive(&targets, &codename()?).ok_or(Error::NoDebianArchive)?;
    let keyring = match signed_by {
        _ if Path::new(KEYRING).exists() => KEYRING,
        Some(keyring) => keyring,
        None => return Err(Error::NoDebianArchive),
    };
    Ok(format!(
        "Types: deb\nURIs: {uri}\nSuites: {suites}\nComponents: main\nTargets: Packages\nSigned-By: {keyring}\n"
    ))
}

/// The name of this system's release.
fn codename() -> Result<String> {
    let os_release =
        fs::read_to_string("/etc/os-release").doing(|| "read /etc/os-release".into())?;
    Ok(codename_in(&os_release).to_owned())
}

fn codename_in(os_release: &str) -> &str {
    os_release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))
        .unwrap_or_default()
        .trim_matches('"')
}

/// URI and keyring of Debian's main archive, not of security or updates, among the lines of
/// `indextargets`. An unset field stays `$(NAME)`.
fn main_archive<'a>(targets: &'a str, codename: &str) -> Option<(&'a str, Option<&'a str>)> {
    targets.lines().find_map(|line| {
        let [origin, component, of, uri, signed_by] =
            <[&str; 5]>::try_from(line.split('|').collect::<Vec<_>>()).ok()?;
        let wanted = (origin, component, of) == ("Debian", "main", codename);
        wanted.then(|| (uri, Some(signed_by).filter(|path| path.starts_with('/'))))
    })
}

/// The complete kernels among apt's package records. `linux-image-R` is either
/// the kernel with its modules, or only a name for `linux-binary-R` and
/// `linux-modules-R`, not all of which an archive keeps.
fn offers_in(records: &str) -> Vec<Offer> {
    let mut known: BTreeMap<&str, Package> = BTreeMap::new();
    for record in records.split("\n\n") {
        let field = |name| {
            record
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        if let Some(package) = field("Package") {
            let depends = field("Depends").unwrap_or_default();
            let bytes = field("Size").and_then(|size| size.parse().ok());
            let bytes = bytes.unwrap_or_default();
            known.insert(package, Package { depends, bytes });
        }
    }
    known
        .iter()
        .filter_map(|(image, package)| {
            let release = image.strip_prefix("linux-image-")?;
            let parts = [
                format!("linux-binary-{release}"),
                format!("linux-modules-{release}"),
            ];
            let packages = if package.depends.contains(&parts[0]) {
                parts.into()
            } else {
                vec![(*image).to_owned()]
            };
            let sizes = packages
                .iter()
                .map(|part| known.get(part.as_str()).map(|package| package.bytes));
            Some(Offer {
                release: release.to_owned(),
                bytes: sizes.sum::<Option<u64>>()?,
                packages,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_archive_is_the_systems_own_release() {
        let targets = "\
Debian|main|bookworm-updates|http://mirror.example/debian/|$(SIGNED_BY)
Other|main|bookworm|http://other.example/|/etc/other.gpg
Debian|contrib|bookworm|http://mirror.example/debian/|$(SIGNED_BY)
Debian|main|bookworm|http://mirror.example/debian/|/etc/debian.gpg
";
        assert_eq!(
            main_archive(targets, "bookworm"),
            Some(("http://mirror.example/debian/", Some("/etc/debian.gpg")))
        );
        assert_eq!(
            main_archive(targets, "bookworm-updates").map(|(_, key)| key),
            Some(None)
        );
        assert_eq!(main_archive(targets, "trixie"), None);
        assert_eq!(main_archive("", "bookworm"), None);
    }

    #[test]
    fn only_complete_kernels_are_offered() {
        let records = "\
Package: linux-image-6.18.15+deb13-cloud-amd64
Depends: kmod, initramfs-tools
Size: 49000000

Package: linux-image-7.1.13+deb13-cloud-amd64
Depends: linux-binary-7.1.13+deb13-cloud-amd64 (= 7.1.13-1), linux-modules-7.1.13+deb13-cloud-amd64 (= 7.1.13-1)

Package: linux-binary-7.1.13+deb13-cloud-amd64

Package: linux-image-7.3.4+deb13-cloud-amd64
Depends: linux-binary-7.3.4+deb13-cloud-amd64 (= 7.3.4-1), linux-modules-7.3.4+deb13-cloud-amd64 (= 7.3.4-1)

Package: linux-binary-7.3.4+deb13-cloud-amd64
Size: 14000000

Package: linux-modules-7.3.4+deb13-cloud-amd64
Depends: kmod
Size: 23000000
";
        let offer = |release: &str, packages: &[&str], bytes| Offer {
            release: release.to_owned(),
            packages: packages.iter().map(|p| (*p).to_owned()).collect(),
            bytes,
        };
        assert_eq!(
            offers_in(records),
            [
                offer(
                    "6.18.15+deb13-cloud-amd64",
                    &["linux-image-6.18.15+deb13-cloud-amd64"],
                    49_000_000
                ),
                offer(
                    "7.3.4+deb13-cloud-amd64",
                    &[
                        "linux-binary-7.3.4+deb13-cloud-amd64",
                        "linux-modules-7.3.4+deb13-cloud-amd64"
                    ],
                    37_000_000
                ),
            ]
        );
        assert_eq!(offers_in(""), []);
    }

    #[test]
    fn codename_with_and_without_quotes() {
        assert_eq!(
            codename_in("ID=debian\nVERSION_CODENAME=bookworm\n"),
            "bookworm"
        );
        assert_eq!(codename_in("VERSION_CODENAME=\"trixie\"\n"), "trixie");
        assert_eq!(codename_in("ID=arch\n"), "");
    }
}
