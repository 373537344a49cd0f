//! A program on the ingress or egress of a link's device: one instance for each link, attached by a pin.

use std::{
    fs,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use libbpf_rs::{
    Link,
    query::{LinkInfo, LinkTypeInfo},
};

use crate::{
    bpf::{BpfError, pins},
    error::Error,
    link::LinkError,
    os::OsError,
};

/// Where packets meet a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    Ingress,
    Egress,
}

/// The pin of an instance.
pub(crate) struct Hook(PathBuf);

impl Hook {
    /// That of a link, whether it exists or not. `dir` is where pins of this program are.
    pub fn for_link(dir: &Path, link: u32) -> Self {
        Self(dir.join(link.to_string()))
    }

    /// With a name of its own.
    pub fn at(pin: PathBuf) -> Self {
        Self(pin)
    }

    /// The links that have one.
    pub fn list(dir: &Path) -> Result<Vec<u32>, Error> {
        if !dir.exists() {
            return Ok(Vec::new());
        }
        let mut links = Vec::new();
        for entry in fs::read_dir(dir).map_err(OsError::file(dir))? {
            let name = entry.map_err(OsError::file(dir))?.file_name();
            links.extend(name.to_str().and_then(|name| name.parse::<u32>().ok()));
        }
        Ok(links)
    }

    /// Attach this program to a device of this namespace, in the place of an earlier instance.
    pub fn attach(&self, program: BorrowedFd, device: u32, point: Point) -> Result<(), Error> {
        let attached = attach(program, device, point)?;
        self.remove()?;
        if let Some(dir) = self.0.parent() {
            pins::make_dir_within(dir)?;
        }
        let pin = std::ffi::CString::new(self.0.as_os_str().as_encoded_bytes()).unwrap_or_default();
        // SAFETY: a live descriptor and a terminated string.
        match unsafe { libbpf_sys::bpf_obj_pin(attached.as_raw_fd(), pin.as_ptr()) } {
            0.. => pins::restrict_pin(&self.0),
            errno => Err(BpfError::of("pinning the program")(
                libbpf_rs::Error::from_raw_os_error(-errno),
            )),
        }
    }

    /// Whether it is attached to this device. Links cannot be opened on a read-only file system:
    /// there it is enough that the pin is left.
    pub fn is_attached_to(&self, device: u32) -> bool {
        let Ok(link) = Link::open(&self.0) else {
            return self.0.exists() && pins::is_writable().is_ok_and(|is_writable| !is_writable);
        };
        let info = LinkInfo::from_fd(link.as_fd()).map(|info| info.info);
        matches!(info, Ok(LinkTypeInfo::Tcx(tcx)) if tcx.ifindex == device)
    }

    /// Detach it from its device.
    pub fn remove(&self) -> Result<(), Error> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(OsError::file(&self.0)(error))
            }
            _ => Ok(()),
        }
    }
}

/// After the programs that are attached there already, until the result is dropped.
pub(crate) fn attach(program: BorrowedFd, device: u32, point: Point) -> Result<OwnedFd, Error> {
    let kind = match point {
        Point::Ingress => libbpf_sys::BPF_TCX_INGRESS,
        Point::Egress => libbpf_sys::BPF_TCX_EGRESS,
    };
    // SAFETY: a live program; without options, the kernel's defaults hold.
    let fd = unsafe {
        libbpf_sys::bpf_link_create(program.as_raw_fd(), device as i32, kind, std::ptr::null())
    };
    if fd < 0 {
        let source = libbpf_rs::Error::from_raw_os_error(-fd);
        return Err(match point {
            Point::Ingress => LinkError::NoIngress { source }.into(),
            Point::Egress => BpfError::of("attaching a program to the device's egress")(source),
        });
    }
    // SAFETY: just opened, and no other code owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
