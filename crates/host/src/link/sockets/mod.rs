//! Who owns a socket: loading the programs that find it out (`bpf/owner`), and setting a
//! policy's questions. The qdisc and the classifiers of other backends read the answers.
//!
//! They are loaded while any policy asks about owners, or has a class that tells flows apart: a
//! flow ends when its socket is forgotten. Every namespace's policy has two slots for its
//! questions, and its plans name the slot in force, so questions change in the same instant as
//! plans do.

mod known;
mod questions;
mod slot;

use std::{
    collections::BTreeSet,
    io::Read,
    mem::MaybeUninit,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::Path,
    time::Duration,
};

use libbpf_rs::{
    Iter, IterOpts, Link, MapCore, MapFlags, MapHandle, ProgramMut,
    skel::{OpenSkel, SkelBuilder},
};
use nix::time::{ClockId, clock_gettime};
use takt_algo::{
    from_bytes,
    sys::{
        TAKT_ELSEWHERE, TAKT_PER_FLOW_CLOCKS, TAKT_SLOTS, takt_answer, takt_clear_args, takt_plan,
        takt_question, takt_watch,
    },
    to_bytes,
};
use takt_policy::{Gate, Link as PolicyLink};

use crate::{
    bpf::{
        BpfError, btf, call, load_log,
        pinned::{LINKS, Pinned, SOCKETS},
    },
    error::Error,
    os::{cgroup, namespace},
};

pub(crate) use known::{Known, share};
pub use questions::NoUser;
pub(crate) use questions::{Asked, Term};
pub(crate) use slot::{Slot, SlotInUse};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/owner.skel.rs"));
}

/// The watch of namespaces without a policy of their own.
const ELSEWHERE: u64 = TAKT_ELSEWHERE as u64;

/// Whether the qdisc looks at sockets when it follows this plan.
pub(crate) fn needed_by(plan: &takt_plan) -> bool {
    plan.rules.need_who != 0
        || plan.gated != 0
        || plan
            .class_params
            .iter()
            .any(|class| u32::from(class.per_flow) == TAKT_PER_FLOW_CLOCKS)
}

/// The programs that watch sockets, by their pins.
pub(crate) struct Sockets {
    /// What the answers are read from.
    pub known: Known,
    /// With sockets, for the answers of those that listen.
    pub labels: MapHandle,
    questions: MapHandle,
    watches: MapHandle,
    survey: Link,
    clear: OwnedFd,
    forget: OwnedFd,
}

impl Sockets {
    /// What an earlier takt loaded; `None` if it was not needed.
    pub(crate) fn open() -> Result<Option<Self>, Error> {
        SOCKETS.open(Self::from_pins)
    }

    fn from_pins(pins: Pinned) -> Result<Self, Error> {
        Ok(Self {
            known: Known::from_pins(&pins)?,
            labels: pins.map("takt_labels")?,
            questions: pins.map("takt_questions")?,
            watches: pins.map("takt_watches")?,
            survey: Link::open(pins.path("takt_survey"))
                .map_err(BpfError::of("opening a pinned program"))?,
            clear: pins.program("takt_clear")?,
            forget: pins.program("takt_forget")?,
        })
    }

    /// Open them, or load, attach and pin them.
    pub(crate) fn open_or_load() -> Result<Self, Error> {
        match Self::open()? {
            Some(sockets) => Ok(sockets),
            None => SOCKETS.load(attach_and_pin, Self::from_pins),
        }
    }

    /// Whether a policy asks about the owners of sockets or the priority of their tasks, or must
    /// know when sockets close.
    pub(crate) fn are_watched_for(links: &[PolicyLink]) -> bool {
        links.iter().flat_map(|link| &link.classes).any(|class| {
            class.per_flow
                || class.gate == Some(Gate::Sender)
                || class.matches.iter().any(|m| m.questions().next().is_some())
        })
    }

    /// Verify every program against the running kernel, and leave nothing loaded.
    pub(crate) fn verify() -> Result<(), Error> {
        let mut memory = MaybeUninit::uninit();
        load_skeleton(&mut memory, None)?;
        cgroup::root().map(drop)
    }

