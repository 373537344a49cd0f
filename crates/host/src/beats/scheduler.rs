//! The scheduler's programs and maps in the kernel: loading and pinning them, and
//! giving them tables.

use std::{
    fs,
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    ptr, thread,
    time::{Duration, Instant},
};

use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle,
    skel::{OpenSkel, SkelBuilder},
};
use nix::time::{ClockId, clock_getres};
use takt_algo::{
    Plain, from_bytes,
    sys::{
        TAKT_TASKS, takt_beats, takt_beats_commit_args, takt_cpu, takt_job_page, takt_join_args,
        takt_member, takt_member_rule, takt_table, takt_task, takt_task_params,
    },
    to_bytes, zeroed_box,
};

use super::{
    BeatsError,
    calibrate::calibrate,
    ended::{Kernel, told},
    image::Image,
    llc::Llcs,
};
use crate::{
    bpf::{
        BpfError, btf, call, load_log,
        pinned::{BEATS, Pinned},
    },
    error::Error,
    os::OsError,
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/beats.skel.rs"));
}

/// A CPU takes new tables at the end of a frame, which is at most four seconds long.
const SETTLE_PATIENCE: Duration = Duration::from_secs(9);
const SETTLE_LOOK: Duration = Duration::from_millis(2);

/// The loaded scheduler, by its pins.
pub(crate) struct Scheduler {
    pins: Pinned,
    beats: MapHandle,
    tables: MapHandle,
    tasks: MapHandle,
    params: MapHandle,
    members: MapHandle,
    rules: MapHandle,
    cpus: MapHandle,
    commit: OwnedFd,
    reserve: OwnedFd,
    recognise: OwnedFd,
    calibrate: OwnedFd,
}

impl Scheduler {
    /// The scheduler that an earlier takt loaded; `None` if there is none.
    pub fn open() -> Result<Option<Self>, Error> {
        BEATS.open(Self::of)
    }

    fn of(pins: Pinned) -> Result<Self, Error> {
        Ok(Self {
            beats: pins.map_of::<u32, takt_beats>("takt_beats")?,
            tables: pins.map_of::<u32, takt_table>("takt_tables")?,
            tasks: pins.map_of::<u32, takt_task>("takt_tasks")?,
            params: pins.map_of::<u32, takt_task_params>("takt_params")?,
            members: pins.map_of::<u32, takt_member>("takt_members")?,
            rules: pins.map_of::<u32, takt_member_rule>("takt_rules")?,
            cpus: pins.map_of::<u32, takt_cpu>("takt_cpus")?,
            commit: pins.program("takt_commit")?,
            reserve: pins.program("takt_seat")?,
            recognise: pins.program("takt_recognise")?,
            calibrate: pins.program("takt_calibrate")?,
            pins,
        })
    }

    /// Load and register it with these tables. From then on it schedules every thread of the
    /// host that no realtime class has.
    pub fn load(image: &Image) -> Result<Self, Error> {
        let scheduler = BEATS.load(|dir| register_and_pin(dir, image), Self::of)?;
        scheduler.commit(FIRST_GENERATION)?;
        calibrate(scheduler.calibrate.as_fd());
        Ok(scheduler)
    }

    /// Verify every program against the running kernel, and leave nothing loaded.
    pub fn verify() -> Result<(), Error> {
        let mut memory = MaybeUninit::uninit();
        load_skeleton(&mut memory).map(drop)
    }

    /// Remove the pins, and with them the scheduler, whichever version's it is: every thread
    /// goes back to the kernel's own.
    pub fn unload() -> Result<(), Error> {
        BEATS.unload()?;
        // The kernel ends a scheduler asynchronously, and accepts no other one until then.
        let _is_gone = Kernel::without_ours();
        Ok(())
    }

    /// Stage tables beside those in force; [`Self::commit`] swaps them.
    pub fn stage(&self, image: &Image, generation: u32) -> Result<(), Error> {
        self.settle()?;
        write(
            &Maps {
                tables: &self.tables,
                params: &self.params,
                tasks: &self.tasks,
                members: &self.members,
                rules: &self.rules,
                beats: &self.beats,
            },
            image,
            generation,
        )
    }

