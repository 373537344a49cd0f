//! The qdisc's program and maps in the kernel: loading and pinning them once
//! per host, and giving every link its own state, plan and store.

use std::{
    fs,
    mem::MaybeUninit,
    os::fd::{AsFd, AsRawFd},
    path::{Path, PathBuf},
};

use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, MapType,
    skel::{OpenSkel, SkelBuilder},
};
use serde::{Deserialize, Serialize};
use takt_algo::{
    Plain, from_bytes,
    sys::{TAKT_HANDLE_MAJOR, TAKT_LINK_ABI, TAKT_LINKS, TAKT_PACKETS, takt_link, takt_plan},
    to_bytes, zeroed_box,
};

use crate::{bpffs, btf, error::Error};

#[allow(clippy::all, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/link.skel.rs"));
}

/// The handle that makes a qdisc find its link.
pub fn handle_of(index: u32) -> u32 {
    (TAKT_HANDLE_MAJOR + index) << 16
}

/// Which device a link's state belongs to; no other can carry its qdisc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub ifindex: u32,
    pub netns_cookie: u64,
}

/// Pins are made in a directory of such a name first. (bpffs allows no dots.)
const STAGING: &str = "takt-loading-";

/// The loaded program, by its pins.
pub struct Program {
    dir: PathBuf,
    links: MapHandle,
    plans: MapHandle,
    stores: MapHandle,
    abi: MapHandle,
}

impl Program {
    /// The program that an earlier takt loaded; `None` if there is none.
    pub fn open() -> Result<Option<Self>, Error> {
        let dir = bpffs::root()?.join("takt");
        if !dir.exists() {
            return Ok(None);
        }
        let map = |name: &str| {
            MapHandle::from_pinned_path(dir.join(name)).map_err(Error::bpf("opening a pinned map"))
        };
        let program = Self {
            links: map("takt_links")?,
            plans: map("takt_plans")?,
            stores: map("takt_stores")?,
            abi: map("takt_abi")?,
            dir,
        };
        program.check_version()?;
        Ok(Some(program))
    }

    /// Load, register and pin the program. The pins appear in one step, so a
    /// takt that dies on the way leaves nothing that counts.
    pub fn load() -> Result<Self, Error> {
        let root = bpffs::root()?;
        sweep(&root)?;
        let staging = root.join(format!("{STAGING}{}", std::process::id()));
        fs::create_dir(&staging).map_err(Error::file(&staging))?;
        let pinned = register_and_pin(&staging).and_then(|()| {
            let dir = root.join("takt");
            fs::rename(&staging, &dir).map_err(Error::file(&dir))
        });
        if pinned.is_err() {
            // The first error is the one to report.
            let _ = fs::remove_dir_all(&staging);
        }
        pinned?;
        Self::open()?.ok_or(Error::NoBpffs { path: bpffs::MOUNT })
    }

    /// Verify every program against the running kernel, and leave nothing.
    pub fn verify() -> Result<(), Error> {
        let mut memory = MaybeUninit::uninit();
        load_skeleton(&mut memory).map(drop)
    }

    /// Take the pins away. The kernel frees the rest with the last qdisc.
    pub fn unload(self) -> Result<(), Error> {
        fs::remove_dir_all(&self.dir).map_err(Error::file(&self.dir))
    }

    /// Make a link's state, store and first plan; its qdisc may then attach.
    pub fn add_link(&self, index: u32, owner: Owner, plan: &takt_plan) -> Result<(), Error> {
        let mut state = zeroed_box::<takt_link>();
        state.ifindex = owner.ifindex;
        state.netns_cookie = owner.netns_cookie;
        let state = value_map("takt_link", &*state)?;
        let store = self.store_map()?;
        let plan = value_map("takt_plan", plan)?;
        set_inner(&self.links, index, &state)?;
        set_inner(&self.stores, index, &store)?;
        set_inner(&self.plans, index, &plan)
    }

    /// Replace the plans of several links in a single system call; packets meet
    /// the old or the new one of each link, whole.
    pub fn set_plans(&self, plans: &[(u32, &takt_plan)]) -> Result<(), Error> {
        let maps: Vec<MapHandle> = plans
            .iter()
            .map(|(_, plan)| value_map("takt_plan", *plan))
            .collect::<Result<_, _>>()?;
        let keys: Vec<u8> = plans
            .iter()
            .flat_map(|(index, _)| index.to_ne_bytes())
            .collect();
        let fds: Vec<u8> = maps
            .iter()
            .flat_map(|map| map.as_fd().as_raw_fd().to_ne_bytes())
            .collect();
        if maps.is_empty() {
            return Ok(());
        }
        self.plans
            .update_batch(&keys, &fds, maps.len() as u32, MapFlags::ANY, MapFlags::ANY)
            .map_err(Error::bpf("replacing the plans"))
    }

    /// The link's state now; `None` if there is no such link.
    pub fn link(&self, index: u32) -> Result<Option<Box<takt_link>>, Error> {
        read_inner(&self.links, index)
    }

    pub fn plan(&self, index: u32) -> Result<Option<Box<takt_plan>>, Error> {
        read_inner(&self.plans, index)
    }

    /// Links that have a state.
    pub fn links(&self) -> Result<Vec<u32>, Error> {
        let mut found = Vec::new();
        for index in 0..TAKT_LINKS {
            if inner(&self.links, index)?.is_some() {
                found.push(index);
            }
        }
        Ok(found)
    }

