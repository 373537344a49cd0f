//! The programs that see a link's packets: what finds the classes of a tree's, and what stamps
//! departure times.

use std::{
    mem::{MaybeUninit, size_of},
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use libbpf_rs::{
    MapCore, MapFlags, MapHandle,
    skel::{OpenSkel, SkelBuilder},
};
use libbpf_sys::bpf_prog_info;
use takt_algo::{
    Plain, from_bytes,
    sys::{
        TAKT_SCALE_ONE, TAKT_SHARED_BITS, takt_activity, takt_edt_class, takt_edt_classes,
        takt_rules,
    },
    to_bytes,
};
use takt_planner::{
    by_port,
    departure::{ClassTerms, Departure},
    framing,
    tree::minor_of,
};

use super::{
    flow,
    sender::{Asking, Maps},
    shape::Shape,
};
use crate::{
    bpf::{BpfError, btf, load_log},
    error::Error,
    os::netlink::header_bytes,
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod tree {
    include!(concat!(env!("OUT_DIR"), "/tree.skel.rs"));
}

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod edt {
    include!(concat!(env!("OUT_DIR"), "/edt.skel.rs"));
}

/// The name of the program that stamps.
const STAMPING: &str = "takt_edt";

/// More maps than a program has.
const MAPS_MOST: usize = 16;

/// The map of the classes' clocks and counters: one value with all of them.
const CLASSES: &str = ".bss.classes";
/// The map of the link's sums of rates.
const ACTIVITY: &str = "takt_edt_active";

/// Load a link's program with these rules, for devices of this type (`ARPHRD_*`). It goes with the
/// last device that uses it. `before`: the one whose clocks go on.
pub(super) fn load(
    shape: &Shape,
    rules: &takt_rules,
    hardware: u16,
    asking: Option<&Asking>,
    before: Option<&OwnedFd>,
) -> Result<OwnedFd, Error> {
    load_log::begin();
    match shape {
        Shape::Tree(_) => load_tree(rules, hardware, asking),
        Shape::Departure(terms) => load_departure(terms, rules, hardware, asking, before),
        Shape::Flow(terms) => flow::load(terms, rules, asking, before),
    }
}

fn load_tree(rules: &takt_rules, hardware: u16, asking: Option<&Asking>) -> Result<OwnedFd, Error> {
    let by_port = by_port(rules);
    let mut memory = MaybeUninit::uninit();
    let mut open = tree::TreeSkelBuilder::default()
        .open(&mut memory)
        .map_err(BpfError::of("opening the program"))?;
    if let Some(terms) = open.maps.rodata_data.as_deref_mut() {
        terms.takt_tree_first_minor = minor_of(0).into();
        terms.takt_skipped_bytes = header_bytes(hardware);
        terms.takt_sender_asked = asking.is_some().into();
        terms.takt_sender_slot = asking.map_or(0, |asking| asking.slot);
        terms.takt_class_sets_dscp = rules.sets_dscp;
        terms.takt_port_decides = by_port.as_ref().map_or(0, |table| table.which);
    }
    if let (Some(data), Some(table)) = (open.maps.bss_data.as_deref_mut(), &by_port) {
        data.takt_port_class.copy_from_slice(&table.class_ids);
    }
    Maps {
        sockets: &mut open.maps.takt_link_sockets,
        routes: &mut open.maps.takt_link_routes,
        labels: &mut open.maps.takt_owner_labels,
    }
    .give(asking)?;
    let skel = open.load().map_err(btf::explain_classifier_failure)?;
    give_rules(&skel.maps.takt_class_rules, rules)?;
    keep(skel.progs.takt_tree.as_fd())
}

fn load_departure(
    terms: &Departure,
    rules: &takt_rules,
    hardware: u16,
    asking: Option<&Asking>,
    before: Option<&OwnedFd>,
) -> Result<OwnedFd, Error> {
    let by_port = by_port(rules);
    let mut memory = MaybeUninit::uninit();
    let mut open = edt::EdtSkelBuilder::default()
        .open(&mut memory)
        .map_err(BpfError::of("opening the program"))?;
    if let Some(data) = open.maps.rodata_data.as_deref_mut() {
        data.takt_skipped_bytes = header_bytes(hardware);
        let line = framing(terms.framing);
        data.takt_edt_framing = edt::types::takt_framing {
            overhead_bytes: line.overhead_bytes,
            by_frame: line.by_frame,
            least_bytes: line.least_bytes,
            cells: line.cells,
        };
        data.takt_edt_link.rate_kbps = terms.rate_kbps;
        data.takt_edt_link.epoch_shift = terms.epoch_shift;
        data.takt_edt_link.is_oversubscribed = terms.is_oversubscribed.into();
        data.takt_edt_horizon_ns = terms.horizon_ns;
        data.takt_edt_drops_beyond = terms.drops_beyond.into();
        data.takt_sender_asked = asking.is_some().into();
        data.takt_sender_slot = asking.map_or(0, |asking| asking.slot);
        data.takt_class_sets_dscp = rules.sets_dscp;
        data.takt_port_decides = by_port.as_ref().map_or(0, |table| table.which);
    }
    if let Some(data) = open.maps.bss_data.as_deref_mut() {
        if let Some(table) = &by_port {
            data.takt_port_class.copy_from_slice(&table.class_ids);
        }
        for class in &terms.classes {
            data.takt_edt_terms[class.id as usize] = params(class);
        }
    }
    Maps {
        sockets: &mut open.maps.takt_link_sockets,
        routes: &mut open.maps.takt_link_routes,
        labels: &mut open.maps.takt_owner_labels,
    }
    .give(asking)?;
    if let Some(before) = before {
        let clocks = map_of(before, CLASSES)?;
        open.maps
            .bss_classes
            .reuse_fd(clocks.as_fd())
            .map_err(BpfError::of("keeping the clocks"))?;
    }
    let skel = open.load().map_err(btf::explain_classifier_failure)?;
    give_rules(&skel.maps.takt_class_rules, rules)?;
    keep(skel.progs.takt_edt.as_fd())
}

fn params(class: &ClassTerms) -> edt::types::takt_shared_params {
    edt::types::takt_shared_params {
        backlog_max: class.backlog_ns << TAKT_SHARED_BITS,
        forwarded_max: class.forwarded_backlog_ns << TAKT_SHARED_BITS,
        multiplier: class.multiplier,
        shift: class.shift,
        rate_kbps: class.rate_kbps,
    }
}

pub(super) fn give_rules(map: &impl MapCore, rules: &takt_rules) -> Result<(), Error> {
    map.update(&0u32.to_ne_bytes(), to_bytes(rules), MapFlags::ANY)
        .map_err(BpfError::of("giving the program its rules"))
}

pub(super) fn keep(program: BorrowedFd) -> Result<OwnedFd, Error> {
    program
        .try_clone_to_owned()
        .map_err(|error| BpfError::of("keeping the program")(error.into()))
}

/// A program that is loaded already, by its number.
pub(crate) fn open(id: u32) -> Result<OwnedFd, Error> {
    // SAFETY: takes a number; returns a descriptor that is ours, or an error.
    let fd = unsafe { libbpf_sys::bpf_prog_get_fd_by_id(id) };
    match fd {
        // SAFETY: just opened, and no other code owns it.
        0.. => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        errno => Err(BpfError::of("opening a link's program")(
            libbpf_rs::Error::from_raw_os_error(-errno),
        )),
    }
}

/// The number by which the kernel knows it.
pub(crate) fn id_of(program: &OwnedFd) -> Result<u32, Error> {
    Ok(Info::for_program(program)?.id)
}

/// Whether the program of this number is a takt's that stamps. One that has just gone is not.
pub(super) fn is_stamping(id: u32) -> bool {
    let info = open(id).and_then(|program| Info::for_program(&program));
    info.is_ok_and(|info| info.name == STAMPING)
}

/// What the kernel tells of a program.
struct Info {
    id: u32,
    name: String,
    maps: Vec<u32>,
}

impl Info {
    fn for_program(program: &OwnedFd) -> Result<Self, Error> {
        let mut maps = [0u32; MAPS_MOST];
        let mut info = bpf_prog_info {
            map_ids: maps.as_mut_ptr() as u64,
            nr_map_ids: MAPS_MOST as u32,
            ..bpf_prog_info::default()
        };
        let mut bytes = size_of::<bpf_prog_info>() as u32;
        // SAFETY: a descriptor that lives until the call returns, a struct of the size that is said,
        // and an array of as many numbers as it says.
        let done = unsafe {
            libbpf_sys::bpf_obj_get_info_by_fd(
                program.as_raw_fd(),
                (&raw mut info).cast(),
                &raw mut bytes,
            )
        };
        match done {
            0.. => {
                let count = (info.nr_map_ids as usize).min(MAPS_MOST);
                let name = info.name.iter().take_while(|byte| **byte != 0);
                Ok(Self {
                    id: info.id,
                    name: name.map(|byte| char::from(*byte as u8)).collect(),
                    maps: maps[..count].to_vec(),
                })
            }
            errno => Err(BpfError::of("asking for a program's number")(
                libbpf_rs::Error::from_raw_os_error(-errno),
            )),
        }
    }
}

/// One of a program's maps.
pub(super) fn map_of(program: &OwnedFd, name: &str) -> Result<MapHandle, Error> {
    let failed = || BpfError::of("finding the clocks of a program");
    for id in Info::for_program(program)?.maps {
        let map = MapHandle::from_map_id(id).map_err(failed())?;
        if map.name() == name {
            return Ok(map);
        }
    }
    Err(failed()(libbpf_rs::Error::from_raw_os_error(libc::ENOENT)))
}

/// A map's only value.
pub(super) fn read<T: Plain>(map: &MapHandle) -> Result<Option<Box<T>>, Error> {
    let value = map
        .lookup(&0u32.to_ne_bytes(), MapFlags::ANY)
        .map_err(BpfError::of("reading the state of classes"))?;
    Ok(value.and_then(|value| from_bytes(&value)))
}

/// The state of a link with departure times.
pub(super) struct Clocks {
    /// Of its classes, in their order.
    pub classes: Vec<takt_edt_class>,
    /// By what their costs are multiplied: 1 unless the link is oversubscribed.
    pub scale: f64,
}

impl Clocks {
    pub fn read(program: u32, classes: &[ClassTerms]) -> Result<Self, Error> {
        let program = open(program)?;
        let all = read::<takt_edt_classes>(&map_of(&program, CLASSES)?)?;
        let classes = classes.iter().map(|class| {
            let class = all
                .as_ref()
                .and_then(|all| all.classes.get(class.id as usize));
            class.copied().unwrap_or_default()
        });
        let activity = map_of(&program, ACTIVITY)?;
        let activity = read::<takt_activity>(&activity)?;
        let scale = activity.map_or(0, |activity| activity.scale);
        Ok(Self {
            classes: classes.collect(),
            scale: scale.max(TAKT_SCALE_ONE.into()) as f64 / f64::from(TAKT_SCALE_ONE),
        })
    }
}

/// The descriptor by which requests name it.
pub(super) fn descriptor_of(program: &OwnedFd) -> i32 {
    program.as_raw_fd()
}
