//! Refused demands, the words of the refusal, and that the offered changes do fit.

use takt_planner::beats::{Demand, Placement, Refusal, Remedy, plan};

use super::{MS, demand, host};

fn refused(demands: &[Demand]) -> String {
    let refusal = plan(&host(1, MS / 2, 62_500), demands).unwrap_err();
    refusal.to_string()
}

/// With the demand changed by the remedy.
pub fn mend(demand: &mut Demand, remedy: &Remedy) {
    match remedy {
        Remedy::Offset { offset_ns } => demand.offset_ns = Some(*offset_ns),
        Remedy::Cpus { cpus } => demand.cpus = Some(cpus.clone()),
        Remedy::Budget { budget_ns } => demand.budget_ns = *budget_ns,
        Remedy::Period { period_ns } => demand.period_ns = *period_ns,
    }
}

#[test]
fn the_obstacle_is_named_and_what_would_fit() {
    let render = Demand {
        offset_ns: Some((20 * MS).into()),
        ..demand("render", 40, 25 - 5)
    };
    let mixer = demand("mixer", 35, 8);
    assert_eq!(
        refused(&[render, mixer]),
        "mixer needs 16 slots of 500us in every 35ms; CPU 0: 20ms to 40ms of every 40ms is held by \
         render; period = \"40ms\" fits"
    );
}

#[test]
fn what_must_stay_free_is_an_obstacle() {
    let wanted = [demand("a", 40, 20), demand("b", 40, 18)];
    assert_eq!(
        refused(&wanted),
        "b needs 36 slots of 500us in every 40ms; CPU 0: 6.25 % of it stays free, which leaves \
         17.5ms; budget = \"17.5ms\" or period = \"80ms\" fits"
    );
}

#[test]
fn an_offset_that_is_taken() {
    let at = |name: &str, offset_ms: u64| Demand {
        offset_ns: Some((offset_ms * MS).into()),
        ..demand(name, 40, 8)
    };
    assert_eq!(
        refused(&[at("a", 4), at("b", 6)]),
        "b needs 16 slots of 500us in every 40ms, from 6ms on; CPU 0: 4ms to 12ms of every 40ms is \
         held by a; offset = \"12ms\" fits"
    );
}

#[test]
fn another_cpu_may_have_room() {
    let on_first = |name: &str| Demand {
        cpus: Some(vec![0]),
        ..demand(name, 40, 30)
    };
    let refusal = plan(&host(2, MS, 62_500), &[on_first("a"), on_first("b")]).unwrap_err();
    assert!(
        refusal.to_string().contains("; cpus = \"1\" or "),
        "{refusal}"
    );
}

#[test]
fn frames_and_tables_have_their_limits() {
    let wanted = [demand("a", 3989, 1), demand("b", 997, 1)];
    assert_eq!(
        refused(&wanted),
        "a needs 2 slots of 500us in every 3.989s; CPU 0: the periods on it would repeat after \
         3977.033s, and 4s is the most; no smaller budget and no longer period that was tried fits"
    );
    let fine = host(1, MS / 100, 62_500);
    let fast = Demand {
        period_ns: (MS / 2).into(),
        budget_ns: MS / 100,
        ..demand("fast", 0, 0)
    };
    let refusal = plan(&fine, &[fast, demand("slow", 4000, 1)]).unwrap_err();
    assert!(
        refusal
            .to_string()
            .contains("its table would have more than 4096 slots"),
        "{refusal}"
    );
}

#[test]
fn nonsense_is_refused() {
    let says = |wanted: Demand, words: &str| {
        let said = refused(&[wanted]);
        assert!(said.starts_with("x ") && said.contains(words), "{said}");
    };
    let x = demand("x", 40, 8);
    let billion = 1_000_000_000 * 1000 * MS;
    for period_ns in [0, MS / 10, 40 * MS + 1, billion, u64::MAX] {
        says(
            Demand {
                period_ns: period_ns.into(),
                ..x.clone()
            },
            "periods are multiples of the grid of 500us up to 4s",
        );
    }
    for budget_ns in [0, 41 * MS, billion, u64::MAX] {
        says(
            Demand {
                budget_ns,
                ..x.clone()
            },
            "in every 40ms, and whole slots of 500us",
        );
    }
    for lead_ns in [32 * MS + 1, u64::MAX] {
        says(
            Demand {
                lead_ns,
                ..x.clone()
            },
            "with a lead of ",
        );
    }
    for offset_ns in [0, MS / 2, 5 * MS + 1, 33 * MS, u64::MAX] {
        let offset_ns = Some(offset_ns);
        says(
            Demand {
                offset_ns: offset_ns.map(Into::into),
                lead_ns: MS,
                ..x.clone()
            },
            "a multiple of 500us from 1ms to 32ms",
        );
    }
    let cpus = Some(vec![1, 2]);
    says(
        Demand { cpus, ..x.clone() },
        "may run on CPUs 1,2, and CPU 0 carry beats",
    );
    let elsewhere = plan(
        &host(2, MS / 2, 10_000),
        &[demand("x", 40, 30), demand("y", 40, 30)],
    );
    let mut standing = x.clone();
    standing.standing = Some(elsewhere.unwrap().placements[1].clone());
    says(standing, "has slots that cannot stay");
    let refusal = plan(&host(1, 0, 62_500), std::slice::from_ref(&x)).unwrap_err();
    assert_eq!(refusal, Refusal::Grid { grid_ns: 0.into() });
    let refusal = plan(&host(1, MS, 62_500), &vec![x; 257]).unwrap_err();
    assert_eq!(refusal, Refusal::TooMany { demands: 257 });
}

#[test]
fn what_stands_twice_is_refused() {
    let table = plan(&host(1, MS / 2, 62_500), &[demand("x", 40, 8)]).unwrap();
    let twice = |name: &str, standing: Placement| Demand {
        standing: Some(standing),
        ..demand(name, 40, 8)
    };
    let place = &table.placements[0];
    let said = refused(&[twice("a", place.clone()), twice("x", place.clone())]);
    assert!(said.starts_with("x has slots that cannot stay"), "{said}");
}

#[test]
fn programs_can_read_it() {
    let wanted = [demand("a", 40, 20), demand("b", 40, 18)];
    let refusal = plan(&host(1, MS / 2, 62_500), &wanted).unwrap_err();
    let json = serde_json::to_value(&refusal).unwrap();
    assert_eq!(json["kind"], "no-room");
    assert_eq!(json["obstacles"][0]["obstacle"], "free");
    assert_eq!(json["obstacles"][0]["left_ns"], 17_500_000);
    assert_eq!(json["fits"][0]["change"], "budget");
    assert_eq!(json["fits"][0]["budget_ns"], 17_500_000);
}