    /// Have every socket of a namespace, existing or new, answer these questions in this slot.
    pub(crate) fn ask(&self, netns_cookie: u64, slot: Slot, asked: &Asked) -> Result<(), Error> {
        let watch = self.watch(netns_cookie)?;
        if slot.in_force && watch.is_some() && self.asked(netns_cookie, slot.index)? == *asked {
            return Ok(());
        }
        // In this order, no answer to an earlier question outlives the survey.
        self.withdraw(netns_cookie, &[slot.index])?;
        self.run(&self.clear, netns_cookie, slot.index)?;
        for (term, who) in asked.iter() {
            let question = term.in_namespace(netns_cookie);
            let mut answer = self.answer(&question)?.unwrap_or_default();
            answer.who[slot.index as usize] = who;
            self.questions
                .update(to_bytes(&question), to_bytes(&answer), MapFlags::ANY)
                .map_err(BpfError::of("asking about sockets"))?;
        }
        let kinds = self.all_questions()?;
        let kinds = kinds
            .iter()
            .filter(|question| question.netns_cookie == netns_cookie)
            .fold(0, |kinds, question| {
                kinds | 1 << Term::from(question).kind()
            });
        let watch = takt_watch {
            netns_cookie,
            generation: next_generation(watch),
            kinds,
        };
        // Sockets of containers answer the questions of the host's own namespace.
        let elsewhere = namespace::is_initial().then_some(ELSEWHERE);
        for key in [Some(netns_cookie), elsewhere].into_iter().flatten() {
            self.watches
                .update(&key.to_ne_bytes(), to_bytes(&watch), MapFlags::ANY)
                .map_err(BpfError::of("watching sockets"))?;
        }
        self.survey()
    }

    /// End what no link in force needs, of all namespaces: the watching of a namespace, or all of it
    /// if no namespace needs it.
    pub(crate) fn settle(needed: &BTreeSet<u64>) -> Result<(), Error> {
        let Some(sockets) = Self::open()? else {
            return Ok(());
        };
        if needed.is_empty() {
            SOCKETS.unload()?;
            return sockets.run(&sockets.forget, 0, 0);
        }
        let mut ended = false;
        for key in sockets.watches.keys() {
            let Ok(key) = <[u8; 8]>::try_from(key) else {
                continue;
            };
            let watch = sockets.watch(u64::from_ne_bytes(key))?;
            let Some(netns_cookie) = watch.map(|watch| watch.netns_cookie) else {
                continue;
            };
            if needed.contains(&netns_cookie) {
                continue;
            }
            ended = true;
            sockets
                .watches
                .delete(&key)
                .map_err(BpfError::of("ending the watching of sockets"))?;
            let slots: Vec<u32> = (0..TAKT_SLOTS).collect();
            sockets.withdraw(netns_cookie, &slots)?;
            sockets.run(&sockets.forget, netns_cookie, 0)?;
        }
        // Sockets of a namespace without a policy answer the host's questions again.
        if ended && sockets.watch(ELSEWHERE)?.is_some() {
            sockets.survey()
        } else {
            Ok(())
        }
    }

    fn watch(&self, netns_cookie: u64) -> Result<Option<Box<takt_watch>>, Error> {
        let found = self
            .watches
            .lookup(&netns_cookie.to_ne_bytes(), MapFlags::ANY)
            .map_err(BpfError::of("looking up a namespace's sockets"))?;
        Ok(found.and_then(|bytes| from_bytes(&bytes)))
    }

    fn answer(&self, question: &takt_question) -> Result<Option<takt_answer>, Error> {
        let found = self
            .questions
            .lookup(to_bytes(question), MapFlags::ANY)
            .map_err(BpfError::of("looking up a question"))?;
        Ok(found
            .and_then(|bytes| from_bytes::<takt_answer>(&bytes))
            .map(|answer| *answer))
    }

    fn all_questions(&self) -> Result<Vec<takt_question>, Error> {
        Ok(self
            .questions
            .keys()
            .filter_map(|key| from_bytes::<takt_question>(&key))
            .map(|question| *question)
            .collect())
    }

    /// The present questions of a namespace's slot.
    fn asked(&self, netns_cookie: u64, slot: u32) -> Result<Asked, Error> {
        let mut asked = Asked::default();
        for question in self.all_questions()? {
            let who = self.answer(&question)?.map_or(0, |a| a.who[slot as usize]);
            if question.netns_cookie == netns_cookie && who != 0 {
                asked.add(Term::from(&question), who);
            }
        }
        Ok(asked)
    }

    /// Remove the questions of these slots.
    fn withdraw(&self, netns_cookie: u64, slots: &[u32]) -> Result<(), Error> {
        for question in self.all_questions()? {
            if question.netns_cookie != netns_cookie {
                continue;
            }
            let mut answer = self.answer(&question)?.unwrap_or_default();
            for slot in slots {
                answer.who[*slot as usize] = 0;
            }
            let key = to_bytes(&question);
            if answer == takt_answer::default() {
                self.questions.delete(key)
            } else {
                self.questions.update(key, to_bytes(&answer), MapFlags::ANY)
            }
            .map_err(BpfError::of("withdrawing a question"))?;
        }
        Ok(())
    }

    /// Have the existing sockets answer.
    fn survey(&self) -> Result<(), Error> {
        let mut iter =
            Iter::new(&self.survey).map_err(BpfError::of("starting a survey of sockets"))?;
        let mut nothing = [0; 64];
        // Reading drives the iterator, which has no output.
        while iter
            .read(&mut nothing)
            .map_err(|error| BpfError::of("surveying sockets")(error.into()))?
            > 0
        {}
        Ok(())
    }

