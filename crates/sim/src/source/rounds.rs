//! Flows of a source that begin their transfers together: the next round begins when the transfers
//! of all have arrived, as where a client asks many servers at once and needs all answers.

use std::ops::Range;

use takt_policy::traffic::{Kind, Source, Together};

/// The rounds of all sources.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// By source; of those that have none, without flows.
    rounds: Vec<Round>,
}

#[derive(Debug, Clone, Default)]
struct Round {
    flows: Range<u32>,
    apart_ns: u64,
    /// Transfers that have not arrived.
    missing: usize,
}

impl Rounds {
    /// With the source of each flow, those of a source next to each other.
    pub fn new(sources: &[Source], of_flows: &[u32]) -> Self {
        let rounds = (0..).zip(sources).map(|(at, source)| {
            let Some(Together { apart_ns }) = together(source) else {
                return Round::default();
            };
            let first = of_flows.partition_point(|of| *of < at) as u32;
            let end = of_flows.partition_point(|of| *of <= at) as u32;
            Round {
                flows: first..end,
                apart_ns,
                missing: (first..end).len(),
            }
        });
        Self {
            rounds: rounds.collect(),
        }
    }

    /// How much later than the first one a flow of this source begins.
    pub fn later_ns(&self, source: u32, flow: u32) -> u64 {
        let round = &self.rounds[source as usize];
        u64::from(flow.saturating_sub(round.flows.start)) * round.apart_ns
    }

    /// A transfer of this source has arrived. Returns the flows that begin the next one.
    pub fn complete(&mut self, source: u32) -> Range<u32> {
        let round = &mut self.rounds[source as usize];
        round.missing = round.missing.saturating_sub(1);
        if round.missing > 0 {
            return 0..0;
        }
        round.missing = round.flows.len();
        round.flows.clone()
    }
}

fn together(source: &Source) -> Option<Together> {
    match &source.kind {
        Kind::Tcp(terms) => terms.together,
        _ => None,
    }
}
