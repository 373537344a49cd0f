//! Small cases against exhaustive search.

use proptest::prelude::*;
use takt_planner::beats::{Demand, Host, plan};

use super::{MS, demand, host, sound};

const FREE_PPM: u32 = 62_500;

/// The least common multiple of all periods here, which is one bit each in a frame.
const FRAME: u64 = 60;

/// Every way to choose a demand's slots in a period, as bits of a frame.
fn choices(demand: &Demand, may_split: bool) -> Vec<u64> {
    let (period, lead) = (
        demand.period_ns.rounded_ns() / MS,
        demand.lead_ns.div_ceil(MS),
    );
    let width = demand.budget_ns / MS + lead;
    (0u64..1 << period)
        .filter(|slots| u64::from(slots.count_ones()) == width)
        .filter(|slots| {
            let begin = u64::from(slots.trailing_zeros());
            let run = u64::from((slots >> begin).trailing_ones());
            let is_whole = run == width;
            let has_lead = run > lead;
            let at_offset = demand
                .offset_ns
                .is_none_or(|ns| ns.rounded_ns() / MS == begin + lead);
            has_lead && at_offset && (is_whole || may_split)
        })
        .map(|slots| (0..FRAME / period).fold(0, |frame, job| frame | slots << (job * period)))
        .collect()
}

/// Whether all demands have slots of their own on the CPUs, each on one.
fn is_possible(host: &Host, demands: &[Demand], may_split: bool) -> bool {
    fn place(host: &Host, demands: &[Demand], taken: &mut [u64], may_split: bool) -> bool {
        let Some((demand, rest)) = demands.split_first() else {
            let limit = FRAME * u64::from(1_000_000 - host.free_ppm);
            return taken
                .iter()
                .all(|bits| u64::from(bits.count_ones()) * 1_000_000 <= limit);
        };
        let choices = choices(demand, may_split);
        (0..taken.len())
            .filter(|&cpu| {
                demand
                    .cpus
                    .iter()
                    .all(|cpus| cpus.contains(&host.cpus[cpu]))
            })
            .any(|cpu| {
                choices.iter().any(|bits| {
                    taken[cpu] & bits == 0 && {
                        taken[cpu] |= bits;
                        let found = place(host, rest, taken, may_split);
                        taken[cpu] &= !bits;
                        found
                    }
                })
            })
    }
    place(host, demands, &mut vec![0; host.cpus.len()], may_split)
}

/// The planner finds every feasible placement, whole where that is feasible. Placements beyond
/// these are over several CPUs, and valid.
fn compare(host: &Host, demands: &[Demand]) {
    let planned = plan(host, demands);
    match &planned {
        Ok(table) => {
            sound::check(host, demands, table);
            let spreads = |pieces: &[takt_planner::beats::Piece]| {
                pieces.iter().any(|piece| piece.cpu != pieces[0].cpu)
            };
            if table
                .placements
                .iter()
                .all(|placement| !spreads(&placement.pieces))
            {
                assert!(is_possible(host, demands, true), "{demands:?}");
            }
            if is_possible(host, demands, false) {
                let is_whole = |p: &takt_planner::beats::Placement| p.pieces.len() == 1;
                assert!(table.placements.iter().all(is_whole), "{demands:?}");
            }
        }
        Err(refusal) => assert!(!is_possible(host, demands, true), "{refusal}"),
    }
}

#[test]
fn one_cpu_and_up_to_three_tasks() {
    let host = host(1, MS, FREE_PPM);
    let kinds: Vec<(u64, u64)> = (2..=6)
        .flat_map(|period| (1..=period).map(move |budget| (period, budget)))
        .collect();
    let named = |name: &str, (period, budget): (u64, u64)| demand(name, period, budget);
    for &a in &kinds {
        compare(&host, &[named("a", a)]);
        for &b in &kinds {
            compare(&host, &[named("a", a), named("b", b)]);
            for &c in &kinds {
                compare(&host, &[named("a", a), named("b", b), named("c", c)]);
            }
        }
    }
}

#[test]
fn two_cpus_and_three_tasks() {
    let host = host(2, MS, FREE_PPM);
    let kinds: Vec<(u64, u64)> = (2..=5)
        .flat_map(|period| (period / 2..=period).map(move |budget| (period, budget)))
        .collect();
    for &(period, budget) in &kinds {
        for &(other_period, other_budget) in &kinds {
            for &(third_period, third_budget) in &kinds {
                let wanted = [
                    demand("a", period, budget),
                    demand("b", other_period, other_budget),
                    demand("c", third_period, third_budget),
                ];
                compare(&host, &wanted);
            }
        }
    }
}

prop_compose! {
    fn any_demand()(
        period in 2u64..=6,
        budget in 1u64..=6,
        lead in 0u64..=2,
        offset in proptest::option::weighted(0.3, 0u64..6),
        cpu in proptest::option::weighted(0.3, 0u32..2),
        is_group: bool,
    ) -> Demand {
        let budget = budget.min(period);
        let lead = lead.min(period - budget);
        Demand {
            lead_ns: lead * MS,
            offset_ns: offset.map(|offset| (offset.clamp(lead, period - budget) * MS).into()),
            cpus: cpu.map(|cpu| vec![cpu]),
            is_group,
            ..demand("t", period, budget)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn with_leads_offsets_and_affinities(
        demands in proptest::collection::vec(any_demand(), 1..=4),
        cpus in 1u32..=2,
    ) {
        let has_cpu = |demand: &Demand| demand.cpus.iter().flatten().all(|&cpu| cpu < cpus);
        let demands: Vec<Demand> = demands.into_iter().filter(has_cpu).collect();
        compare(&host(cpus, MS, FREE_PPM), &demands);
    }
}