    /// Put the tables of this generation in force, on each CPU at the end of its frame.
    pub fn commit(&self, generation: u32) -> Result<(), Error> {
        let mut args = takt_beats_commit_args { generation, pad: 0 };
        call::run(self.commit.as_fd(), &mut args)
            .map_err(BpfError::of("putting the tables in force"))
    }

    /// Free the reservations of tasks that are removed.
    pub fn vacate(&self, members: impl IntoIterator<Item = u32>) -> Result<(), Error> {
        for member in members {
            let _no_thread = self.reserve(0, member)?;
            put(&self.members, member, &takt_member::default())?;
        }
        Ok(())
    }

    /// Reserve a member for a thread; thread 0 frees the reservation.
    pub fn reserve(&self, tid: u32, member: u32) -> Result<Result<(), i32>, Error> {
        let mut args = takt_join_args {
            tid,
            member,
            ..Default::default()
        };
        call::run(self.reserve.as_fd(), &mut args)
            .map_err(BpfError::of("reserving a member for a thread"))?;
        Ok(match args.result {
            0 => Ok(()),
            error => Err(-error),
        })
    }

    /// Give existing threads the reservations that rules name. New threads, and threads that
    /// change their names, are matched by the scheduler.
    pub fn recognise_all(&self) -> Result<(), Error> {
        let threads = fs::read_dir("/proc").map_err(OsError::file("/proc"))?;
        let threads = threads
            .flatten()
            .filter_map(|process| fs::read_dir(process.path().join("task")).ok())
            .flat_map(Iterator::flatten)
            .filter_map(|thread| thread.file_name().to_str()?.parse().ok());
        for tid in threads {
            let mut args = takt_join_args {
                tid,
                ..Default::default()
            };
            call::run(self.recognise.as_fd(), &mut args)
                .map_err(BpfError::of("looking for the tasks' threads"))?;
        }
        Ok(())
    }

    /// The scheduler's counters and state.
    pub fn state(&self) -> Result<Box<takt_beats>, Error> {
        get(&self.beats, 0)
    }

    pub fn generation(&self) -> Result<u32, Error> {
        Ok(self.state()?.generation)
    }

    pub fn task(&self, id: u32) -> Result<Box<takt_task>, Error> {
        get(&self.tasks, id)
    }

    pub fn member(&self, at: u32) -> Result<Box<takt_member>, Error> {
        get(&self.members, at)
    }

    pub fn cpu(&self, cpu: u32) -> Result<Box<takt_cpu>, Error> {
        get(&self.cpus, cpu)
    }

    /// One of a CPU's two tables.
    pub fn table(&self, cpu: u32, half: u32) -> Result<Box<takt_table>, Error> {
        get(&self.tables, cpu * 2 + half)
    }

    /// What tells members about their jobs. It is frozen, so a process that maps it can only
    /// read it. A read-only descriptor could not be mapped at all.
    pub fn job_pages(&self) -> Result<OwnedFd, Error> {
        let doing = "opening the job pages";
        let map = self.pins.map_of::<u32, takt_job_page>("takt_jobs")?;
        let shared = map.as_fd().try_clone_to_owned();
        shared.map_err(|error| BpfError::of(doing)(error.into()))
    }

    /// Wait until no CPU uses tables older than those in force.
    fn settle(&self) -> Result<(), Error> {
        let state = self.state()?;
        let patience = Instant::now() + SETTLE_PATIENCE;
        let mut cpu = 0;
        while cpu < state.cpu_count && Instant::now() < patience {
            let found = self.cpu(cpu)?;
            // A CPU without a timer has no tables either.
            if found.generation == state.generation || found.armed_ns == 0 {
                cpu += 1;
            } else {
                thread::sleep(SETTLE_LOOK);
            }
        }
        Ok(())
    }
}

pub(crate) const FIRST_GENERATION: u32 = 2;

/// The maps that a plan is written to, of a new or a pinned scheduler.
struct Maps<'a, M: MapCore> {
    tables: &'a M,
    params: &'a M,
    tasks: &'a M,
    members: &'a M,
    rules: &'a M,
    beats: &'a M,
}

