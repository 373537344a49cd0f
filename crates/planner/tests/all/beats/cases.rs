//! Single cases, with the expected tables.

use takt_planner::beats::{Demand, Piece, Refusal, demands, plan};

use super::{MS, demand, host, sound};

/// CPU, begin, beat and end in milliseconds of the only piece.
fn whole(pieces: &[Piece]) -> [u64; 4] {
    let [piece] = pieces else {
        panic!("{pieces:?}")
    };
    let ms = |ns: u64| ns / MS;
    [
        piece.cpu.into(),
        ms(piece.begin_ns),
        ms(piece.beat_ns),
        ms(piece.end_ns),
    ]
}

#[test]
fn the_profile_of_the_paper() {
    let host = host(1, 10 * MS, 62_500);
    let mut wanted = vec![
        demand("A", 40, 10),
        demand("B", 80, 10),
        demand("C", 160, 10),
    ];
    let table = plan(&host, &wanted).unwrap();
    sound::check(&host, &wanted, &table);
    assert_eq!(table.tables[0].frame_ns, 160_000_000.into());
    let order: Vec<(usize, u64)> = table.tables[0]
        .slots
        .iter()
        .map(|slot| (slot.demand, u64::from(slot.begin_ns) / MS))
        .collect();
    assert_eq!(
        order,
        [
            (0, 0),
            (1, 10),
            (2, 20),
            (0, 40),
            (0, 80),
            (1, 90),
            (0, 120)
        ]
    );
    // Of 16 slots 7 are assigned, and one is kept free: 8 are left.
    wanted.push(demand("D", 160, 80));
    sound::check(&host, &wanted, &plan(&host, &wanted).unwrap());
    wanted[3].budget_ns = 90 * MS;
    plan(&host, &wanted).unwrap_err();
}

#[test]
fn nothing_takes_nothing() {
    let table = plan(&host(2, MS, 62_500), &[]).unwrap();
    assert!(table.placements.is_empty() && table.tables.is_empty());
}

#[test]
fn the_first_cpu_is_filled_first_and_the_largest_go_before() {
    let host = host(2, MS, 100_000);
    let wanted = [
        demand("small", 10, 1),
        demand("large", 20, 12),
        demand("next", 10, 4),
    ];
    let table = plan(&host, &wanted).unwrap();
    sound::check(&host, &wanted, &table);
    let at: Vec<[u64; 4]> = table.placements.iter().map(|p| whole(&p.pieces)).collect();
    assert_eq!(at, [[1, 4, 4, 5], [0, 0, 0, 12], [1, 0, 0, 4]]);
}

#[test]
fn offsets_leads_and_affinities_are_kept() {
    let host = host(4, MS, 62_500);
    let wanted = [
        Demand {
            offset_ns: Some((5 * MS).into()),
            lead_ns: 20_000,
            ..demand("a", 40, 8)
        },
        Demand {
            cpus: Some(vec![2, 9]),
            ..demand("b", 40, 8)
        },
        Demand {
            lead_ns: 1_000_001,
            ..demand("c", 40, 8)
        },
    ];
    let table = plan(&host, &wanted).unwrap();
    sound::check(&host, &wanted, &table);
    let at: Vec<[u64; 4]> = table.placements.iter().map(|p| whole(&p.pieces)).collect();
    assert_eq!(at, [[1, 4, 5, 13], [2, 0, 0, 8], [0, 0, 2, 10]]);
}

#[test]
fn a_budget_is_cut_only_when_it_must_be() {
    let host = host(1, MS, 62_500);
    let wanted = [
        Demand {
            offset_ns: Some((4 * MS).into()),
            ..demand("middle", 10, 2)
        },
        Demand {
            is_group: true,
            ..demand("cut", 10, 6)
        },
    ];
    let table = plan(&host, &wanted).unwrap();
    sound::check(&host, &wanted, &table);
    let pieces = &table.placements[1].pieces;
    let times: Vec<(u64, u64)> = pieces
        .iter()
        .map(|p| (p.begin_ns / MS, p.end_ns / MS))
        .collect();
    assert_eq!(times, [(0, 4), (6, 8)]);
}

/// Two CPUs that are half taken, and a thread that needs more than either has left.
fn half_and_half() -> [Demand; 3] {
    let on = |cpu: u32, offset_ms: u64, name: &str| Demand {
        cpus: Some(vec![cpu]),
        offset_ns: Some((offset_ms * MS).into()),
        ..demand(name, 10, 5)
    };
    [on(0, 5, "late"), on(1, 0, "early"), demand("both", 10, 7)]
}

#[test]
fn a_thread_goes_over_several_cpus_in_the_last_resort() {
    let host = host(2, MS, 62_500);
    let wanted = half_and_half();
    let table = plan(&host, &wanted).unwrap();
    sound::check(&host, &wanted, &table);
    let pieces = &table.placements[2].pieces;
    let times: Vec<[u64; 3]> = pieces
        .iter()
        .map(|p| [p.cpu.into(), p.begin_ns / MS, p.end_ns / MS])
        .collect();
    // CPU 1 is free from 5 on, and one slot stays between them.
    assert_eq!(times, [[0, 0, 4], [1, 5, 8]]);
}

#[test]
fn it_changes_cpus_between_periods_no_faster_than_within_them() {
    let host = host(2, MS, 62_500);
    let mut wanted = half_and_half();
    wanted[1].offset_ns = Some(MS.into());
    wanted[1].budget_ns = 6 * MS;
    let table = plan(&host, &wanted).unwrap();
    sound::check(&host, &wanted, &table);
    let pieces = &table.placements[2].pieces;
    assert_eq!((pieces[0].begin_ns, pieces[1].end_ns), (MS, 10 * MS));
}

#[test]
fn a_group_stays_together() {
    let mut wanted = half_and_half();
    wanted[2].is_group = true;
    let refused = plan(&host(2, MS, 62_500), &wanted).unwrap_err();
    assert!(matches!(refused, Refusal::NoRoom { name, .. } if name == "both"));
}

#[test]
fn what_stands_stays() {
    let host = host(1, MS, 62_500);
    let first = [demand("a", 10, 2), demand("b", 20, 2)];
    let table = plan(&host, &first).unwrap();
    let mut wanted: Vec<Demand> = first.into();
    for (demand, placement) in wanted.iter_mut().zip(table.placements) {
        demand.standing = Some(placement);
    }
    // It would have been placed first.
    wanted.insert(0, demand("c", 10, 5));
    let table = plan(&host, &wanted).unwrap();
    sound::check(&host, &wanted, &table);
    assert_eq!(whole(&table.placements[0].pieces), [0, 4, 4, 9]);
}

#[test]
fn the_examples_fit_on_one_cpu() {
    for (name, cpus) in [("audio", 1), ("plc", 1)] {
        let path = format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let policy = takt_policy::load(path.as_ref()).unwrap().policy;
        let beats = policy.beats.unwrap();
        let host = host(cpus, beats.grid_ns, beats.free_ppm);
        let wanted = demands(&beats);
        let table = plan(&host, &wanted).unwrap_or_else(|refused| panic!("{refused}"));
        sound::check(&host, &wanted, &table);
    }
}
