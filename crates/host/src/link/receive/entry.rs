//! The program on a device's ingress: one instance for each device, attached by a pin.

use std::{
    fs,
    mem::MaybeUninit,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use libbpf_rs::{
    Link,
    query::{LinkInfo, LinkTypeInfo},
    skel::{OpenSkel, SkelBuilder},
};

use crate::{
    bpf::{BpfError, btf, load_log, pins},
    error::Error,
    link::{LinkError, program::Program},
    os::OsError,
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/receive.skel.rs"));
}

/// The directory of these pins, within that of the links.
const RECEIVE: &str = "receive";

/// The pin of the program on the ingress of a link's device.
pub(crate) struct Entry(PathBuf);

impl Entry {
    /// That of a link, whether it exists or not.
    pub(crate) fn of(program: &Program, link: u32) -> Self {
        Self::pinned(program.dir(), link)
    }

    /// Likewise, in the directory of the links' pins.
    pub(crate) fn pinned(dir: &Path, link: u32) -> Self {
        Self(dir.join(RECEIVE).join(link.to_string()))
    }

    /// The links that have one.
    pub(crate) fn list(program: &Program) -> Result<Vec<u32>, Error> {
        let dir = program.dir().join(RECEIVE);
        if !dir.exists() {
            return Ok(Vec::new());
        }
        let mut links = Vec::new();
        for entry in fs::read_dir(&dir).map_err(OsError::file(&dir))? {
            let name = entry.map_err(OsError::file(&dir))?.file_name();
            links.extend(name.to_str().and_then(|name| name.parse::<u32>().ok()));
        }
        Ok(links)
    }

    /// Load it for this link and attach it to a device of this namespace.
    pub(crate) fn attach(&self, program: &Program, link: u32, device: u32) -> Result<(), Error> {
        let mut memory = MaybeUninit::uninit();
        let skel = load(&mut memory, link, Some(program))?;
        let attached = attach(&skel, device)?;
        self.remove()?;
        pins::make_dir_within(&program.dir().join(RECEIVE))?;
        let pin = std::ffi::CString::new(self.0.as_os_str().as_encoded_bytes()).unwrap_or_default();
        // SAFETY: a live descriptor and a terminated string.
        match unsafe { libbpf_sys::bpf_obj_pin(attached.as_raw_fd(), pin.as_ptr()) } {
            0.. => pins::restrict_pin(&self.0),
            errno => Err(BpfError::of("pinning the program")(
                libbpf_rs::Error::from_raw_os_error(-errno),
            )),
        }
    }

    /// Whether it is attached to this device.
    pub(crate) fn stands_on(&self, device: u32) -> bool {
        let info = Link::open(&self.0).and_then(|link| LinkInfo::from_fd(link.as_fd()));
        matches!(info.map(|info| info.info), Ok(LinkTypeInfo::Tcx(tcx)) if tcx.ifindex == device)
    }

    /// Detach it from its device.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(OsError::file(&self.0)(error))
            }
            _ => Ok(()),
        }
    }

    /// Load it and drop it again.
    pub(crate) fn load() -> Result<(), Error> {
        let mut memory = MaybeUninit::uninit();
        load(&mut memory, 0, None).map(drop)
    }

    /// Load it and attach it to a device for a moment.
    pub(crate) fn verify(device: u32) -> Result<(), Error> {
        let mut memory = MaybeUninit::uninit();
        let skel = load(&mut memory, 0, None)?;
        attach(&skel, device).map(drop)
    }
}

fn load<'a>(
    memory: &'a mut MaybeUninit<libbpf_rs::OpenObject>,
    link: u32,
    program: Option<&Program>,
) -> Result<skel::ReceiveSkel<'a>, Error> {
    let opening = || BpfError::of("opening the program");
    load_log::begin();
    let mut open = skel::ReceiveSkelBuilder::default()
        .open(memory)
        .map_err(opening())?;
    open.maps
        .port_shape
        .set_autocreate(false)
        .map_err(opening())?;
    if let Some(terms) = open.maps.rodata_data.as_deref_mut() {
        terms.takt_link_index = link;
    }
    if let Some(program) = program {
        let sharing = || BpfError::of("sharing the maps of links");
        open.maps
            .takt_link_ports
            .reuse_fd(program.ports().as_fd())
            .map_err(sharing())?;
        open.maps
            .takt_link_sockets
            .reuse_fd(program.sockets().as_fd())
            .map_err(sharing())?;
        open.maps
            .takt_link_dests
            .reuse_fd(program.registrations().as_fd())
            .map_err(sharing())?;
        open.maps
            .takt_link_registry
            .reuse_fd(program.registry().as_fd())
            .map_err(sharing())?;
    }
    open.load().map_err(btf::explain_load_failure)
}

/// After the programs that are attached to the ingress already.
fn attach(skel: &skel::ReceiveSkel, device: u32) -> Result<OwnedFd, Error> {
    let program = skel.progs.takt_receive.as_fd().as_raw_fd();
    // SAFETY: a live program; without options, the kernel's defaults hold.
    let fd = unsafe {
        libbpf_sys::bpf_link_create(
            program,
            device as i32,
            libbpf_sys::BPF_TCX_INGRESS,
            std::ptr::null(),
        )
    };
    if fd < 0 {
        return Err(LinkError::NoIngress {
            source: libbpf_rs::Error::from_raw_os_error(-fd),
        }
        .into());
    }
    // SAFETY: just opened, and no other code owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