    fn run(&self, function: &OwnedFd, netns_cookie: u64, slot: u32) -> Result<(), Error> {
        let mut args = takt_clear_args {
            netns_cookie,
            slot,
            ..Default::default()
        };
        call::run(function.as_fd(), &mut args)
            .map_err(BpfError::of("clearing what is known of sockets"))
    }
}

/// Sockets keep the generation of questions that they answered, longer than the last one is
/// remembered here: so take it from a clock.
fn next_generation(before: Option<Box<takt_watch>>) -> u32 {
    let now = clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from);
    let before = before.map_or(0, |watch| watch.generation);
    let mut generation = now.as_millis() as u32;
    while generation == before || generation == 0 {
        generation = generation.wrapping_add(1);
    }
    generation
}

fn load_skeleton<'a>(
    memory: &'a mut MaybeUninit<libbpf_rs::OpenObject>,
    known: Option<&Known>,
) -> Result<skel::OwnerSkel<'a>, Error> {
    load_log::begin();
    let mut open = skel::OwnerSkelBuilder::default()
        .open(memory)
        .map_err(BpfError::of("opening the program"))?;
    if let Some(known) = known {
        known.share(
            &mut open.maps.takt_link_sockets,
            &mut open.maps.takt_link_routes,
        )?;
    }
    let (accept, other) = if accepts_with_struct() {
        (
            &mut open.progs.takt_owner_accept,
            &mut open.progs.takt_owner_old_accept,
        )
    } else {
        (
            &mut open.progs.takt_owner_old_accept,
            &mut open.progs.takt_owner_accept,
        )
    };
    accept.set_autoload(true);
    other.set_autoload(false);
    open.load().map_err(btf::explain_watching_failure)
}

/// Whether the kernel's function that accepts connections has its arguments in a struct, as from
/// Linux 6.10 on.
fn accepts_with_struct() -> bool {
    btf::kernel_has_member("proto_accept_arg", "flags")
}

fn attach_and_pin(dir: &Path) -> Result<(), Error> {
    let cgroup = cgroup::root()?;
    let mut memory = MaybeUninit::uninit();
    let known = Known::of_loaded(&LINKS)?;
    let mut skel = load_skeleton(&mut memory, known.as_ref())?;
    let pin = || BpfError::of("pinning the program");

    let maps = &mut skel.maps;
    Known::pin(&mut maps.takt_link_sockets, &mut maps.takt_link_routes, dir)?;
    maps.takt_owner_labels
        .pin(dir.join("takt_labels"))
        .map_err(pin())?;
    maps.takt_owner_questions
        .pin(dir.join("takt_questions"))
        .map_err(pin())?;
    maps.takt_owner_watches
        .pin(dir.join("takt_watches"))
        .map_err(pin())?;
    let programs = &mut skel.progs;
    for (function, name) in [
        (&mut programs.takt_owner_clear, "takt_clear"),
        (&mut programs.takt_owner_forget, "takt_forget"),
    ] {
        function.pin(dir.join(name)).map_err(pin())?;
    }
    // What a takt left that died between detaching and forgetting.
    call::run(
        programs.takt_owner_forget.as_fd(),
        &mut takt_clear_args::default(),
    )
    .map_err(BpfError::of("clearing what is known of sockets"))?;

    // Attach the programs that forget first, so that nothing stays for ever.
    let on_cgroup = |program: &ProgramMut| program.attach_cgroup(cgroup.as_raw_fd());
    let on_kernel = |program: &ProgramMut| program.attach();
    let survey = |program: &ProgramMut| program.attach_iter_with_opts(IterOpts::None);
    type Attach<'a> = &'a dyn Fn(&ProgramMut) -> libbpf_rs::Result<Link>;
    let accept = if accepts_with_struct() {
        &programs.takt_owner_accept
    } else {
        &programs.takt_owner_old_accept
    };
    let links: [(&ProgramMut, &str, Attach); 10] = [
        (&programs.takt_owner_release, "takt_release", &on_cgroup),
        (&programs.takt_owner_state, "takt_tcp_state", &on_kernel),
        (&programs.takt_owner_create, "takt_create", &on_cgroup),
        (&programs.takt_owner_con4, "takt_connect4", &on_cgroup),
        (&programs.takt_owner_con6, "takt_connect6", &on_cgroup),
        (&programs.takt_owner_msg4, "takt_sendmsg4", &on_cgroup),
        (&programs.takt_owner_msg6, "takt_sendmsg6", &on_cgroup),
        (&programs.takt_owner_event, "takt_tcp_event", &on_cgroup),
        (accept, "takt_accept", &on_kernel),
        (&programs.takt_owner_survey, "takt_survey", &survey),
    ];
    for (program, name, attach) in links {
        let mut link = attach(program).map_err(BpfError::of("attaching to sockets"))?;
        link.pin(dir.join(name)).map_err(pin())?;
    }
    SOCKETS.retire()
}
