//! Has the kernel keep a device's programs, by pins.
//!
//! What gives sockets their rates back is pinned before the first rate is set, and goes last. So a
//! takt that dies in between leaves what the next one needs.

use std::{
    ffi::CString,
    fs,
    io::{ErrorKind, Read},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use libbpf_rs::{Iter, Link, MapCore, MapFlags, ProgramMut};
use libbpf_sys::BPF_CGROUP_SOCK_OPS;
use takt_algo::{
    sys::{takt_paced_link, takt_rules},
    to_bytes,
};
use takt_planner::flow::SocketRates;

use super::program::{LINK, give, load_others};
use crate::{
    bpf::{BpfError, pins},
    error::Error,
    os::{OsError, cgroup},
    stock::{program::map_of, record::Place},
};

/// The pins. What sees connections begin, on the root of control groups; it comes last.
const EVENT: &str = "event";
/// What sees them end.
const STATE: &str = "state";
/// What gives sockets their applications' rates back, when it is read.
const BACK: &str = "back";
/// What gives those that exist their rates, when it is read.
const TAKE: &str = "take";
/// What reports connections.
pub(super) const COUNT: &str = "count";

const SETTING: &str = "setting the rates of sockets";

/// The pins of one device's programs.
pub(crate) struct Hold<'a> {
    /// The directory of such pins.
    pins: &'static str,
    place: &'a Place,
}

impl<'a> Hold<'a> {
    /// Those that carry out a link.
    pub fn of_link(place: &'a Place) -> Self {
        Self {
            pins: pins::FLOW,
            place,
        }
    }

    /// Those that keep segments short, beside a link on any backend.
    pub fn of_segments(place: &'a Place) -> Self {
        Self {
            pins: pins::SEGMENTS,
            place,
        }
    }

    /// Give connections on the device their rates, those that exist and new ones. `turns`: they have the
    /// rates of another policy, by programs of the same maps.
    pub fn attach(
        &self,
        who_slot: Option<u32>,
        terms: &SocketRates,
        program: &OwnedFd,
        turns: bool,
    ) -> Result<(), Error> {
        let mut memory = MaybeUninit::uninit();
        let skel = load_others(&mut memory, program, who_slot)?;
        if !turns {
            // As when `/run` was emptied.
            self.release()?;
        }
        self.name_device(terms, program)?;
        let progs = &skel.progs;
        if turns {
            update(&self.dir()?.join(EVENT), program)?;
            let take = self.dir()?.join(TAKE);
            // An older takt has not pinned it.
            if take.exists() {
                update(&take, &progs.takt_flow_take)?;
            }
        } else {
            let links = [
                (&progs.takt_flow_state, STATE),
                (&progs.takt_flow_back, BACK),
                (&progs.takt_flow_take, TAKE),
                (&progs.takt_flow_count, COUNT),
            ];
            self.make(&links, program)?;
        }
        let take = progs
            .takt_flow_take
            .attach()
            .map_err(BpfError::of(SETTING))?;
        run(&take).map(drop)
    }

    /// Give connections on the device other rates, by the programs that stand.
    pub fn turn(
        &self,
        terms: &SocketRates,
        rules: &takt_rules,
        program: &OwnedFd,
    ) -> Result<(), Error> {
        self.name_device(terms, program)?;
        give(program, rules, &terms.classes)?;
        run(&open(&self.dir()?.join(TAKE))?).map(drop)
    }

    fn name_device(&self, terms: &SocketRates, program: &OwnedFd) -> Result<(), Error> {
        let device = takt_paced_link {
            netns_cookie: self.place.netns_cookie,
            ifindex: self.place.ifindex,
            header_bytes: terms.header_bytes,
        };
        map_of(program, LINK)?
            .update(&0u32.to_ne_bytes(), to_bytes(&device), MapFlags::ANY)
            .map_err(BpfError::of(SETTING))
    }

    /// The number of the program that sees connections begin; `None`: there is none.
    pub fn attached(&self) -> Result<Option<u32>, Error> {
        let pin = self.dir()?.join(EVENT);
        if !pin.exists() {
            return Ok(None);
        }
        let info = Link::open(pin).and_then(|link| link.info());
        let info = info.map_err(BpfError::of("reading which program sees connections"))?;
        Ok(Some(info.prog_id))
    }

