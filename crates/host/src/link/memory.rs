//! One link's memory, shared by the kernel's programs and this process.

use std::{
    hash::{BuildHasher, RandomState},
    mem::offset_of,
    num::NonZeroUsize,
    ops::RangeInclusive,
    os::fd::AsFd,
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering, fence},
};

use libbpf_rs::{MapHandle, MapType};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use serde::{Deserialize, Serialize};
use takt_algo::{
    Plain, Stations, Upload,
    sys::{
        TAKT_FLOW_FIRST, TAKT_FLOWS_MAX, takt_departures, takt_entity, takt_entity_sum,
        takt_framing, takt_gap, takt_gap_length, takt_line_rate, takt_link_lay_out, takt_plan,
        takt_port,
    },
    zeroed_box,
};

use crate::{
    bpf::BpfError,
    error::Error,
    link::counted::{Counted, Departures},
    os::{OsError, clock, lacking::Lacking},
};

/// The device of a link's state; no other device can carry its qdisc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub ifindex: u32,
    pub netns_cookie: u64,
}

/// A summary of a link at one moment, without reading all of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outline {
    pub owner: Owner,
    pub attached: bool,
    pub gone: bool,
    /// `TAKT_PACING_*`
    pub pacing: u32,
    /// Counts the policies applied to this link.
    pub generation: u64,
    /// Some of its classes yield to more important tasks.
    pub gated: bool,
    pub rate_bps: u64,
    pub framing: takt_framing,
    /// Whether a rule asks for registered traffic.
    pub asks_registered: bool,
    /// The mark of this link's templates.
    pub secret: u32,
    pub queued_packets: u32,
    /// It is the receive side of another link.
    pub receives: bool,
    /// Its receive side, by link and by device; 0: none.
    pub receive_link: u32,
    pub receive_ifindex: u32,
    /// `TAKT_STATIONS_*`
    pub stations: u32,
}

/// What a link has counted for one length of gap frames.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LengthCounters {
    pub stocked: u32,
    pub spent: u32,
    pub missed: u32,
}

/// The state of a link's gap mode, without its lengths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GapCounters {
    pub state: GapState,
    pub stocked: u32,
    pub frames: u64,
    pub bytes: u64,
    pub missed: u64,
    pub fallbacks: u64,
    /// … of these, since the processor fell behind.
    pub behind: u64,
    pub refused: u64,
}

/// What paces a link that is to fill gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GapState {
    /// Gaps are sent, or would be if packets were waiting.
    Ready,
    /// The timer, until there are enough templates.
    FeederBehind,
    /// The timer, until a second after the processor fell behind.
    ProcessorBehind,
}

/// A mapped `struct takt_port`.
pub(crate) struct PortMemory(NonNull<takt_port>);

const SIZE: NonZeroUsize = NonZeroUsize::new(size_of::<takt_port>()).unwrap();

fn no_room(error: libbpf_rs::Error, bytes: u64) -> Error {
    let doing = "creating a link's map";
    match Lacking::of_map(bytes, &error) {
        Some(lacking) => OsError::Lacking {
            doing: doing.to_owned(),
            lacking,
        }
        .into(),
        None => BpfError::of(doing)(error),
    }
}

