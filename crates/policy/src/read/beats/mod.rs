//! `[beats]`, which applies to tasks.

pub(crate) mod task;
pub(super) mod thread;

use std::ops::RangeInclusive;

use toml::de::DeValue;

use self::task::{Placed, ReadTask};
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::model::{BATCH_DEFAULT_PACKETS, BeatsClock, FREE_DEFAULT_PPM, GRID_DEFAULT_NS, Join};
use crate::read::keys::{Key, Schema, Takes, Words, words};
use crate::read::place::Place;
use crate::read::section::{Section, wrong_type};
use crate::source::{Source, Span};
use crate::value::{cpus, fraction, join};
use crate::{Code, ExactTime};

pub(in crate::read) const BEATS: Schema = Schema {
    what: "table of beats",
    place: Some(Place::Beats),
    doc: "How tasks share the CPUs; only together with a task",
    keys: &[
        Key::with_default(
            "grid",
            Takes::Exact(GRID_MIN_NS..=GRID_MAX_NS),
            "\"500us\"",
            "Slots begin and end at its multiples",
        ),
        Key::with_default(
            "clock",
            Takes::Word(&words(&CLOCK)),
            "\"monotonic\"",
            "The clock from whose zero periods are counted: the host's own, or CLOCK_TAI, which \
             hosts share by PTP",
        ),
        Key::with_default(
            "free",
            Takes::Number(FREE_PPM, fraction::WHOLE_PPM),
            "0.0625",
            "A part of every CPU's time that is never assigned",
        ),
        Key::new(
            "cpus",
            Takes::Spelled(cpus::schema),
            "The CPUs that may carry beats: 1, \"0-3,6\"; default: every CPU that is online",
        ),
        Key::with_default(
            "threaded_napi",
            Takes::Boolean,
            "true",
            "Network devices process packets in threads, which run after the beats and before \
             ordinary threads",
        ),
        Key::with_default(
            "batch",
            Takes::Integer(BATCH_PACKETS),
            "8",
            "Packets processed at once with bottom halves off, which delays even a beat",
        ),
        Key::with_default(
            "ignore_cgroup_limits",
            Takes::Boolean,
            "false",
            "Load beats although weights or limits of control groups on this host \
             then have no effect; false refuses",
        ),
        Key::with_default(
            "join",
            Takes::Spelled(join::schema),
            "\"takt\"",
            "The users besides root that may take reservations at run time: \"none\", \"all\", or \
             a group",
        ),
    ],
};

pub(crate) const GRID_MIN_NS: u64 = 10_000;
const GRID_MAX_NS: u64 = 100_000_000;

const CLOCK: Words<BeatsClock, 2> = [
    ("tai", BeatsClock::Tai),
    ("monotonic", BeatsClock::Monotonic),
];

/// The range of `free`: the same numbers in millionths as in the text below.
const FREE_PPM: RangeInclusive<i64> = 10_000..=900_000;
const FREE_HELP: &str =
    "free is a part of every CPU's time, from 0.01 to 0.9; the default is 0.0625";

/// The kernel's own, NAPI_POLL_WEIGHT.
const BATCH_PACKETS: RangeInclusive<u64> = 1..=64;

/// `[beats]` in the file's terms, or its defaults. Wrong values are absent, and have been reported.
pub(crate) struct ReadBeats {
    /// Absent if it could not be read.
    pub grid_ns: Option<ExactTime>,
    pub clock: BeatsClock,
    pub free_ppm: u32,
    pub cpus: Option<Placed<Vec<u32>>>,
    pub threaded_napi: bool,
    pub batch_packets: u32,
    pub ignore_cgroup_limits: bool,
    pub join: Join,
    pub tasks: Vec<ReadTask>,
}

/// `None` without a task.
pub(super) fn read(file: &Section, source: &Source, findings: &mut Findings) -> Option<ReadBeats> {
    let tasks = task::read_all(file.get("task"), source, findings);
    let empty = Default::default();
    let (table, span) = match file.get("beats") {
        None => (&empty, None),
        Some(field) => match field.value {
            DeValue::Table(table) => (table, Some(field.span)),
            other => {
                let fault = wrong_type("beats", "a table", other, "[beats]");
                findings.add(fault.at(&field.span));
                (&empty, None)
            }
        },
    };
    let section = Section::open(table, &BEATS, findings);
    let grid = section.exact("grid", "500us", GRID_MIN_NS..=GRID_MAX_NS, findings);
    let beats = ReadBeats {
        grid_ns: match section.get("grid") {
            Some(_) => grid.map(|(grid_ns, _)| grid_ns),
            None => Some(GRID_DEFAULT_NS.into()),
        },
        clock: section.word("clock", &CLOCK, findings).unwrap_or_default(),
        free_ppm: section
            .number("free", "free = 0.0625", findings, |text| {
                fraction::parse("free", text, FREE_PPM, FREE_HELP)
            })
            .unwrap_or(FREE_DEFAULT_PPM),
        cpus: task::read_cpus(&section, findings),
        threaded_napi: section.boolean("threaded_napi", findings).unwrap_or(true),
        batch_packets: section
            .integer("batch", BATCH_PACKETS, findings)
            .unwrap_or(BATCH_DEFAULT_PACKETS.into()) as u32,
        ignore_cgroup_limits: section
            .boolean("ignore_cgroup_limits", findings)
            .unwrap_or(false),
        join: section
            .text("join", "join = \"audio\"", findings, join::parse)
            .unwrap_or_default(),
        tasks,
    };
    if beats.tasks.is_empty() {
        check_alone(span, file, findings);
        return None;
    }
    Some(beats)
}

/// Settings without a task have no effect.
fn check_alone(beats: Option<Span>, file: &Section, findings: &mut Findings) {
    let was_meant = file.get("task").is_some() && findings.has_errors();
    if let Some(span) = beats.filter(|_| !was_meant) {
        let error = Diagnostic::error(
            Code::NoTask,
            "the policy has [beats] and no task",
            "add a [[task]] with name, period and budget, or take [beats] out",
        );
        findings.add(error.at(&span, "for nothing"));
    }
}
