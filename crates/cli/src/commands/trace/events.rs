//! The events of a trace, sample by sample.

use serde_json::{Value, json};
use takt_flows::Seen;
use takt_host::{ClassStatus, LinkStatus, TaskStatus};
use takt_policy::ExactTime;

use super::tracks::{Counters, Groups, us};
use crate::{
    commands::top::{rates::Meter, sample::Sample},
    print::plain,
};

/// What is known of the samples before.
pub struct Tracer {
    begun_ns: u64,
    /// The last sample's time; slots are drawn until then.
    until_ns: u64,
    meter: Meter,
    groups: Groups,
    counters: Counters,
    events: Vec<Value>,
}

impl Tracer {
    pub fn begin(at_ns: u64) -> Self {
        Self {
            begun_ns: at_ns,
            until_ns: at_ns,
            meter: Meter::default(),
            groups: Groups::default(),
            counters: Counters::default(),
            events: Vec::new(),
        }
    }

    /// The events between the sample before and this one.
    pub fn take(&mut self, sample: &Sample) -> Vec<Value> {
        self.meter.begin(sample.at_ns);
        self.counters.begin();
        for link in &sample.status.links {
            self.link(sample.at_ns, link);
        }
        for task in &sample.status.tasks {
            self.task(sample.at_ns, task);
        }
        for seen in sample.tcp.iter().flatten().flatten() {
            self.flow(sample.at_ns, seen);
        }
        self.until_ns = sample.at_ns;
        std::mem::take(&mut self.events)
    }

    fn link(&mut self, at_ns: u64, link: &LinkStatus) {
        let name = format!("link {}", plain(&link.device));
        let group = self.groups.number(&name, &mut self.events);
        let packets = link.queued_packets;
        self.set(at_ns, group, "queued", json!({ "packets": packets }));
        if let Some(background) = &link.background {
            let packets = background.held_packets;
            self.set(
                at_ns,
                group,
                "background held",
                json!({ "packets": packets }),
            );
        }
        for class in &link.classes {
            self.class(at_ns, group, link, class);
        }
    }

    fn class(&mut self, at_ns: u64, group: u32, link: &LinkStatus, class: &ClassStatus) {
        let name = match &class.tenant {
            Some(tenant) => plain(&format!("{tenant}/{}", class.name)),
            None => plain(&class.name),
        };
        let (packets, bytes) = (class.queued_packets, class.queued_bytes);
        let queued = json!({ "packets": packets, "bytes": bytes });
        self.set(at_ns, group, &format!("{name} queued"), queued);
        let counters = &class.counters;
        let late_us = counters.late_max_ns as f64 / 1e3;
        self.set(
            at_ns,
            group,
            &format!("{name} worst late"),
            json!({ "us": late_us }),
        );
        let dropped = counters.dropped_packets;
        self.set(
            at_ns,
            group,
            &format!("{name} dropped"),
            json!({ "packets": dropped }),
        );
        let id = format!("{} {} {name}", link.device, link.generation);
        if let Some([bytes_ps, ..]) = self.meter.rates(id, [counters.sent_bytes, 0, 0, 0]) {
            let rate = json!({ "bit/s": (bytes_ps * 8.0).round() });
            // It is the rate since the sample before.
            self.set(self.until_ns, group, &format!("{name} sent"), rate);
        }
    }

    fn task(&mut self, at_ns: u64, task: &TaskStatus) {
        let name = plain(&task.name);
        let group = self.groups.number("beats", &mut self.events);
        self.slots(at_ns, group, &name, task);
        let counters = &task.counters;
        let amiss = json!({ "missed": counters.missed, "overruns": counters.overruns });
        self.set(at_ns, group, &format!("{name} jobs"), amiss);
        if let Some(late) = &task.lateness {
            let late =
                json!({ "p99": late.p99_ns as f64 / 1e3, "worst": late.max_ns as f64 / 1e3 });
            self.set(at_ns, group, &format!("{name} late us"), late);
        }
        let id = format!("task {:?} {name}", task.ad_hoc_uid);
        let counts = [counters.used_ns, counters.releases, 0, 0];
        if let Some([used_ns_ps, ..]) = self.meter.rates(id, counts) {
            let used = json!({ "% of a CPU": (used_ns_ps / 1e5).round() / 100.0 });
            self.set(self.until_ns, group, &format!("{name} used"), used);
        }
    }

    /// The task's slots that began since the sample before: k periods and the piece's phase, on
    /// the clock of the samples.
    fn slots(&mut self, at_ns: u64, group: u32, name: &str, task: &TaskStatus) {
        for piece in &task.pieces {
            let cpu = self.groups.cpu(group, piece.cpu, &mut self.events);
            let length_ns = piece.end_ns.saturating_sub(piece.begin_ns);
            for begin_ns in starts(self.until_ns..at_ns, task.period, piece.begin_ns) {
                self.events.push(json!({
                    "ph": "X", "name": name, "pid": group, "tid": cpu,
                    "ts": us(begin_ns, self.begun_ns), "dur": us(length_ns, 0),
                }));
            }
        }
    }

