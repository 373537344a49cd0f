//! The qdisc's program and maps in the kernel: loading and pinning them once
//! per host, and giving every link its own state, plan and store.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    mem::MaybeUninit,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, MapType,
    skel::{OpenSkel, SkelBuilder},
};
use takt_algo::sys::{
    TAKT_HANDLE_MAJOR, TAKT_LINKS, TAKT_STORE_SLOTS, takt_commit_args, takt_plan,
};

use crate::{
    bpf::{
        BpfError, btf, call, load_log,
        pinned::{LINKS, Pinned, SOCKETS},
    },
    error::Error,
    link::{
        memory::{Owner, PortMemory},
        sockets::Known,
    },
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/link.skel.rs"));
}

/// The handle by which a qdisc finds its link.
pub(crate) fn handle_of(index: u32) -> u32 {
    (TAKT_HANDLE_MAJOR + index) << 16
}

/// How long a plan waits for packets of the plan before the last, and how often takt checks.
const DRAIN_PATIENCE: Duration = Duration::from_secs(2);
const DRAIN_LOOK: Duration = Duration::from_millis(5);

/// The loaded program, by its pins.
pub(crate) struct Program {
    pins: Pinned,
    ports: MapHandle,
    stores: MapHandle,
    fast_path: MapHandle,
    known: Known,
    marks: MapHandle,
    registrations: MapHandle,
    registry: MapHandle,
    commit: OwnedFd,
    /// The mapped links, by the map's number, which is not reused as long as the map is mapped.
    /// Mapping a link takes the kernel longer than all other work on it.
    mapped: RefCell<BTreeMap<u32, Arc<PortMemory>>>,
}

impl Program {
    /// The program that an earlier takt loaded; `None` if there is none.
    pub fn open() -> Result<Option<Self>, Error> {
        LINKS.open(Self::from_pins)
    }

    fn from_pins(pins: Pinned) -> Result<Self, Error> {
        Ok(Self {
            ports: pins.map("takt_ports")?,
            stores: pins.map("takt_stores")?,
            fast_path: pins.map("takt_express")?,
            known: Known::from_pins(&pins)?,
            marks: pins.map("takt_marks")?,
            registrations: pins.map("takt_registrations")?,
            registry: pins.map("takt_registry")?,
            commit: pins.program("takt_commit")?,
            pins,
            mapped: RefCell::default(),
        })
    }

    /// Load, register and pin the program.
    pub fn load() -> Result<Self, Error> {
        LINKS.load(register_and_pin, Self::from_pins)
    }

    /// Verify every program against the running kernel, and leave nothing loaded.
    pub fn verify() -> Result<(), Error> {
        let mut memory = MaybeUninit::uninit();
        load_skeleton(&mut memory, None).map(drop)
    }

    /// Remove the pins. The kernel frees the rest with the last qdisc.
    pub fn unload(self) -> Result<(), Error> {
        self.pins.unload()
    }

    /// What is known of sockets, read by the qdisc.
    pub(crate) fn sockets(&self) -> &MapHandle {
        &self.known.sockets
    }

    /// Likewise, with what is known of connections elsewhere.
    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    /// Marks that are due.
    pub(crate) fn marks(&self) -> &MapHandle {
        &self.marks
    }

    /// What was registered at run time.
    pub(crate) fn registrations(&self) -> &MapHandle {
        &self.registrations
    }

    /// The number of registrations.
    pub(crate) fn registry(&self) -> &MapHandle {
        &self.registry
    }

    /// Every link's memory, for programs that read plans.
    pub(crate) fn ports(&self) -> &MapHandle {
        &self.ports
    }

    /// Whether a socket is open, if sockets are watched.
    pub(crate) fn knows_socket(&self, cookie: u64) -> bool {
        let known = self
            .known
            .sockets
            .lookup(&cookie.to_ne_bytes(), MapFlags::ANY);
        matches!(known, Ok(Some(_)))
    }

    /// The directory of the pins.
    pub(crate) fn dir(&self) -> &Path {
        self.pins.dir()
    }

    /// Make a link's state, store and first plan; then its qdisc may be attached.
    pub fn add_link(&self, index: u32, owner: Owner, plan: &takt_plan) -> Result<(), Error> {
        let (map, port) = PortMemory::create(owner, plan)?;
        let store = self.store_map()?;
        let info = map
            .info()
            .map_err(BpfError::of("asking for a map's number"))?;
        set_inner(&self.ports, index, &map)?;
        self.mapped
            .borrow_mut()
            .insert(info.info.id, Arc::new(port));
        set_inner(&self.stores, index, &store)
    }

    /// Stage a plan beside the one in force; [`Self::commit`] swaps them.
    pub fn stage_plan(&self, index: u32, plan: &takt_plan) -> Result<(), Error> {
        let (Some(map), Some(port)) = (inner(&self.ports, index)?, self.port(index)?) else {
            return Ok(());
        };
        // Setting an inner map waits until every program that was running has ended: by then no
        // program reads the plan that the last commit retired.
        set_inner(&self.ports, index, &map)?;
        // The qdisc knows one plan besides the one in force. It would not know any more that
        // packets of the plan before these come first.
        let patience = Instant::now() + DRAIN_PATIENCE;
        while port.has_old_packets() && Instant::now() < patience {
            thread::sleep(DRAIN_LOOK);
        }
        port.write_idle_plan(plan);
        Ok(())
    }

