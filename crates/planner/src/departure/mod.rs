//! From a link's policy to departure times: each class has a byte clock, a program stamps packets
//! with its times when they arrive, and fq sends them then.
//!
//! Nothing is queued by class. So classes have fixed rates; while all together exceed the link's,
//! each gets its share in proportion (`algo/activity.h`). A class's backlog is limited in time.

use serde::{Deserialize, Serialize};
use takt_algo::sys::{TAKT_ACTIVITY_PARTS, TAKT_SCALE_MAX, TAKT_SCALE_ONE, TAKT_SHARED_BITS};
use takt_policy::{AqmKind, BeyondHorizon, Class, Framing, Link};

use crate::{
    framing::line_bytes,
    link::{ClassIds, slack_ns},
};

/// Rates together may exceed the link's so many times.
pub const OVERSUBSCRIBED_MOST: u64 = (TAKT_SCALE_MAX / TAKT_SCALE_ONE) as u64;

/// The longest backlog: what a clock can hold, and a host would still wait for.
const BACKLOG_MOST_NS: u64 = 8_000_000_000;
/// The shortest: a timer may be late, and GSO makes bursts.
const BACKLOG_LEAST_NS: u64 = 2_000_000;

/// An epoch has at least so many full frames of the link.
const EPOCH_FRAMES: u64 = 8;
/// The slowest classes whose rates together are no more than this part of all may count unevenly.
const UNEVEN_PART: u64 = 100;
const EPOCH_SHIFT_LEAST: u32 = 22;
const EPOCH_SHIFT_MOST: u32 = 30;

/// A cost per byte has so many significant bits.
const MULTIPLIER_BITS: u32 = 40;

const LAYER_2_BYTES: u64 = 18;
const PACKETS_MOST: u64 = 1 << 20;

/// The terms of a link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// The link's rate.
    pub rate_kbps: u64,
    /// What the line carries of a frame.
    #[serde(flatten)]
    pub framing: Framing,
    /// Whether the classes' rates exceed the link's.
    pub is_oversubscribed: bool,
    /// Rates are added up over 2^shift ns.
    pub epoch_shift: u32,
    /// How far ahead a packet's own departure time may lie.
    pub horizon_ns: u64,
    /// Whether packets beyond it are dropped.
    pub drops_beyond: bool,
    /// In the order of the policy.
    pub classes: Vec<ClassTerms>,
    /// What keeps the times.
    pub fq: Fq,
}

/// The clock of a class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassTerms {
    /// In the program's tables.
    pub id: u32,
    /// 0: it has no clock.
    pub rate_kbps: u32,
    /// A byte costs multiplier / 2^shift units of 2^-16 ns.
    pub multiplier: u64,
    /// See above.
    pub shift: u32,
    /// Packets that would wait longer are dropped.
    pub backlog_ns: u64,
    /// The same for packets that no socket of this host sent: their senders are not pushed back.
    pub forwarded_backlog_ns: u64,
}

/// fq's limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fq {
    /// Of all queues.
    pub limit_packets: u32,
    /// Of each flow.
    pub flow_limit_packets: u32,
    /// Packets with later times are dropped.
    pub horizon_us: u32,
    /// It has 2^n hash buckets for flows.
    pub buckets_log: u32,
    /// How late its timer may be.
    #[serde(default)]
    pub timer_slack_ns: u32,
}

/// The terms of a link whose device sends packets of up to `mtu_bytes`.
pub fn departure(link: &Link, ids: &ClassIds, mtu_bytes: u32) -> Departure {
    let asked_bps = asked_bps(link);
    let frame_bytes = line_bytes(link.framing, u64::from(mtu_bytes) + LAYER_2_BYTES);
    let slowed = asked_bps.div_ceil(link.rate_bps.max(1)).max(1);
    let classes: Vec<ClassTerms> = link
        .classes
        .iter()
        .map(|class| terms(class, ids, frame_bytes, slowed))
        .collect();
    Departure {
        rate_kbps: link.rate_bps / 1000,
        framing: link.framing,
        is_oversubscribed: asked_bps > link.rate_bps,
        epoch_shift: epoch_shift(link, frame_bytes, slowed),
        horizon_ns: link.horizon_ns,
        drops_beyond: link.beyond_horizon == BeyondHorizon::Drop,
        fq: fq(link),
        classes,
    }
}

