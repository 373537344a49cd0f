//! Tracks of a trace: their numbers, and the values that they had last.

use std::collections::HashMap;

use serde_json::{Value, json};

/// Perfetto keeps the small numbers for the kernel's own processes and threads.
const FIRST: u32 = 1000;

/// Times in a trace are microseconds from its beginning.
pub fn us(at_ns: u64, begun_ns: u64) -> f64 {
    at_ns.saturating_sub(begun_ns) as f64 / 1e3
}

/// Groups of tracks, each a process in the trace.
#[derive(Default)]
pub struct Groups {
    numbers: HashMap<String, u32>,
}

impl Groups {
    /// The number of a group; its name is told the first time.
    pub fn number(&mut self, name: &str, events: &mut Vec<Value>) -> u32 {
        self.named(name, events, |number| {
            json!({
                "ph": "M", "name": "process_name", "pid": number, "args": { "name": name },
            })
        })
    }

    /// Likewise, of a CPU within a group.
    pub fn cpu(&mut self, group: u32, cpu: u32, events: &mut Vec<Value>) -> u32 {
        self.named(&format!("{group}\0{cpu}"), events, |number| {
            let name = format!("CPU {cpu}");
            json!({
                "ph": "M", "name": "thread_name", "pid": group, "tid": number,
                "args": { "name": name },
            })
        })
    }

    fn named(
        &mut self,
        key: &str,
        events: &mut Vec<Value>,
        event: impl FnOnce(u32) -> Value,
    ) -> u32 {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        let number = FIRST + self.numbers.len() as u32;
        self.numbers.insert(key.to_owned(), number);
        events.push(event(number));
        number
    }
}

/// Counters. A value lasts until the next one, so only changes are written.
#[derive(Default)]
pub struct Counters {
    round: u64,
    last: HashMap<(u32, String), (u64, Value)>,
}

impl Counters {
    /// What was not in the round before is forgotten.
    pub fn begin(&mut self) {
        let before = self.round;
        self.last.retain(|_, (round, _)| *round == before);
        self.round += 1;
    }

    pub fn set(
        &mut self,
        events: &mut Vec<Value>,
        ts_us: f64,
        (group, name): (u32, String),
        values: Value,
    ) {
        let last = self.last.get(&(group, name.clone()));
        if last.is_none_or(|(_, last)| *last != values) {
            events.push(json!({
                "ph": "C", "name": name, "pid": group, "ts": ts_us, "args": values,
            }));
        }
        self.last.insert((group, name), (self.round, values));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_told_once() {
        let (mut groups, mut events) = (Groups::default(), Vec::new());
        let link = groups.number("link near1", &mut events);
        assert_eq!(groups.number("link near1", &mut events), link);
        assert_ne!(groups.number("beats", &mut events), link);
        let cpu = groups.cpu(link, 0, &mut events);
        assert_eq!(groups.cpu(link, 0, &mut events), cpu);
        assert_eq!(events.len(), 3);
        assert_eq!(events[2]["args"]["name"], "CPU 0");
    }

    #[test]
    fn only_changes_are_written() {
        let (mut counters, mut events) = (Counters::default(), Vec::new());
        for (at, packets) in [(0.0, 1), (1.0, 1), (2.0, 3)] {
            counters.begin();
            let track = (7, "queued".to_owned());
            counters.set(&mut events, at, track, json!({ "packets": packets }));
        }
        assert_eq!(events.len(), 2);
        assert_eq!(events[1]["ts"], 2.0);
        assert_eq!(events[1]["args"]["packets"], 3);
    }
}
