//! `[device]`, `[host]` and `[measure]`.

use std::ops::RangeInclusive;

use super::{distribution, table};
use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::keys::{Key, Schema, Takes, Words, words};
use crate::read::link::share::read_rate;
use crate::read::section::Section;
use crate::traffic::{Device, Host, MEDIA};
use crate::value::rate;

const OVERHEAD_BYTES: RangeInclusive<u64> = 0..=256;
const QUEUE_PACKETS: RangeInclusive<u64> = 1..=4096;
const QUEUE_DEFAULT: u32 = 2;
/// Each stands for itself.
const MEDIUM_WORDS: Words<&str, { MEDIA.len() }> = {
    let mut words = [("", ""); MEDIA.len()];
    let mut at = 0;
    while at < MEDIA.len() {
        words[at] = (MEDIA[at], MEDIA[at]);
        at += 1;
    }
    words
};
const AFTER_NS: RangeInclusive<u64> = 0..=3_600_000_000_000;

pub(super) const DEVICE: Schema = Schema {
    what: "device",
    place: None,
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
        Key::new(
            "medium",
            Takes::Word(&words(&MEDIUM_WORDS)),
            "It is an access point's radio of this kind, and has [[station]] and no wire",
        ),
    ],
};

pub(super) const HOST: Schema = Schema {
    what: "host",
    place: None,
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
    place: None,
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
        medium: None,
    };
    let Some(section) = table(file, "device", &DEVICE, findings) else {
        return device;
    };
    device.medium = section.word("medium", &MEDIUM_WORDS, findings);
    let idle = ["rate", "queue_packets"].map(|key| section.get(key));
    for field in idle
        .into_iter()
        .flatten()
        .filter(|_| device.medium.is_some())
    {
        let error = Diagnostic::error(
            Code::IdleKey,
            format!("`{}` does nothing beside `medium`", field.key),
            "take it out: an access point's radio has no wire, and takes a frame when it can send",
        );
        findings.add(error.at(&field.span, "for nothing"));
    }
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
