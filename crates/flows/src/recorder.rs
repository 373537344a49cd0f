//! From repeated samples to the lines of a recording.

use std::collections::{BTreeMap, BTreeSet};

use crate::{event::Event, flow::Flow, line::Line, sample::Sample};

/// A flow that exists now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its properties.
    pub flow: Flow,
    /// Its sample.
    pub sample: Sample,
}

/// Remembers which lines were written, and writes what is new.
#[derive(Debug, Default)]
pub struct Recorder {
    known: BTreeMap<u64, Known>,
    lost: u64,
}

#[derive(Debug)]
struct Known {
    flow: Flow,
    /// `None` for a flow that only events have named.
    sample: Option<Sample>,
}

impl Recorder {
    /// Lines for all flows that exist at `now_ns` and for the events until then, each with its
    /// flow; `lost` counts from the beginning. A sample in which only the time changed is left
    /// out.
    pub fn take(
        &mut self,
        now_ns: u64,
        seen: Vec<Seen>,
        events: Vec<(Flow, Event)>,
        lost: u64,
    ) -> Vec<Line> {
        let mut names = Vec::new();
        let mut told = Vec::new();
        let here: BTreeSet<u64> = seen.iter().map(|seen| seen.flow.id).collect();
        for Seen { flow, sample } in seen {
            self.name(flow, &mut names);
            if let Some(known) = self.known.get_mut(&sample.flow)
                && known
                    .sample
                    .as_ref()
                    .is_none_or(|last| differ(last, &sample))
            {
                known.sample = Some(sample.clone());
                told.push((sample.at_ns, Line::Sample(sample)));
            }
        }
        for (flow, event) in events {
            if !self.known.contains_key(&flow.id) {
                self.name(flow, &mut names);
            }
            told.push((event.at_ns, Line::Event(event)));
        }
        told.sort_by_key(|(at_ns, _)| *at_ns);
        let mut lines: Vec<Line> = names;
        lines.extend(told.into_iter().map(|(_, line)| line));
        self.known.retain(|flow, _| {
            let stays = here.contains(flow);
            if !stays {
                lines.push(Line::End {
                    at_ns: now_ns,
                    flow: *flow,
                });
            }
            stays
        });
        if lost > self.lost {
            lines.push(Line::Lost {
                at_ns: now_ns,
                events: lost - self.lost,
            });
            self.lost = lost;
        }
        lines
    }

    fn name(&mut self, flow: Flow, names: &mut Vec<Line>) {
        let known = self.known.entry(flow.id);
        let is_new = matches!(known, std::collections::btree_map::Entry::Vacant(_));
        let known = known.or_insert_with(|| Known {
            flow: flow.clone(),
            sample: None,
        });
        if is_new || known.flow != flow {
            names.push(Line::Flow(flow.clone()));
            known.flow = flow;
        }
    }
}

fn differ(a: &Sample, b: &Sample) -> bool {
    let at = |at_ns, sample: &Sample| Sample {
        at_ns,
        ..sample.clone()
    };
    at(0, a) != at(0, b)
}