/// What the classes may take together.
pub(crate) fn asked_bps(link: &Link) -> u64 {
    let ceilings = link.classes.iter().filter_map(|class| class.ceil_bps);
    ceilings.fold(0, u64::saturating_add)
}

fn terms(class: &Class, ids: &ClassIds, frame_bytes: u64, slowed: u64) -> ClassTerms {
    let id = ids.id(&class.name).unwrap_or_default();
    let Some(rate_bps) = class.ceil_bps else {
        return ClassTerms {
            id,
            rate_kbps: 0,
            multiplier: 0,
            shift: 0,
            backlog_ns: 0,
            forwarded_backlog_ns: 0,
        };
    };
    let (multiplier, shift) = cost_of_a_byte(rate_bps);
    let frame_ns = frame_bytes * 8_000_000_000 / rate_bps.max(1) * slowed;
    let backlog_ns = frame_ns.saturating_mul(class.queue_packets.into());
    let backlog_ns = backlog_ns.clamp(BACKLOG_LEAST_NS, BACKLOG_MOST_NS);
    ClassTerms {
        id,
        rate_kbps: u32::try_from(rate_bps / 1000).unwrap_or(u32::MAX),
        multiplier,
        shift,
        backlog_ns,
        forwarded_backlog_ns: match class.aqm.kind {
            AqmKind::Off => backlog_ns,
            // No more than CoDel lets stand, and room for two packets.
            _ => backlog_ns.min(u64::from(class.aqm.interval_ns).max(2 * frame_ns)),
        },
    }
}

/// As a multiplier and a shift, with the rate's error below 2^-38.
fn cost_of_a_byte(rate_bps: u64) -> (u64, u32) {
    let rate = u128::from(rate_bps.max(1));
    let units = 8_000_000_000u128 << TAKT_SHARED_BITS;
    let whole_bits = 128 - (units / rate).leading_zeros();
    let shift = MULTIPLIER_BITS.saturating_sub(whole_bits);
    let multiplier = ((units << shift) + rate / 2) / rate;
    (multiplier as u64, shift)
}

/// Long enough for the link, and for a packet of its slow classes to be spread over it.
fn epoch_shift(link: &Link, frame_bytes: u64, slowed: u64) -> u32 {
    let frame_ns = |rate_bps: u64| frame_bytes * 8_000_000_000 / rate_bps.max(1);
    let of_link_ns = EPOCH_FRAMES * frame_ns(link.rate_bps);
    let parts = u64::from(TAKT_ACTIVITY_PARTS) - 1;
    let of_classes_ns = frame_ns(slowest_that_counts(link)) * slowed / parts;
    let shift = u64::BITS - of_link_ns.max(of_classes_ns).leading_zeros();
    shift.clamp(EPOCH_SHIFT_LEAST, EPOCH_SHIFT_MOST)
}

fn slowest_that_counts(link: &Link) -> u64 {
    let ceilings = link.classes.iter().filter_map(|class| class.ceil_bps);
    let mut rates: Vec<u64> = ceilings.collect();
    rates.sort_unstable();
    let asked_bps = asked_bps(link);
    let mut uneven_bps = 0;
    rates
        .into_iter()
        .find(|rate_bps| {
            uneven_bps += rate_bps;
            uneven_bps > asked_bps / UNEVEN_PART
        })
        .unwrap_or(u64::MAX)
}

