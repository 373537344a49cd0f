//! Terminals that report to each other, and bound their windows by the reports.

use takt_algo::{Flow, FlowSample, Group, WindowTerms};

use crate::cell::{Control, SEGMENT_BITS, Terminal};

const PERIOD_NS: u64 = 200_000_000;
const WINDOW_MAX: u32 = 1_000_000;
const MSS_BYTES: u32 = (SEGMENT_BITS / 8.0) as u32;
/// A neighbour's rate counts up to the own rate times this.
const RATE_RATIO_MAX: u64 = 2;

#[derive(Debug, Clone, Copy, Default)]
struct Report {
    at_ns: u64,
    rate: u64,
}

#[derive(Debug, Default)]
struct Member {
    group: Group,
    flow: Flow,
    delivered: u64,
    sent_again: u64,
    rtts: usize,
    targets: Vec<f64>,
    report: Option<Report>,
}

/// The first `members` terminals have Takt.
pub struct Takt {
    terms: WindowTerms,
    members: Vec<Member>,
    asked_at_ns: Vec<u64>,
}

impl Takt {
    pub fn new(members: usize, standing_segments: u32) -> Self {
        Takt {
            terms: WindowTerms::new(standing_segments, WindowTerms::MEMORY_SHIFT, WINDOW_MAX),
            members: (0..members).map(|_| Member::default()).collect(),
            asked_at_ns: vec![0; members],
        }
    }
}

impl Takt {
    /// The variation of the first terminal's target, as deviation over mean: of its last
    /// `periods` periods.
    pub fn unrest(&self, periods: usize) -> f64 {
        let targets = &self.members[0].targets;
        let targets = &targets[targets.len().saturating_sub(periods)..];
        let count = targets.len() as f64;
        let mean = targets.iter().sum::<f64>() / count;
        let variance = targets
            .iter()
            .map(|target| (target - mean).powi(2))
            .sum::<f64>()
            / count;
        variance.sqrt() / mean
    }
}

impl Control for Takt {
    fn decide(&mut self, now_ns: u64, terminals: &mut [Terminal], index: usize) -> Option<u64> {
        if index >= self.members.len() {
            return None;
        }
        let sender = &mut terminals[index].sender;
        let passed_ns = now_ns - self.asked_at_ns[index];
        self.asked_at_ns[index] = now_ns;
        let me = &mut self.members[index];
        let delivered = sender.delivered - me.delivered;
        let rate = (delivered * u64::from(MSS_BYTES)) * 1_000_000_000 / passed_ns.max(1);
        me.delivered = sender.delivered;
        me.report = Some(Report {
            at_ns: now_ns,
            rate,
        });
        let lost = sender.sent_again - me.sent_again;
        me.sent_again = sender.sent_again;
        let rtts = &sender.rtts_ns[me.rtts.min(sender.rtts_ns.len())..];
        let rtt_ns = rtts.iter().sum::<u64>() / (rtts.len() as u64).max(1);
        me.rtts = sender.rtts_ns.len();

        let reports: Vec<Report> = self
            .members
            .iter()
            .filter_map(|member| member.report)
            .collect();
        let me = &mut self.members[index];
        me.group.forget_members();
        for report in reports {
            if now_ns - report.at_ns <= 3 * PERIOD_NS {
                let limit = if report.at_ns == now_ns {
                    u64::MAX
                } else {
                    rate * RATE_RATIO_MAX
                };
                me.group.hear(report.rate, limit, false);
            }
        }
        me.group.remember(&self.terms);
        let sample = FlowSample {
            rate,
            rtt_us: rtt_ns / 1000,
            rtt_min_us: sender.rtt_min_ns / 1000,
            mss_bytes: MSS_BYTES,
            window: sender.window() as u32,
            own_flows: 1,
            sent: (delivered + lost) as u32,
            lost: lost as u32,
            limited: u32::from(sender.take_limited()),
            starting: u32::from(sender.is_starting()),
        };
        let bounds = me.flow.update(&self.terms, &me.group, &sample);
        me.targets.push(me.flow.target_q10() as f64 / 1024.0);
        sender.lower = f64::from(bounds.lower());
        sender.upper = f64::from(bounds.upper());
        // A tenth earlier or later, so that reports do not collide repeatedly.
        let jitter_ns = (now_ns / 1000 * 7919 + index as u64 * 104_729) % (PERIOD_NS / 5);
        Some(now_ns + PERIOD_NS * 9 / 10 + jitter_ns)
    }
}
