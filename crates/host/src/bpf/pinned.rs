//! The BPF objects that outlive takt, by their pins: opened with the layout of their maps
//! checked, loaded and pinned in one step, and removed in one.
//!
//! Each has a number, in a map of its own beside the others: a takt that was upgraded does not
//! read maps that are laid out differently. [`Pinned::map_of`] compares the sizes of keys and
//! values besides, which finds a number that was not raised.
//!
//! The scheduler and the congestion control had no number at first. Their pins without one have
//! layout 1, and are taken over as long as that is this takt's, too.

use std::{
    cell::Cell,
    ffi::CString,
    os::{
        fd::{FromRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, MapType};
use takt_algo::sys::{TAKT_BEATS_ABI, TAKT_CROWD_ABI, TAKT_LINK_ABI};

use super::pins;
use crate::{bpf::BpfError, error::Error};

/// The pin of the number.
const ABI: &str = "takt_abi";

thread_local! {
    static REPLACES: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, objects of another layout count as not loaded to this thread, and
/// [`Object::retire`] makes room for this takt's.
#[derive(Debug)]
pub(crate) struct Replacing(());

impl Replacing {
    pub fn begin() -> Self {
        REPLACES.set(true);
        Self(())
    }
}

impl Drop for Replacing {
    fn drop(&mut self) {
        REPLACES.set(false);
    }
}

/// A kind of object.
#[derive(Debug)]
pub(crate) struct Object {
    dir: &'static str,
    /// The pin by which the kernel knows it under its name, if it does.
    registration: Option<&'static str>,
    abi: u32,
    /// The layout of pins without a number; 0: not known.
    unmarked: u32,
}

/// The qdisc, with its links.
pub(crate) static LINKS: Object = Object {
    dir: pins::LINKS,
    registration: Some("qdisc"),
    abi: TAKT_LINK_ABI,
    unmarked: 0,
};

/// What watches sockets, for links on any backend. Its maps are laid out with the qdisc's.
pub(crate) static SOCKETS: Object = Object {
    dir: pins::SOCKETS,
    registration: None,
    abi: TAKT_LINK_ABI,
    unmarked: 0,
};

/// The scheduler.
pub(crate) static BEATS: Object = Object {
    dir: pins::BEATS,
    registration: Some("scheduler"),
    abi: TAKT_BEATS_ABI,
    unmarked: 1,
};

/// The congestion control.
pub(crate) static CROWD: Object = Object {
    dir: pins::CROWD,
    registration: Some("congestion"),
    abi: TAKT_CROWD_ABI,
    unmarked: 1,
};

impl Object {
    /// What `open` takes from the pins of this object; `None` if it is not loaded.
    pub fn open<T>(
        &'static self,
        open: impl FnOnce(Pinned) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let (dir, true) = pins::dir(self.dir)? else {
            return Ok(None);
        };
        let is_writable = pins::is_writable()?;
        let pinned = Pinned {
            dir,
            object: self,
            is_writable,
        };
        match pinned.check().and_then(|()| open(pinned)) {
            // Without the lock, another takt may take all pins away meanwhile.
            Err(_) if !pins::dir(self.dir)?.1 => Ok(None),
            Err(error) if REPLACES.get() && BpfError::is_other_version(&error) => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Load it: `pin` registers it, after [`Self::retire`], and pins it in the directory it gets.
    /// Then open it.
    pub fn load<T>(
        &'static self,
        pin: impl FnOnce(&Path) -> Result<(), Error>,
        open: impl FnOnce(Pinned) -> Result<T, Error>,
    ) -> Result<T, Error> {
        pins::appear(&pins::dir(self.dir)?.0, |dir| {
            self.mark(dir)?;
            pin(dir)
        })?;
        self.open(open)?
            .ok_or(BpfError::NoBpffs { path: pins::MOUNT }.into())
    }

    /// Whether it is loaded, with whatever layout.
    pub fn is_pinned(&self) -> Result<bool, Error> {
        pins::dir(self.dir).map(|(_, exists)| exists)
    }

    /// Take the name and the pins from one of another layout, if there is one. What uses it
    /// goes on with it: qdiscs on their devices, and sockets with their congestion control.
    ///
    /// A takt that dies meanwhile leaves pins aside, which the next one removes.
    pub fn retire(&self) -> Result<(), Error> {
        let (dir, true) = pins::dir(self.dir)? else {
            return Ok(());
        };
        let aside = pins::set_aside(&dir)?;
        let registration = self.registration.map(|name| Link::open(aside.join(name)));
        if let Some(Ok(link)) = registration {
            // Kernels that know no such call do the same when the last pin is removed, but later.
            let _ = link.detach();
        }
        // With its maps its timers end, too: none fires beside the next scheduler.
        pins::remove(&aside)
    }

    /// Its directory of pins, whether it exists or not.
    pub fn path(&self) -> Result<PathBuf, Error> {
        pins::dir(self.dir).map(|(dir, _)| dir)
    }

    /// Remove the pins, of whatever layout, if there are any. The kernel frees the rest when
    /// nothing uses it any more.
    pub fn unload(&self) -> Result<(), Error> {
        match pins::dir(self.dir)? {
            (dir, true) => pins::vanish(&dir),
            (_, false) => Ok(()),
        }
    }

    fn mark(&self, dir: &Path) -> Result<(), Error> {
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
            ..Default::default()
        };
        let doing = || BpfError::of("marking the maps' layout");
        let mut abi =
            MapHandle::create(MapType::Array, Some(ABI), 4, 4, 1, &options).map_err(doing())?;
        abi.update(&0u32.to_ne_bytes(), &self.abi.to_ne_bytes(), MapFlags::ANY)
            .map_err(doing())?;
        abi.pin(dir.join(ABI)).map_err(doing())
    }

    fn other_version(&self, found: u32) -> Error {
        BpfError::OtherVersion {
            found,
            expected: self.abi,
        }
        .into()
    }
}

/// The pins of a loaded object.
#[derive(Debug)]
pub(crate) struct Pinned {
    dir: PathBuf,
    object: &'static Object,
    is_writable: bool,
}

impl Pinned {
    fn check(&self) -> Result<(), Error> {
        let found = if self.path(ABI).exists() {
            self.map(ABI)?
                .lookup(&0u32.to_ne_bytes(), MapFlags::ANY)
                .map_err(BpfError::of("reading the maps' layout"))?
                .and_then(|value| <[u8; 4]>::try_from(value).ok())
                .map_or(0, u32::from_ne_bytes)
        } else {
            self.object.unmarked
        };
        if found == self.object.abi {
            Ok(())
        } else {
            Err(self.object.other_version(found))
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn map(&self, name: &str) -> Result<MapHandle, Error> {
        let flags = if self.is_writable {
            0
        } else {
            // What only reads works all the same.
            libbpf_sys::BPF_F_RDONLY
        };
        MapHandle::from_pinned_path_with_file_flags(self.path(name), flags)
            .map_err(BpfError::of("opening a pinned map"))
    }

    /// A map with these keys and values.
    pub fn map_of<K, V>(&self, name: &str) -> Result<MapHandle, Error> {
        let map = self.map(name)?;
        let sizes = [map.key_size(), map.value_size()].map(|bytes| bytes as usize);
        if sizes == [size_of::<K>(), size_of::<V>()] {
            Ok(map)
        } else {
            Err(self.object.other_version(0))
        }
    }

    pub fn program(&self, name: &str) -> Result<OwnedFd, Error> {
        let pin = CString::new(self.path(name).as_os_str().as_bytes()).unwrap_or_default();
        let options = libbpf_sys::bpf_obj_get_opts {
            sz: size_of::<libbpf_sys::bpf_obj_get_opts>() as libbpf_sys::size_t,
            // A program can be run all the same, and its file system may be read-only.
            file_flags: libbpf_sys::BPF_F_RDONLY,
            path_fd: 0,
        };
        // SAFETY: a terminated string, and options of their own size.
        match unsafe { libbpf_sys::bpf_obj_get_opts(pin.as_ptr(), &raw const options) } {
            // SAFETY: the kernel has just made it for this process.
            fd @ 0.. => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
            errno => Err(BpfError::of("opening a pinned program")(
                libbpf_rs::Error::from_raw_os_error(-errno),
            )),
        }
    }

    pub fn unload(&self) -> Result<(), Error> {
        self.object.unload()
    }
}