fn fq(link: &Link) -> Fq {
    let queues = || link.classes.iter().map(|class| class.queue_packets);
    let packets: u64 = queues().map(u64::from).sum();
    let classes = link.classes.len() as u32;
    let longest_ns = link.horizon_ns.max(BACKLOG_MOST_NS);
    Fq {
        limit_packets: packets.clamp(10_000, PACKETS_MOST) as u32,
        flow_limit_packets: queues().max().map_or(100, u32::from).max(100),
        // A second more: what the program lets through is not dropped.
        horizon_us: u32::try_from(longest_ns / 1000 + 1_000_000).unwrap_or(u32::MAX),
        buckets_log: (u32::BITS - classes.leading_zeros()).clamp(10, 16),
        timer_slack_ns: slack_ns(link),
    }
}

#[cfg(test)]
mod tests {
    use takt_policy::parse;

    use super::*;

    fn planned(text: &str) -> Departure {
        let policy = parse("test", text).expect("a policy");
        let link = &policy.links[0];
        departure(link, &ClassIds::default().assign(link), 1500)
    }

    #[test]
    fn a_byte_costs_what_it_takes() {
        for rate_bps in [
            1000,
            1_000_000,
            333_333_333,
            10_000_000_000,
            400_000_000_000,
        ] {
            let (multiplier, shift) = cost_of_a_byte(rate_bps);
            assert!(multiplier < 1 << 44, "{rate_bps}");
            // Ten million bytes, in units.
            let cost = (u128::from(multiplier) * 10_000_000) >> shift;
            let exact = ((80_000_000u128 * 1_000_000_000) << 16) / u128::from(rate_bps);
            let error = cost.abs_diff(exact) as f64 / exact as f64;
            assert!(error < 1e-9, "{rate_bps}: {error}");
        }
    }

    #[test]
    fn links_are_oversubscribed_by_the_sum_of_ceilings() {
        let text = "[link.eth0]\nrate = \"100mbit\"\n\
                    [[link.eth0.class]]\nname = \"a\"\nrate = \"60mbit\"\nmatch = { dst_port = 1 }\n\
                    [[link.eth0.class]]\nname = \"default\"\nrate = \"40mbit\"\n";
        assert!(!planned(text).is_oversubscribed);
        let more = planned(&text.replace("60mbit", "61mbit"));
        assert!(more.is_oversubscribed);
        assert_eq!(more.classes[0].rate_kbps, 61_000);
    }

    #[test]
    fn backlogs_are_limited_in_time() {
        let text = "[link.eth0]\nrate = \"100mbit\"\n\
                    [[link.eth0.class]]\nname = \"slow\"\nrate = \"1mbit\"\nmatch = { dst_port = 1 }\n\
                    [[link.eth0.class]]\nname = \"fast\"\nrate = \"90mbit\"\nmatch = { dst_port = 2 }\n";
        let planned = planned(text);
        let slow = &planned.classes[0];
        assert_eq!(slow.backlog_ns, BACKLOG_MOST_NS);
        // CoDel's interval, which is longer where a frame takes 12 ms.
        assert_eq!(slow.forwarded_backlog_ns, 113_168_000);
        assert_eq!(planned.classes[1].backlog_ns, 134_933_000);
        let default = &planned.classes[2];
        assert_eq!(default.rate_kbps, 0);
        assert!(u64::from(planned.fq.horizon_us) * 1000 > BACKLOG_MOST_NS);
    }

    #[test]
    fn epochs_hold_many_frames_of_the_link_and_a_slow_classs_packet() {
        let with = |link: &str, class: &str| {
            let text = format!(
                "[link.eth0]\nrate = \"{link}\"\n[[link.eth0.class]]\nname = \"a\"\n\
                 rate = \"{class}\"\nmatch = {{ dst_port = 1 }}\n[[link.eth0.class]]\n\
                 name = \"b\"\nrate = \"1kbit\"\nmatch = {{ dst_port = 2 }}\n"
            );
            planned(&text).epoch_shift
        };
        assert_eq!(with("1gbit", "900mbit"), EPOCH_SHIFT_LEAST);
        // 8 frames of 1.2 ms
        assert_eq!(with("10mbit", "9mbit"), 24);
        // A third of 61 ms
        assert_eq!(with("1gbit", "200kbit"), 25);
        assert_eq!(with("2kbit", "1kbit"), EPOCH_SHIFT_MOST);
    }
}