    fn flow(&mut self, at_ns: u64, seen: &Seen) {
        let Seen { flow, sample } = seen;
        let group = self.groups.number("TCP flows", &mut self.events);
        let name = format!(
            "{} {} > {}",
            flow.application.as_deref().map_or("?".to_owned(), plain),
            flow.ends.local,
            flow.ends.remote
        );
        let mut windows =
            json!({ "cwnd": sample.cwnd_segments, "flight": sample.in_flight_segments });
        if let (Some(lower), Some(upper)) = (sample.lower_segments, sample.upper_segments) {
            windows["lower bound"] = lower.into();
            windows["upper bound"] = upper.into();
        }
        self.set(at_ns, group, &name, windows);
        if let Some(rtt_us) = sample.rtt_us {
            self.set(
                at_ns,
                group,
                &format!("{name} rtt"),
                json!({ "us": rtt_us }),
            );
        }
    }

    fn set(&mut self, at_ns: u64, group: u32, name: &str, values: Value) {
        let ts_us = us(at_ns, self.begun_ns);
        let track = (group, name.to_owned());
        self.counters.set(&mut self.events, ts_us, track, values);
    }
}

/// Times in a range that are so far behind a multiple of the period.
fn starts(
    within: std::ops::Range<u64>,
    period: ExactTime,
    phase_ns: u64,
) -> impl Iterator<Item = u64> {
    let period = period.max(1.into());
    let first = period.covering(within.start.saturating_sub(phase_ns));
    (first..)
        .map(move |index| period.edge_ns(index).saturating_add(phase_ns))
        .take_while(move |start_ns| *start_ns < within.end)
}

#[cfg(test)]
mod tests {
    use takt_host::{PieceStatus, TaskCounters};
    use takt_policy::{Handoff, Overrun};

    use super::*;
    use crate::commands::top::view::tests::sample;

    const MS: u64 = 1_000_000;

    fn task() -> TaskStatus {
        TaskStatus {
            name: "mixer".to_owned(),
            period_ns: 10 * MS,
            period: (10 * MS).into(),
            budget_ns: 2 * MS,
            offset_ns: 3 * MS,
            lead_ns: 0,
            lead_max_ns: None,
            pieces: vec![PieceStatus {
                cpu: 1,
                begin_ns: 3 * MS,
                beat_ns: 3 * MS,
                end_ns: 5 * MS,
            }],
            overrun: Overrun::Demote,
            ad_hoc_uid: None,
            members: Vec::new(),
            handoff: Handoff::Order,
            stopped: false,
            stalled: false,
            counters: TaskCounters {
                releases: 0,
                missed: 0,
                outside: 0,
                started: 0,
                completed: 0,
                overruns: 0,
                passed: 0,
                skipped: 0,
                used_ns: 0,
                used_max_ns: 0,
                cut_late_max_ns: 0,
                stolen_interrupts_ns: 0,
                stolen_higher_ns: 0,
            },
            wakes_at_ns: None,
            lateness: None,
        }
    }

    #[test]
    fn slots_are_drawn_once_and_where_the_table_has_them() {
        let mut tracer = Tracer::begin(100 * MS);
        let mut slices = Vec::new();
        for at_ns in [100 * MS, 113 * MS, 114 * MS, 145 * MS] {
            let mut sample = sample();
            sample.at_ns = at_ns;
            sample.status.tasks.push(task());
            let events = tracer.take(&sample);
            slices.extend(events.into_iter().filter(|event| event["ph"] == "X"));
        }
        let begun: Vec<f64> = slices.iter().filter_map(|e| e["ts"].as_f64()).collect();
        assert_eq!(begun, [3e3, 13e3, 23e3, 33e3, 43e3]);
        assert!(slices.iter().all(|slice| slice["dur"] == 2e3));
        assert!(slices.iter().all(|slice| slice["name"] == "mixer"));
    }

    #[test]
    fn a_range_has_its_beginning_and_not_its_end() {
        let starts = |within| starts(within, 10.into(), 3).collect::<Vec<_>>();
        assert_eq!(starts(0..23), [3, 13]);
        assert_eq!(starts(13..24), [13, 23]);
        assert_eq!(starts(14..23), [0; 0]);
        assert_eq!(
            super::starts(5..7, 0.into(), 9).count(),
            0,
            "a table not read whole"
        );
    }

    #[test]
    fn what_does_not_change_is_written_once() {
        let mut tracer = Tracer::begin(0);
        let mut sample = sample();
        sample.status.tasks.push(task());
        sample.at_ns = 0;
        assert!(!tracer.take(&sample).is_empty());
        sample.at_ns = 100 * MS;
        tracer.take(&sample);
        sample.at_ns = 102 * MS;
        assert_eq!(tracer.take(&sample), [Value::Null; 0]);
    }
}