fn write<M: MapCore>(maps: &Maps<'_, M>, image: &Image, generation: u32) -> Result<(), Error> {
    let half = generation & 1;
    let mut state: Box<takt_beats> = get(maps.beats, 0)?;
    for cpu in 0..state.cpu_count {
        let empty;
        let table = match image.tables.iter().find(|(of, _)| *of == cpu) {
            Some((_, table)) => table,
            None => {
                empty = zeroed_box::<takt_table>();
                &empty
            }
        };
        put(maps.tables, cpu * 2 + half, &**table)?;
    }
    for (id, params) in &image.params {
        put(maps.params, half * TAKT_TASKS + id, params)?;
    }
    for (at, rule) in &image.rules {
        put(maps.rules, *at, rule)?;
    }
    for (at, member) in &image.members {
        let known: Box<takt_member> = get(maps.members, *at)?;
        let same = takt_member { tid: 0, ..*known } == *member;
        if !same {
            // The member was free and its task is new, so write the other half as well.
            if let Some((_, params)) = image.params.iter().find(|(id, _)| *id == member.task) {
                put(maps.params, (1 - half) * TAKT_TASKS + member.task, params)?;
            }
            if member.ordinal == 0 {
                put(maps.tasks, member.task, &*zeroed_box::<takt_task>())?;
            }
            put(maps.members, *at, member)?;
        }
    }
    let members = image.members.iter().map(|(at, _)| at + 1).max();
    state.member_count = state.member_count.max(members.unwrap_or_default());
    state.rule_count = state.member_count;
    put(maps.beats, 0, &*state)
}

fn put<M: MapCore, T: Plain>(map: &M, key: u32, value: &T) -> Result<(), Error> {
    let mut bytes = to_bytes(value).to_vec();
    bytes.resize(map.value_size() as usize, 0);
    map.update(&key.to_ne_bytes(), &bytes, MapFlags::ANY)
        .map_err(BpfError::of("writing the scheduler's tables"))
}

fn get<M: MapCore, T: Plain>(map: &M, key: u32) -> Result<Box<T>, Error> {
    let doing = "reading the scheduler's state";
    let bytes = map
        .lookup(&key.to_ne_bytes(), MapFlags::ANY)
        .map_err(BpfError::of(doing))?
        .unwrap_or_default();
    from_bytes(&bytes)
        .ok_or_else(|| BpfError::of(doing)(libbpf_rs::Error::from_raw_os_error(libc::EINVAL)))
}

/// Whether the kernel tells a scheduler of the limits of control groups (Linux 6.17).
pub(super) fn keeps_cpu_max() -> bool {
    btf::kernel_has_member("sched_ext_ops", "cgroup_set_bandwidth")
}

/// Whether a processor may go without ticks while one thread runs there (`nohz_full=`).
fn ticks_can_stop() -> bool {
    let cpus = fs::read_to_string("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    cpus.starts_with(|first: char| first.is_ascii_digit())
}

/// The coarse clock advances with the tick. 0: not known.
fn tick_period_ns() -> u64 {
    clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).map_or(0, |tick| tick.tv_nsec() as u64)
}

fn load_skeleton(
    memory: &mut MaybeUninit<libbpf_rs::OpenObject>,
) -> Result<skel::BeatsSkel<'_>, Error> {
    load_log::begin();
    let doing = "opening the scheduler";
    let mut open = skel::BeatsSkelBuilder::default()
        .open(memory)
        .map_err(BpfError::of(doing))?;
    let cpus = libbpf_rs::num_possible_cpus().map_err(BpfError::of(doing))? as u32;
    let maps = &mut open.maps;
    for (map, entries) in [
        (&mut maps.takt_beats_alarms, cpus),
        (&mut maps.takt_beats_cpus, cpus),
        (&mut maps.takt_beats_starve, cpus),
        (&mut maps.takt_beats_tables, 2 * cpus),
    ] {
        map.set_max_entries(entries).map_err(BpfError::of(doing))?;
    }
    if let Some(constants) = open.maps.rodata_data.as_deref_mut() {
        if ticks_can_stop() {
            constants.beat_slice_ns = u64::MAX;
        }
        constants.tick_period_ns = tick_period_ns();
    }
    if !keeps_cpu_max() {
        let ops = open.struct_ops.takt_beats_ops_mut();
        ops.cgroup_init = ptr::null_mut();
        ops.cgroup_exit = ptr::null_mut();
        ops.cgroup_set_bandwidth = ptr::null_mut();
    }
    open.load().map_err(btf::explain_scheduler_failure)
}

