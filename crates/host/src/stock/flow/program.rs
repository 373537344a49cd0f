//! Loading the programs that set rates on sockets.

use std::{
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
};

use libbpf_rs::{
    MapCore, MapFlags, OpenMapMut, OpenObject,
    skel::{OpenSkel, SkelBuilder},
};
use takt_algo::sys::takt_rules;
use takt_planner::flow::{FlowTerms, SocketRates};

use crate::{
    bpf::{BpfError, btf, load_log},
    error::Error,
    stock::{
        program::{give_rules, keep, map_of, read},
        sender::{Asking, Maps},
    },
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
pub(super) mod skel {
    include!(concat!(env!("OUT_DIR"), "/flow.skel.rs"));
}

const RULES: &str = "takt_flow_rules";
const RATES: &str = "takt_flow_rates";
/// The device. This and the next two outlive policies.
pub(super) const LINK: &str = "takt_flow_link";
/// What was counted of classes.
pub(super) const CLASSES: &str = "takt_flow_class";
/// The state of connections.
const SOCKETS: &str = "takt_flow_sock";

/// The kernel keeps so many letters of a map's name.
const SHOWN: usize = 15;

/// Load the program that sees connections begin, which has the maps that the others share.
/// `before`: that of the policy before, whose connections and counters go on.
pub(crate) fn load(
    terms: &SocketRates,
    rules: &takt_rules,
    asking: Option<&Asking>,
    before: Option<&OwnedFd>,
) -> Result<OwnedFd, Error> {
    let mut memory = MaybeUninit::uninit();
    let mut open = open(&mut memory, asking.map(|asking| asking.slot))?;
    Maps {
        sockets: &mut open.maps.takt_link_sockets,
        routes: &mut open.maps.takt_link_routes,
        labels: &mut open.maps.takt_owner_labels,
    }
    .give(asking)?;
    if let Some(before) = before {
        reuse(&mut open.maps.takt_flow_link, before, LINK)?;
        reuse(&mut open.maps.takt_flow_class, before, CLASSES)?;
        reuse(&mut open.maps.takt_flow_sock, before, SOCKETS)?;
    }
    let progs = &mut open.progs;
    for later in [
        &mut progs.takt_flow_take,
        &mut progs.takt_flow_state,
        &mut progs.takt_flow_back,
        &mut progs.takt_flow_count,
    ] {
        later.set_autoload(false);
    }
    let skel = open.load().map_err(btf::explain_rates_failure)?;
    give_rules(&skel.maps.takt_flow_rules, rules)?;
    give_rates(&skel.maps.takt_flow_rates, &terms.classes)?;
    keep(skel.progs.takt_flow_event.as_fd())
}

/// Have a loaded program find classes and rates by these. Rates of other classes stay: no rule leads there.
/// Connections that begin meanwhile may have the rate of another class.
pub(super) fn give(
    program: &OwnedFd,
    rules: &takt_rules,
    classes: &[FlowTerms],
) -> Result<(), Error> {
    give_rules(&map_of(program, RULES)?, rules)?;
    give_rates(&map_of(program, RATES)?, classes)
}

fn give_rates(map: &impl MapCore, classes: &[FlowTerms]) -> Result<(), Error> {
    for class in classes {
        let rate = class.bytes_per_s.to_ne_bytes();
        map.update(&class.id.to_ne_bytes(), &rate, MapFlags::ANY)
            .map_err(BpfError::of("giving the program its rates"))?;
    }
    Ok(())
}

/// The rules by which a loaded program finds classes.
pub(crate) fn rules_of(program: &OwnedFd) -> Result<Box<takt_rules>, Error> {
    read(&map_of(program, RULES)?)?.ok_or_else(|| {
        let missing = libbpf_rs::Error::from_raw_os_error(libc::ENOENT);
        BpfError::of("reading the rules of a program")(missing)
    })
}

/// Load the others with the maps of that one. `who_slot`: where its answers are, if its rules ask.
pub(super) fn load_others<'a>(
    memory: &'a mut MaybeUninit<OpenObject>,
    program: &OwnedFd,
    who_slot: Option<u32>,
) -> Result<skel::FlowSkel<'a>, Error> {
    let mut open = open(memory, who_slot)?;
    open.progs.takt_flow_event.set_autoload(false);
    let maps = &mut open.maps;
    for (map, name) in [
        (&mut maps.takt_flow_rules, RULES),
        (&mut maps.takt_flow_rates, RATES),
        (&mut maps.takt_flow_link, LINK),
        (&mut maps.takt_flow_class, CLASSES),
        (&mut maps.takt_flow_sock, SOCKETS),
    ] {
        reuse(map, program, name)?;
    }
    let owners = [
        (&mut maps.takt_link_sockets, "takt_link_sockets"),
        (&mut maps.takt_owner_labels, "takt_owner_labels"),
    ];
    for (map, name) in owners {
        match who_slot {
            Some(_) => reuse(map, program, &name[..SHOWN])?,
            None => leave_out(map)?,
        }
    }
    leave_out(&mut maps.takt_link_routes)?;
    open.load().map_err(btf::explain_rates_failure)
}

fn open(
    memory: &mut MaybeUninit<OpenObject>,
    who_slot: Option<u32>,
) -> Result<skel::OpenFlowSkel<'_>, Error> {
    load_log::begin();
    let mut open = skel::FlowSkelBuilder::default()
        .open(memory)
        .map_err(BpfError::of("opening the program"))?;
    if let Some(data) = open.maps.rodata_data.as_deref_mut() {
        data.takt_flow_asked = who_slot.is_some().into();
        data.takt_flow_slot = who_slot.unwrap_or_default();
    }
    Ok(open)
}

fn reuse(map: &mut OpenMapMut, program: &OwnedFd, name: &str) -> Result<(), Error> {
    let known = map_of(program, name)?;
    map.reuse_fd(known.as_fd())
        .map_err(BpfError::of("sharing the state of connections"))
}

fn leave_out(map: &mut OpenMapMut) -> Result<(), Error> {
    map.set_autocreate(false)
        .map_err(BpfError::of("opening the program"))
}