impl PortMemory {
    /// A new link's memory, and its map: an empty state and this plan in force.
    pub(crate) fn create(owner: Owner, plan: &takt_plan) -> Result<(MapHandle, Self), Error> {
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
            map_flags: libbpf_sys::BPF_F_MMAPABLE,
            ..Default::default()
        };
        let size = size_of::<takt_port>() as u32;
        let map = MapHandle::create(MapType::Array, Some("takt_port"), 4, size, 1, &options)
            .map_err(|error| no_room(error, size.into()))?;
        let created = Self::open(&map)?;
        // SAFETY: the mapping is valid, all zero, and no other code uses it yet.
        unsafe {
            let port = created.0.as_ptr();
            takt_link_lay_out(&raw mut (*port).link);
            (*port).link.secret = secret();
            (*port).link.ifindex = owner.ifindex;
            (*port).link.netns_cookie = owner.netns_cookie;
            (*port).gap.secret = (secret() as u32).max(1);
            copy_raw(plan, (&raw mut (*port).plans).cast::<takt_plan>());
        }
        Ok((map, created))
    }

    pub(crate) fn open(map: &MapHandle) -> Result<Self, Error> {
        // SAFETY: a new mapping, placed by the kernel, of a map that is at
        // least this large.
        let memory = unsafe {
            mmap(
                None,
                SIZE,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_SHARED,
                map.as_fd(),
                0,
            )
        };
        memory.map(|memory| Self(memory.cast())).map_err(|errno| {
            BpfError::of("mapping a link's memory")(std::io::Error::from(errno).into())
        })
    }

    pub(crate) fn counted(&self) -> Counted {
        // SAFETY: the mapping lives as long as self, and no array is read beyond its end.
        unsafe {
            let link = &raw const (*self.0.as_ptr()).link;
            let (order, flows) = (&raw const (*link).order, &raw const (*link).flows);
            let flow_count = (&raw const (*flows).fresh)
                .read_volatile()
                .min(TAKT_FLOWS_MAX);
            let entity_count = TAKT_FLOW_FIRST + flow_count;
            let mut stations = zeroed_box();
            copy_raw(&raw const (*flows).stations, &mut *stations);
            Counted {
                queued_packets: (&raw const (*link).queued_packets).read_volatile(),
                blocked: (&raw const (*order).blocked).read_volatile(),
                entities: summed(copied((&raw const (*order).entity).cast(), entity_count)),
                flows: copied((&raw const (*flows).flow).cast(), flow_count),
                stations,
                live_flows: (&raw const (*flows).live).read_volatile(),
                created_flows: (&raw const (*flows).created).read_volatile(),
                forgotten_flows: (&raw const (*flows).forgotten).read_volatile(),
                no_room_packets: (&raw const (*flows).no_room).read_volatile(),
                departures: departures(&raw const (*link).departures),
                thinning_paused_until_ns: (&raw const (*link).acks.paused_until_ns).read_volatile(),
            }
        }
    }

    /// The plan in force.
    pub(crate) fn plan(&self) -> Box<takt_plan> {
        let active = self.active();
        let mut plan = zeroed_box();
        // SAFETY: as in counted; there are two plans, and active is 0 or 1.
        unsafe {
            let plans = (&raw const (*self.0.as_ptr()).plans).cast::<takt_plan>();
            copy_raw(plans.add(active), &mut *plan);
        }
        plan
    }

    pub(crate) fn outline(&self) -> Outline {
        let active = self.active();
        let port = self.0.as_ptr();
        // SAFETY: the mapping lives as long as self; each field is read as it
        // is at some moment.
        unsafe {
            let plan = (&raw const (*port).plans).cast::<takt_plan>().add(active);
            Outline {
                owner: Owner {
                    ifindex: (&raw const (*port).link.ifindex).read_volatile(),
                    netns_cookie: (&raw const (*port).link.netns_cookie).read_volatile(),
                },
                attached: (&raw const (*port).link.was_attached).read_volatile() != 0,
                gone: (&raw const (*port).link.gone).read_volatile() != 0,
                pacing: (&raw const (*plan).pacing).read_volatile(),
                generation: (&raw const (*plan).generation).read_volatile(),
                gated: (&raw const (*plan).gated).read_volatile() != 0,
                rate_bps: (&raw const (*plan).link.rate_bps).read_volatile(),
                framing: (&raw const (*plan).framing).read_volatile(),
                asks_registered: (&raw const (*plan).registered).read_volatile() != 0,
                secret: (&raw const (*port).gap.secret).read_volatile(),
                queued_packets: (&raw const (*port).link.queued_packets).read_volatile(),
                receives: (&raw const (*plan).receives).read_volatile() != 0,
                receive_link: (&raw const (*plan).receive_link).read_volatile(),
                receive_ifindex: (&raw const (*plan).receive_ifindex).read_volatile(),
                stations: (&raw const (*plan).stations).read_volatile(),
            }
        }
    }

    /// Whether the qdisc is on its device.
    pub(crate) fn is_attached(&self) -> bool {
        // SAFETY: an aligned, mapped field.
        unsafe { (&raw const (*self.0.as_ptr()).attached).read_volatile() != 0 }
    }

    /// The link's table of stations.
    pub(crate) fn stations(&self) -> Stations<'_> {
        // SAFETY: within the mapping, which lives as long as self.
        unsafe { Stations::at(&raw mut (*self.0.as_ptr()).link.flows.stations) }
    }

    /// The last acknowledgements of uploads through the link.
    pub(crate) fn uploads(&self) -> Vec<Upload> {
        // SAFETY: within the mapping, which lives as long as self.
        unsafe { Upload::all(&raw mut (*self.0.as_ptr()).link.uploads) }
    }

    /// Thin no acknowledgements until then.
    pub(crate) fn pause_thinning(&self, until_ns: u64) {
        // SAFETY: an aligned, mapped field, which only user space writes.
        unsafe { (&raw mut (*self.0.as_ptr()).link.acks.paused_until_ns).write_volatile(until_ns) }
    }

    /// The line has this rate until then, whatever becomes of this process.
    pub(crate) fn set_line_rate(&self, line: &takt_line_rate) {
        // SAFETY: aligned, mapped fields, which only user space writes. The qdisc may read some of
        // them before and some after: any combination is a rate within the bounds, for a while.
        unsafe {
            let to = &raw mut (*self.0.as_ptr()).link.line;
            (&raw mut (*to).bps).write_volatile(line.bps);
            (&raw mut (*to).added_ns).write_volatile(line.added_ns);
            (&raw mut (*to).why).write_volatile(line.why);
            (&raw mut (*to).until_ns).write_volatile(line.until_ns);
        }
    }

    /// The rate that was set last, and until when it counts.
    pub(crate) fn line_rate(&self) -> takt_line_rate {
        // SAFETY: as above.
        unsafe {
            let line = &raw const (*self.0.as_ptr()).link.line;
            takt_line_rate {
                bps: (&raw const (*line).bps).read_volatile(),
                until_ns: (&raw const (*line).until_ns).read_volatile(),
                added_ns: (&raw const (*line).added_ns).read_volatile(),
                why: (&raw const (*line).why).read_volatile(),
                pad: 0,
            }
        }
    }

    /// A plan has come: a rate beyond its bounds no longer counts.
    pub(crate) fn settle_line_rate(&self) {
        let bounds = self.line_bounds_bps();
        let line = self.line_rate();
        if line.bps != 0 && !bounds.is_some_and(|bounds| bounds.contains(&line.bps)) {
            self.set_line_rate(&takt_line_rate::default());
        }
    }

    /// Of the plan in force; `None`: its rate is fixed.
    pub(crate) fn line_bounds_bps(&self) -> Option<RangeInclusive<u64>> {
        let active = self.active();
        // SAFETY: as in outline.
        let (min_bps, max_bps) = unsafe {
            let plans = (&raw const (*self.0.as_ptr()).plans).cast::<takt_plan>();
            let plan = plans.add(active);
            (
                (&raw const (*plan).line_min_bps).read_volatile(),
                (&raw const (*plan).line_max_bps).read_volatile(),
            )
        };
        (min_bps != 0).then_some(min_bps..=max_bps)
    }

    pub(crate) fn gap(&self) -> GapCounters {
        let gap = self.gap_state();
        // SAFETY: as above.
        unsafe {
            let enough = (&raw const (*gap).enough).read_volatile();
            let lacking = (&raw const (*gap).lacking).read_volatile();
            let stocked = (&raw const (*gap).stocked).read_volatile();
            let flowing = (&raw const (*gap).flowing).read_volatile() != 0;
            let resumes_ns = (&raw const (*gap).resumes_ns).read_volatile();
            let state = if flowing {
                GapState::Ready
            } else if clock::monotonic_ns() < resumes_ns {
                GapState::ProcessorBehind
            } else if enough > 0 && lacking == 0 && stocked >= enough {
                GapState::Ready
            } else {
                GapState::FeederBehind
            };
            GapCounters {
                state,
                stocked,
                frames: (&raw const (*gap).frames).read_volatile(),
                bytes: (&raw const (*gap).bytes).read_volatile(),
                missed: (&raw const (*gap).missed).read_volatile(),
                fallbacks: (&raw const (*gap).fallbacks).read_volatile(),
                behind: (&raw const (*gap).behind).read_volatile(),
                refused: (&raw const (*gap).refused).read_volatile(),
            }
        }
    }

    /// The link's counters of a length; zeros for a length that is too long.
    pub(crate) fn gap_counters(&self, len: u32) -> LengthCounters {
        if len >= takt_algo::sys::TAKT_GAP_LENS {
            return LengthCounters::default();
        }
        // SAFETY: as above, and within the array.
        unsafe {
            let lengths = (&raw const (*self.gap_state()).lengths).cast::<takt_gap_length>();
            let length = lengths.add(len as usize);
            LengthCounters {
                stocked: (&raw const (*length).stocked).read_volatile().into(),
                spent: (&raw const (*length).spent).read_volatile(),
                missed: (&raw const (*length).missed).read_volatile(),
            }
        }
    }

    /// From now on another feeder sends the templates.
    pub(crate) fn renew_gap(&self) {
        let gap = self.gap_state();
        // SAFETY: as above; only the one feeder writes this.
        unsafe {
            let helper = (&raw const (*gap).helper).read_volatile();
            (&raw mut (*gap).helper).write_volatile(helper.wrapping_add(1));
        }
    }

    /// Set the link's longest gap frame, and how many templates are enough.
    pub(crate) fn set_gap_terms(&self, longest: u32, enough: u32) {
        let gap = self.gap_state();
        // SAFETY: as above; only user space writes these.
        unsafe {
            (&raw mut (*gap).longest).write_volatile(longest);
            (&raw mut (*gap).enough).write_volatile(enough);
        }
    }

    fn gap_state(&self) -> *mut takt_gap {
        // SAFETY: within the mapping.
        unsafe { &raw mut (*self.0.as_ptr()).gap }
    }

    /// Write the plan that is not in force.
    pub(crate) fn write_idle_plan(&self, plan: &takt_plan) {
        let idle = 1 - self.active();
        // SAFETY: as above; while old packets are left the qdisc may still ask
        // the idle plan where others of their flows went, which is an index
        // within bounds whatever it reads.
        unsafe {
            let port = self.0.as_ptr();
            copy_raw(plan, (&raw mut (*port).plans).cast::<takt_plan>().add(idle));
        }
        fence(Ordering::Release);
    }

    /// Whether packets are queued that an earlier plan or earlier registrations put there.
    pub(crate) fn has_old_packets(&self) -> bool {
        let active = self.active();
        // SAFETY: aligned, mapped fields.
        unsafe {
            let port = self.0.as_ptr();
            let link = &raw const (*port).link;
            let plan = (&raw const (*port).plans).cast::<takt_plan>().add(active);
            let generation = (&raw const (*plan).generation).read_volatile() as u32;
            // The qdisc notices a new plan when a packet comes.
            let noted = (&raw const (*link).plan_generation).read_volatile() == generation;
            let queued = (&raw const (*link).queued_packets).read_volatile();
            let old = (&raw const (*link).old_packets).read_volatile();
            if noted { old > 0 } else { queued > 0 }
        }
    }

    /// Which plan is in force.
    fn active(&self) -> usize {
        // SAFETY: aligned, mapped, and only ever changed as a whole.
        let active = unsafe {
            let at = self
                .0
                .as_ptr()
                .cast::<u8>()
                .add(offset_of!(takt_port, active));
            AtomicU32::from_ptr(at.cast()).load(Ordering::Acquire)
        };
        (active & 1) as usize
    }
}