    /// Put the staged plans of these links in force, in a single system call; a packet sees the
    /// old or the new plan of its link, never a mixture.
    pub fn commit(&self, links: &[u32]) -> Result<(), Error> {
        let mut args = takt_commit_args {
            links: links.iter().fold(0, |bits, index| bits | 1 << index),
        };
        call::run(self.commit.as_fd(), &mut args)
            .map_err(BpfError::of("putting the plans in force"))
    }

    /// The link's memory; `None` if there is no such link.
    pub(crate) fn port(&self, index: u32) -> Result<Option<Arc<PortMemory>>, Error> {
        let Some(id) = inner_id(&self.ports, index)? else {
            return Ok(None);
        };
        if let Some(port) = self.mapped.borrow().get(&id) {
            return Ok(Some(Arc::clone(port)));
        }
        let port = Arc::new(PortMemory::open(&of_id(id)?)?);
        self.mapped.borrow_mut().insert(id, Arc::clone(&port));
        Ok(Some(port))
    }

    /// Links that have a state.
    pub fn links(&self) -> Result<Vec<u32>, Error> {
        let mut found = Vec::new();
        for index in 0..TAKT_LINKS {
            if inner_id(&self.ports, index)?.is_some() {
                found.push(index);
            }
        }
        Ok(found)
    }

    /// Remove a link. Its qdisc must be gone.
    pub fn remove_link(&self, index: u32) -> Result<(), Error> {
        if let Some(id) = inner_id(&self.ports, index)? {
            self.mapped.borrow_mut().remove(&id);
        }
        for outer in [&self.stores, &self.ports] {
            match outer.delete(&index.to_ne_bytes()) {
                Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => {
                    return Err(BpfError::of("forgetting a link")(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The store holds packets, so the kernel must know which of its bytes are packet pointers:
    /// from the program's own types.
    fn store_map(&self) -> Result<MapHandle, Error> {
        let types = btf::of_map(&self.fast_path)?;
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
            TAKT_STORE_SLOTS,
            &options,
        )
        .map_err(BpfError::of("creating a link's store"))
    }
}

fn load_skeleton<'a>(
    memory: &'a mut MaybeUninit<libbpf_rs::OpenObject>,
    known: Option<&Known>,
) -> Result<skel::LinkSkel<'a>, Error> {
    load_log::begin();
    let mut open = skel::LinkSkelBuilder::default()
        .open(memory)
        .map_err(BpfError::of("opening the program"))?;
    for shape in [&mut open.maps.port_shape, &mut open.maps.store_shape] {
        shape
            .set_autocreate(false)
            .map_err(BpfError::of("opening the program"))?;
    }
    if let Some(known) = known {
        known.share(
            &mut open.maps.takt_link_sockets,
            &mut open.maps.takt_link_routes,
        )?;
    }
    open.load().map_err(btf::explain_load_failure)
}

fn register_and_pin(dir: &Path) -> Result<(), Error> {
    let mut memory = MaybeUninit::uninit();
    let known = Known::of_loaded(&SOCKETS)?;
    let mut skel = load_skeleton(&mut memory, known.as_ref())?;
    let pin = || BpfError::of("pinning the program");
    let maps = &mut skel.maps;
    maps.takt_link_ports
        .pin(dir.join("takt_ports"))
        .map_err(pin())?;
    maps.takt_link_stores
        .pin(dir.join("takt_stores"))
        .map_err(pin())?;
    maps.takt_link_express
        .pin(dir.join("takt_express"))
        .map_err(pin())?;
    Known::pin(&mut maps.takt_link_sockets, &mut maps.takt_link_routes, dir)?;
    maps.takt_link_marks
        .pin(dir.join("takt_marks"))
        .map_err(pin())?;
    maps.takt_link_dests
        .pin(dir.join("takt_registrations"))
        .map_err(pin())?;
    maps.takt_link_registry
        .pin(dir.join("takt_registry"))
        .map_err(pin())?;
    skel.progs
        .takt_link_commit
        .pin(dir.join("takt_commit"))
        .map_err(pin())?;
    LINKS.retire()?;
    let mut link: Link = skel
        .maps
        .takt_link_ops
        .attach_struct_ops()
        .map_err(BpfError::of("registering the qdisc"))?;
    link.pin(dir.join("qdisc")).map_err(pin())
}

fn set_inner(outer: &MapHandle, index: u32, map: &MapHandle) -> Result<(), Error> {
    let fd = map.as_fd().as_raw_fd().to_ne_bytes();
    outer
        .update(&index.to_ne_bytes(), &fd, MapFlags::ANY)
        .map_err(BpfError::of("giving a link its map"))
}

fn inner(outer: &MapHandle, index: u32) -> Result<Option<MapHandle>, Error> {
    inner_id(outer, index)?.map(of_id).transpose()
}

fn inner_id(outer: &MapHandle, index: u32) -> Result<Option<u32>, Error> {
    let id = outer
        .lookup(&index.to_ne_bytes(), MapFlags::ANY)
        .map_err(BpfError::of("finding a link's map"))?;
    Ok(id
        .and_then(|value| <[u8; 4]>::try_from(value).ok())
        .map(u32::from_ne_bytes))
}

fn of_id(id: u32) -> Result<MapHandle, Error> {
    MapHandle::from_map_id(id).map_err(BpfError::of("opening a link's map"))
}