fn register_and_pin(dir: &Path, image: &Image) -> Result<(), Error> {
    let mut memory = MaybeUninit::uninit();
    let mut skel = load_skeleton(&mut memory)?;
    let maps = &mut skel.maps;
    let cpu_count = maps.takt_beats_cpus.max_entries();
    let llcs = Llcs::find(cpu_count);
    let state = takt_beats {
        cpu_count,
        llc_count: llcs.count,
        ..Default::default()
    };
    put(&maps.takt_beats, 0, &state)?;
    for (cpu, llc) in (0..).zip(llcs.of_cpus) {
        let state = takt_cpu {
            llc,
            ..Default::default()
        };
        put(&maps.takt_beats_cpus, cpu, &state)?;
    }
    write(
        &Maps {
            tables: &maps.takt_beats_tables,
            params: &maps.takt_beats_params,
            tasks: &maps.takt_beats_tasks,
            members: &maps.takt_beats_members,
            rules: &maps.takt_beats_rules,
            beats: &maps.takt_beats,
        },
        image,
        FIRST_GENERATION,
    )?;
    let jobs = MapHandle::try_from(&maps.takt_beats_jobs);
    jobs.and_then(|jobs| jobs.freeze()).map_err(BpfError::of(
        "closing the job pages for all but the scheduler",
    ))?;
    let pin = || BpfError::of("pinning the scheduler");
    for (map, name) in [
        (&mut maps.takt_beats, "takt_beats"),
        // Never opened again, but a map's timers end when user space closes its last reference.
        (&mut maps.takt_beats_alarms, "takt_alarms"),
        (&mut maps.takt_beats_watch, "takt_watch"),
        (&mut maps.takt_beats_limits, "takt_limits"),
        (&mut maps.takt_beats_tables, "takt_tables"),
        (&mut maps.takt_beats_tasks, "takt_tasks"),
        (&mut maps.takt_beats_params, "takt_params"),
        (&mut maps.takt_beats_members, "takt_members"),
        (&mut maps.takt_beats_rules, "takt_rules"),
        (&mut maps.takt_beats_jobs, "takt_jobs"),
        (&mut maps.takt_beats_cpus, "takt_cpus"),
    ] {
        map.pin(dir.join(name)).map_err(pin())?;
    }
    let programs = &mut skel.progs;
    for (program, name) in [
        (&mut programs.takt_beats_commit, "takt_commit"),
        (&mut programs.takt_beats_reserve, "takt_seat"),
        (&mut programs.takt_beats_recognise, "takt_recognise"),
        (&mut programs.takt_beats_calibrate, "takt_calibrate"),
    ] {
        program.pin(dir.join(name)).map_err(pin())?;
    }
    let doing = "registering the scheduler";
    for (program, name) in [
        (&mut programs.takt_beats_renamed, "renamed"),
        (&mut programs.takt_beats_died, "exited"),
        (&mut programs.takt_beats_irqin, "irq_entry"),
        (&mut programs.takt_beats_irqout, "irq_exit"),
        (&mut programs.takt_beats_rxin, "receive_entry"),
        (&mut programs.takt_beats_rxout, "receive_exit"),
    ] {
        let mut link = program.attach().map_err(BpfError::of(doing))?;
        link.pin(dir.join(name)).map_err(pin())?;
    }
    // The kernel runs one scheduler at a time, and the next one is ready by now.
    BEATS.retire()?;
    let mut link: Link = skel
        .maps
        .takt_beats_ops
        .attach_struct_ops()
        .map_err(BpfError::of(doing))?;
    // If its beginning fails, the kernel registers it all the same, and tells it that it has ended.
    let state: Box<takt_beats> = get(&skel.maps.takt_beats, 0)?;
    if let Some(ended) = told(&state) {
        return Err(BeatsError::NotStarted { ended }.into());
    }
    link.pin(dir.join("scheduler")).map_err(pin())
}