// SAFETY: the mapping belongs to the process, not to a thread of it.
unsafe impl Send for PortMemory {}
// SAFETY: the kernel and other processes write there meanwhile in any case, and it is read and
// written accordingly.
unsafe impl Sync for PortMemory {}

impl Drop for PortMemory {
    fn drop(&mut self) {
        // SAFETY: mapped by open with this size, and unmapped once. Failing
        // would only leave it mapped until the process ends.
        let _ = unsafe { munmap(self.0.cast(), SIZE.get()) };
    }
}

/// With all that is counted of each entity in its stats.
fn summed(mut entities: Vec<takt_entity>) -> Vec<takt_entity> {
    for entity in &mut entities {
        // SAFETY: a valid struct.
        unsafe { takt_entity_sum(entity) };
    }
    entities
}

/// A number that is unpredictable for other processes.
pub(crate) fn secret() -> u64 {
    // Seeded by the system for every process.
    RandomState::new().hash_one(0)
}

/// # Safety
/// It is mapped.
unsafe fn departures(from: *const takt_departures) -> Departures {
    // SAFETY: see above; each field is read as it is at some moment.
    unsafe {
        Departures {
            waiting_packets: (&raw const (*from).count).read_volatile(),
            held_packets: (&raw const (*from).held_packets).read_volatile(),
            beyond_packets: (&raw const (*from).beyond_packets).read_volatile(),
            no_room_packets: (&raw const (*from).no_room_packets).read_volatile(),
        }
    }
}

/// # Safety
/// Both are valid for a whole T and do not overlap.
unsafe fn copy_raw<T: Plain>(from: *const T, to: *mut T) {
    // SAFETY: see above; T is integers only, so any bytes are a value.
    unsafe { std::ptr::copy_nonoverlapping(from, to, 1) }
}

/// # Safety
/// So many of them lie there, one after the other.
unsafe fn copied<T: Plain>(from: *const T, count: u32) -> Vec<T> {
    let count = count as usize;
    let mut copies = Vec::with_capacity(count);
    // SAFETY: see above; there is room for them, and T is integers only, so any bytes are a value.
    unsafe {
        std::ptr::copy_nonoverlapping(from, copies.as_mut_ptr(), count);
        copies.set_len(count);
    }
    copies
}