    /// Forget a link. Its qdisc must be gone.
    pub fn remove_link(&self, index: u32) -> Result<(), Error> {
        for outer in [&self.plans, &self.stores, &self.links] {
            match outer.delete(&index.to_ne_bytes()) {
                Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => {
                    return Err(Error::bpf("forgetting a link")(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_version(&self) -> Result<(), Error> {
        let found = self
            .abi
            .lookup(&0u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(Error::bpf("reading the program's version"))?
            .and_then(|value| <[u8; 4]>::try_from(value).ok())
            .map_or(0, u32::from_ne_bytes);
        if found != TAKT_LINK_ABI {
            return Err(Error::OtherVersion {
                found,
                expected: TAKT_LINK_ABI,
            });
        }
        Ok(())
    }

    /// The store holds packets, so the kernel must be told which of its bytes
    /// are packet pointers: by the types of the program itself.
    fn store_map(&self) -> Result<MapHandle, Error> {
        let types = btf::of_map(&self.abi)?;
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
            btf_fd: types.fd.as_raw_fd() as u32,
            btf_key_type_id: types.id_of("u32")?,
            btf_value_type_id: types.id_of("takt_store")?,
            ..Default::default()
        };
        MapHandle::create(
            MapType::Array,
            Some("takt_store"),
            4,
            8,
            TAKT_PACKETS,
            &options,
        )
        .map_err(Error::bpf("creating a link's store"))
    }
}

/// Take away what a takt left that died while loading.
fn sweep(root: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(root).map_err(Error::file(root))? {
        let path = entry.map_err(Error::file(root))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(STAGING) {
            fs::remove_dir_all(&path).map_err(Error::file(&path))?;
        }
    }
    Ok(())
}

fn load_skeleton(
    memory: &mut MaybeUninit<libbpf_rs::OpenObject>,
) -> Result<skel::LinkSkel<'_>, Error> {
    let mut open = skel::LinkSkelBuilder::default()
        .open(memory)
        .map_err(Error::bpf("opening the program"))?;
    for shape in [
        &mut open.maps.link_shape,
        &mut open.maps.plan_shape,
        &mut open.maps.store_shape,
    ] {
        shape
            .set_autocreate(false)
            .map_err(Error::bpf("opening the program"))?;
    }
    open.load()
        .map_err(|source| btf::explain_load_failure(source))
}

fn register_and_pin(dir: &Path) -> Result<(), Error> {
    let mut memory = MaybeUninit::uninit();
    let mut skel = load_skeleton(&mut memory)?;
    skel.maps
        .takt_abi
        .update(
            &0u32.to_ne_bytes(),
            &TAKT_LINK_ABI.to_ne_bytes(),
            MapFlags::ANY,
        )
        .map_err(Error::bpf("marking the program's version"))?;
    let pin = Error::bpf;
    skel.maps
        .takt_links
        .pin(dir.join("takt_links"))
        .map_err(pin("pinning"))?;
    skel.maps
        .takt_plans
        .pin(dir.join("takt_plans"))
        .map_err(pin("pinning"))?;
    skel.maps
        .takt_stores
        .pin(dir.join("takt_stores"))
        .map_err(pin("pinning"))?;
    skel.maps
        .takt_abi
        .pin(dir.join("takt_abi"))
        .map_err(pin("pinning"))?;
    let mut link: Link = skel
        .maps
        .takt
        .attach_struct_ops()
        .map_err(Error::bpf("registering the qdisc"))?;
    link.pin(dir.join("qdisc"))
        .map_err(pin("pinning the qdisc"))
}

/// A map that holds this one value.
fn value_map<T: Plain>(name: &str, value: &T) -> Result<MapHandle, Error> {
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let size = size_of::<T>() as u32;
    let map = MapHandle::create(MapType::Array, Some(name), 4, size, 1, &options)
        .map_err(Error::bpf("creating a link's map"))?;
    map.update(&0u32.to_ne_bytes(), to_bytes(value), MapFlags::ANY)
        .map_err(Error::bpf("filling a link's map"))?;
    Ok(map)
}

fn set_inner(outer: &MapHandle, index: u32, map: &MapHandle) -> Result<(), Error> {
    let fd = map.as_fd().as_raw_fd().to_ne_bytes();
    outer
        .update(&index.to_ne_bytes(), &fd, MapFlags::ANY)
        .map_err(Error::bpf("giving a link its map"))
}

fn inner(outer: &MapHandle, index: u32) -> Result<Option<MapHandle>, Error> {
    let id = outer
        .lookup(&index.to_ne_bytes(), MapFlags::ANY)
        .map_err(Error::bpf("finding a link's map"))?
        .and_then(|value| <[u8; 4]>::try_from(value).ok());
    id.map(|id| MapHandle::from_map_id(u32::from_ne_bytes(id)))
        .transpose()
        .map_err(Error::bpf("opening a link's map"))
}

fn read_inner<T: Plain>(outer: &MapHandle, index: u32) -> Result<Option<Box<T>>, Error> {
    let Some(map) = inner(outer, index)? else {
        return Ok(None);
    };
    let value = map
        .lookup(&0u32.to_ne_bytes(), MapFlags::ANY)
        .map_err(Error::bpf("reading a link's map"))?;
    Ok(value.and_then(|value| from_bytes(&value)))
}
