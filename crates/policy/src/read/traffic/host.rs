//! `[device]`, `[host]` and `[measure]`.

use std::ops::RangeInclusive;

use super::{distribution, table};
use crate::findings::Findings;
use crate::read::keys::{Key, Schema, Takes};
use crate::read::link::share::read_rate;
use crate::read::section::Section;
use crate::traffic::{Device, Host};
use crate::value::rate;

const OVERHEAD_BYTES: RangeInclusive<u64> = 0..=256;
const QUEUE_PACKETS: RangeInclusive<u64> = 1..=4096;
const QUEUE_DEFAULT: u32 = 2;
const AFTER_NS: RangeInclusive<u64> = 0..=3_600_000_000_000;

pub(super) const DEVICE: Schema = Schema {
    what: "device",
    doc: "The network device behind the link",
    keys: &[
        Key::new(
            "rate",
            Takes::Spelled(rate::schema),
            "Of its wire; default: the link's",
        ),
        Key::new(
            "overhead",
            Takes::Integer(OVERHEAD_BYTES),
            "Wire bytes per frame beyond the Ethernet frame; default: as the link counts",
        ),
        Key::with_default(
            "queue_packets",
            Takes::Integer(QUEUE_PACKETS),
            "2",
            "Frames that it takes, the one on the wire included",
        ),
    ],
};

pub(super) const HOST: Schema = Schema {
    what: "host",
    doc: "What is not exact about the host",
    keys: &[
        Key::with_default(
            "timer_late",
            Takes::Spelled(distribution::schema),
            "\"0ns\"",
            "How late timers fire: a duration, two between which all are as likely, or a \
             histogram of [duration, count]",
        ),
        Key::with_default(
            "packet_cost",
            Takes::Spelled(distribution::schema),
            "\"0ns\"",
            "What a packet that leaves costs the processor, likewise",
        ),
    ],
};

pub(super) const MEASURE: Schema = Schema {
    what: "measure",
    doc: "What counts",
    keys: &[Key::with_default(
        "after",
        Takes::Duration(AFTER_NS),
        "\"0ns\"",
        "What happens before is left out of the figures",
    )],
};

pub(super) fn read_device(file: &Section, findings: &mut Findings) -> Device {
    let mut device = Device {
        rate_bps: None,
        overhead_bytes: None,
        queue_packets: QUEUE_DEFAULT,
    };
    let Some(section) = table(file, "device", &DEVICE, findings) else {
        return device;
    };
    device.rate_bps = read_rate(&section, "rate", findings).and_then(|rate| rate.bps);
    let overhead = section.integer("overhead", OVERHEAD_BYTES, findings);
    device.overhead_bytes = overhead.map(|bytes| bytes as u32);
    if let Some(packets) = section.integer("queue_packets", QUEUE_PACKETS, findings) {
        device.queue_packets = packets as u32;
    }
    device
}

pub(super) fn read_host(file: &Section, findings: &mut Findings) -> Host {
    let Some(section) = table(file, "host", &HOST, findings) else {
        return Host::default();
    };
    Host {
        timer_late: distribution::read(&section, "timer_late", findings),
        packet_cost: distribution::read(&section, "packet_cost", findings),
    }
}

pub(super) fn read_measure(file: &Section, findings: &mut Findings) -> u64 {
    let section = table(file, "measure", &MEASURE, findings);
    let after = section.and_then(|it| it.duration("after", "100ms", AFTER_NS, findings));
    after.map_or(0, |(ns, _)| ns)
}
