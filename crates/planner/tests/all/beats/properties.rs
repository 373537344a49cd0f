//! Properties of every timetable, and of every refusal.

use proptest::prelude::*;
use takt_planner::beats::{Demand, Fault, Host, Refusal, plan};

use takt_policy::{ExactTime, parse_exact};

use super::refusals::mend;
use super::{host, sound};

/// Periods in slots: those of audio, of control loops, and some that do not divide others.
const PERIODS: &[u64] = &[
    1, 2, 4, 5, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 96, 100, 160, 320,
];

prop_compose! {
    fn any_demand(grid: ExactTime)(
        period in proptest::sample::select(PERIODS),
        share in 1u64..60,
        shaved_ns in 0..grid.whole_ns(),
        lead_ns in prop_oneof![3 => Just(0), 1 => 1..2 * grid.whole_ns()],
        offset in proptest::option::weighted(0.2, 0u64..320),
        cpus in proptest::option::weighted(0.2, proptest::collection::vec(0u32..4, 1..3)),
        is_group in proptest::bool::weighted(0.3),
    ) -> Demand {
        let budget = (period * share / 100).max(1);
        let lead = grid.covering(lead_ns).min(period - budget);
        let last = period - budget;
        Demand {
            name: format!("{period}x{budget}"),
            period_ns: grid.times(period),
            budget_ns: grid.times(budget).whole_ns() - shaved_ns,
            lead_ns: lead_ns.min(grid.times(lead).whole_ns()),
            offset_ns: offset.map(|offset| grid.times(lead + offset % (last - lead + 1))),
            cpus,
            is_group,
            standing: None,
        }
    }
}

fn any_case() -> impl Strategy<Value = (Host, Vec<Demand>)> {
    let grids = [
        "10us", "100us", "500us", "10ms", "1/48000s", "1/44100s", "1/30ms",
    ];
    let grids = grids
        .map(|grid| parse_exact(grid).expect("a time"))
        .to_vec();
    let grids = proptest::sample::select(grids);
    (grids, 1u32..=4, 10_000u32..400_000).prop_flat_map(|(grid, cpus, free_ppm)| {
        let demands = proptest::collection::vec(any_demand(grid), 0..12);
        (Just(host(cpus, grid, free_ppm)), demands)
    })
}

proptest! {
    #[test]
    fn every_promise_is_kept((host, demands) in any_case()) {
        if let Ok(table) = plan(&host, &demands) {
            sound::check(&host, &demands, &table);
        }
    }

    #[test]
    fn the_same_demands_give_the_same_tables((host, demands) in any_case()) {
        prop_assert_eq!(plan(&host, &demands), plan(&host, &demands));
    }

    #[test]
    fn what_stands_stays_while_others_come_and_go(
        (host, demands) in any_case(),
        goes in proptest::collection::vec(any::<bool>(), 12),
    ) {
        let half = demands.len() / 2;
        let Ok(before) = plan(&host, &demands[..half]) else {
            return Ok(());
        };
        let standing = demands[..half].iter().zip(before.placements).zip(&goes);
        let mut after: Vec<Demand> = standing
            .filter(|(_, goes)| !**goes)
            .map(|((demand, placement), _)| Demand {
                standing: Some(placement),
                ..demand.clone()
            })
            .collect();
        after.extend_from_slice(&demands[half..]);
        match plan(&host, &after) {
            Ok(table) => sound::check(&host, &after, &table),
            Err(refusal) => {
                let fault = match refusal {
                    Refusal::Senseless { fault, .. } => Some(fault),
                    _ => None,
                };
                prop_assert_ne!(fault, Some(Fault::Standing));
            }
        }
    }

    #[test]
    fn what_is_offered_instead_fits((host, demands) in any_case()) {
        let Err(refusal) = plan(&host, &demands) else {
            return Ok(());
        };
        prop_assert!(refusal.to_string().len() < 1000);
        let Refusal::NoRoom { name, fits, alone, obstacles, .. } = refusal else {
            return Ok(());
        };
        prop_assert!(!obstacles.is_empty());
        if alone {
            for remedy in &fits {
                // Names stand for periods and budgets, so any demand of the name may be the one.
                let is_mended = |index: usize| {
                    let mut mended = demands.clone();
                    mend(&mut mended[index], remedy);
                    plan(&host, &mended).is_ok()
                };
                let named = |index: &usize| demands[*index].name == name;
                prop_assert!((0..demands.len()).filter(named).any(is_mended), "{remedy}");
            }
        }
    }

    #[test]
    fn no_demand_makes_it_panic(
        times in proptest::array::uniform4(prop_oneof![any::<u64>(), 0..10_000_000_000u64]),
        grid_ns in prop_oneof![any::<u64>(), 0..1_000_000u64],
        free_ppm: u32,
        cpus in 0u32..3,
    ) {
        let [period_ns, budget_ns, lead_ns, offset_ns] = times;
        let wanted = Demand {
            name: "any".to_owned(),
            period_ns: period_ns.into(),
            budget_ns,
            lead_ns,
            offset_ns: Some(offset_ns.into()),
            cpus: None,
            is_group: false,
            standing: None,
        };
        let on_grid = Demand {
            period_ns: (period_ns - period_ns % grid_ns.max(1)).into(),
            offset_ns: None,
            ..wanted.clone()
        };
        let host = host(cpus, grid_ns, free_ppm);
        let _ = plan(&host, std::slice::from_ref(&wanted));
        let _ = plan(&host, &[on_grid.clone(), on_grid, wanted]);
    }
}