    /// Give sockets their applications' rates back, and take all of it away. It may not be there.
    /// Precondition: this is the place's namespace, or that is gone.
    pub fn release(&self) -> Result<(), Error> {
        let Ok(dir) = self.dir() else {
            // Without pins there is nothing.
            return Ok(());
        };
        if !dir.exists() {
            return Ok(());
        }
        let event = dir.join(EVENT);
        match fs::remove_file(&event) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(OsError::file(&event)(error));
            }
            _ => {}
        }
        run(&open(&dir.join(BACK))?)?;
        pins::vanish(&dir)?;
        // Other links may still have theirs there.
        let _ = dir.parent().map(fs::remove_dir);
        Ok(())
    }

    pub(super) fn dir(&self) -> Result<PathBuf, Error> {
        Ok(pins::dir(self.pins)?.0.join(self.place.name()))
    }

    fn make(&self, links: &[(&ProgramMut, &str)], program: &OwnedFd) -> Result<(), Error> {
        let pinning = || BpfError::of("pinning the program");
        let dir = self.dir()?;
        pins::make_dir_within(&pins::dir(self.pins)?.0)?;
        pins::appear(&dir, |aside| {
            for (program, name) in links {
                let mut link = program.attach().map_err(BpfError::of(SETTING))?;
                link.pin(aside.join(name)).map_err(pinning())?;
            }
            Ok(())
        })?;
        let event = see_connections(program)?;
        let pin = dir.join(EVENT);
        let path = c_path(&pin)?;
        // SAFETY: a descriptor and a terminated string that live until the call returns.
        let done = unsafe { libbpf_sys::bpf_obj_pin(event.as_raw_fd(), path.as_ptr()) };
        check(done, "pinning the program")?;
        pins::restrict_pin(&pin)
    }
}

/// What an iterator writes when it is run over this namespace's connections.
pub(super) fn run(link: &Link) -> Result<Vec<u8>, Error> {
    let mut written = Vec::new();
    Iter::new(link)
        .map_err(BpfError::of("looking at connections"))?
        .read_to_end(&mut written)
        .map_err(|error| BpfError::of("looking at connections")(error.into()))?;
    Ok(written)
}

pub(super) fn open(pin: &Path) -> Result<Link, Error> {
    Link::open(pin).map_err(BpfError::of("opening a pinned program"))
}

/// Beside other programs there, which stay.
fn see_connections(program: &OwnedFd) -> Result<OwnedFd, Error> {
    let cgroup = cgroup::root()?;
    // SAFETY: descriptors that live until the call returns; no options.
    let link = unsafe {
        libbpf_sys::bpf_link_create(
            program.as_raw_fd(),
            cgroup.as_raw_fd(),
            BPF_CGROUP_SOCK_OPS,
            std::ptr::null(),
        )
    };
    check(link, "attaching to the root of control groups")?;
    // SAFETY: just opened, and no other code owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(link) })
}

/// Have a pinned link call another program from now on.
fn update(pin: &Path, program: &impl AsFd) -> Result<(), Error> {
    let path = c_path(pin)?;
    // SAFETY: a terminated string that lives until the call returns.
    let link = unsafe { libbpf_sys::bpf_obj_get(path.as_ptr()) };
    check(link, "opening a pinned program")?;
    // SAFETY: just opened, and no other code owns it.
    let link = unsafe { OwnedFd::from_raw_fd(link) };
    // SAFETY: descriptors that live until the call returns; no options.
    let done = unsafe {
        libbpf_sys::bpf_link_update(
            link.as_raw_fd(),
            program.as_fd().as_raw_fd(),
            std::ptr::null(),
        )
    };
    check(done, "changing the rates of sockets")
}

fn c_path(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| OsError::file(path)(ErrorKind::InvalidInput.into()))
}

fn check(done: i32, doing: &'static str) -> Result<(), Error> {
    match done {
        0.. => Ok(()),
        errno => Err(BpfError::of(doing)(libbpf_rs::Error::from_raw_os_error(
            -errno,
        ))),
    }
}
