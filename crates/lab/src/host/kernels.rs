//! The available kernels: cached ones, and those in the archive.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::apt::{Apt, Offer};
use super::error::Doing;
use super::release::{DEFAULT_SERIES, Flavour, NEWEST, REALTIME, WIRELESS, by_age, choose};
use super::{Error, Result, cache};

/// A kernel that can be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// As `uname -r` prints it.
    pub release: String,
    pub(super) vmlinuz: PathBuf,
    pub(super) modules_dir: PathBuf,
}

/// A line of `takt lab kernels`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct KernelInfo {
    /// As `uname -r` prints it.
    pub release: String,
    /// Whether it is cached.
    pub cached: bool,
    /// The one used when `--kernel` is not given.
    pub default: bool,
    /// The one meant by `--kernel newest`.
    pub newest: bool,
    /// The one meant by `--kernel wireless`, with wireless devices.
    pub wireless: bool,
    /// The one meant by `--kernel realtime`, with PREEMPT_RT.
    pub realtime: bool,
}

/// All available kernels, oldest first. Reads the archive's list; without network, the last one
/// that was read.
pub fn list() -> Result<Vec<KernelInfo>> {
    let store = Store::open()?;
    let cached = store.cached()?;
    let offers = match store.refreshed_offers() {
        Ok(offers) => offers,
        Err(e) if cached.is_empty() => return Err(e),
        Err(e) => {
            eprintln!("takt lab: the archive cannot be asked, this is what is known: {e}");
            store.known_offers()
        }
    };
    let releases = releases(&cached, &offers);
    let default = choose(DEFAULT_SERIES, releases.iter().copied());
    let newest = choose(NEWEST, releases.iter().copied());
    // A cached one is good enough, so it is the default.
    let of_flavour = |spec| {
        let here = choose(spec, cached.iter().map(String::as_str));
        here.or_else(|| choose(spec, releases.iter().copied()))
    };
    let (wireless, realtime) = (of_flavour(WIRELESS), of_flavour(REALTIME));
    Ok(releases
        .iter()
        .map(|&release| KernelInfo {
            release: release.to_owned(),
            cached: cached.iter().any(|c| c == release),
            default: Some(release) == default,
            newest: Some(release) == newest,
            wireless: Some(release) == wireless,
            realtime: Some(release) == realtime,
        })
        .collect())
}

/// The kernel that `spec` means (none: the default one), downloaded if it is not cached.
/// The network is used only when nothing cached fits.
pub fn ensure(spec: Option<&str>) -> Result<Kernel> {
    let spec = spec.unwrap_or(DEFAULT_SERIES);
    let store = Store::open()?;
    let cached = store.cached()?;
    // The newest cached one may not be the newest of all.
    if spec != NEWEST
        && let Some(release) = choose(spec, cached.iter().map(String::as_str))
    {
        return store.kernel(release);
    }

    let _turn = cache::wait_turn(
        "kernels.lock",
        "another process is fetching a kernel, waiting for it",
    )?;
    let known = store.known_offers();
    if !known.is_empty()
        && let Ok(kernel) = store.fetch(spec, &known)
    {
        return Ok(kernel);
    }
    // The list was never read, or so long ago that the archive has changed.
    store.fetch(spec, &store.refreshed_offers()?)
}

/// The directory of unpacked kernels, one per release.
struct Store {
    dir: PathBuf,
}

impl Store {
    fn open() -> Result<Store> {
        Ok(Store {
            dir: cache::subdir("kernels")?,
        })
    }

    /// Releases unpacked so far. Unfinished ones have names that start with a dot.
    fn cached(&self) -> Result<Vec<String>> {
        let listing = || format!("list {}", self.dir.display());
        let mut releases = Vec::new();
        for entry in fs::read_dir(&self.dir).doing(listing)? {
            let name = entry.doing(listing)?.file_name();
            let name = name.to_string_lossy();
            if !name.starts_with('.') {
                releases.push(name.into_owned());
            }
        }
        Ok(releases)
    }

    /// The archive's kernels when its list was last read: none if it never was, or without apt.
    fn known_offers(&self) -> Vec<Offer> {
        Apt::of_kernels()
            .and_then(|apt| apt.offers())
            .unwrap_or_default()
    }

    fn refreshed_offers(&self) -> Result<Vec<Offer>> {
        let apt = Apt::of_kernels()?;
        eprintln!("takt lab: asking the Debian archive for its kernels");
        apt.refresh()?;
        apt.offers()
    }

    /// The kernel that `spec` means among the cached and the offered ones.
    fn fetch(&self, spec: &str, offers: &[Offer]) -> Result<Kernel> {
        let cached = self.cached()?;
        let releases = releases(&cached, offers);
        let release =
            choose(spec, releases.iter().copied()).ok_or_else(|| Error::NoSuchKernel {
                spec: spec.to_owned(),
                known: releases.iter().map(|&r| r.to_owned()).collect(),
            })?;
        if let Some(offer) = offers.iter().find(|offer| offer.release == release)
            && !cached.iter().any(|c| c == release)
        {
            self.unpack(offer)?;
        }
        self.kernel(release)
    }

    fn unpack(&self, offer: &Offer) -> Result<()> {
        eprintln!(
            "takt lab: fetching kernel {} ({} MB, once)",
            offer.release,
            offer.bytes / 1_000_000
        );
        let unfinished = tempfile::Builder::new()
            .prefix(".unpack-")
            .tempdir_in(&self.dir)
            .doing(|| format!("create a directory in {}", self.dir.display()))?;
        let root = unfinished.path().join("root");
        fs::create_dir(&root).doing(|| format!("create {}", root.display()))?;
        Apt::of_kernels()?.unpack(&offer.packages, &root)?;
        Kernel::at(&root, &offer.release)?;
        let finished = self.dir.join(&offer.release);
        fs::rename(&root, &finished).doing(|| format!("create {}", finished.display()))
    }

    fn kernel(&self, release: &str) -> Result<Kernel> {
        Kernel::at(&self.dir.join(release), release)
    }
}

impl Kernel {
    /// Whether it supports wireless devices.
    pub fn has_wireless(&self) -> bool {
        Flavour::from_release(&self.release) == Flavour::All
    }

    /// The kernel whose packages are unpacked in `root`. Its files were in different places
    /// over the years.
    fn at(root: &Path, release: &str) -> Result<Kernel> {
        let find = |what, candidates: [String; 2]| {
            candidates
                .iter()
                .map(|candidate| root.join(candidate))
                .find(|path| path.exists())
                .ok_or(Error::IncompleteKernel {
                    release: release.to_owned(),
                    dir: root.to_owned(),
                    what,
                })
        };
        Ok(Kernel {
            release: release.to_owned(),
            vmlinuz: find(
                "vmlinuz",
                [
                    format!("boot/vmlinuz-{release}"),
                    format!("usr/lib/modules/{release}/vmlinuz"),
                ],
            )?,
            modules_dir: find(
                "modules",
                [
                    format!("usr/lib/modules/{release}"),
                    format!("lib/modules/{release}"),
                ],
            )?,
        })
    }
}

fn releases<'a>(cached: &'a [String], offers: &'a [Offer]) -> Vec<&'a str> {
    let all: BTreeSet<&str> = cached
        .iter()
        .map(String::as_str)
        .chain(offers.iter().map(|offer| offer.release.as_str()))
        .collect();
    let mut all: Vec<&str> = all.into_iter().collect();
    all.sort_by(|a, b| by_age(a, b));
    all
}
