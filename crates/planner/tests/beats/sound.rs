//! Whether a timetable keeps its guarantees, read from the tables slot by slot.

use takt_planner::beats::{
    CpuTable, Demand, FRAME_MAX_NS, Host, Piece, SLOTS_MAX, Timetable, reserved_ns,
};

pub fn check(host: &Host, demands: &[Demand], timetable: &Timetable) {
    assert_eq!(timetable.placements.len(), demands.len());
    for (demand, placement) in demands.iter().zip(&timetable.placements) {
        match &demand.standing {
            Some(standing) => assert_eq!(placement, standing, "{} has moved", demand.name),
            None => check_pieces(host, demand, &placement.pieces),
        }
    }
    for table in &timetable.tables {
        check_table(host, demands, table);
    }
    for (index, demand) in demands.iter().enumerate() {
        check_presence(demand, index, timetable);
        if demand.standing.is_none() {
            check_reserved(host, demand, index, timetable);
        }
    }
}

fn check_pieces(host: &Host, demand: &Demand, pieces: &[Piece]) {
    let name = &demand.name;
    let whole = |ns: u64| ns.div_ceil(host.grid_ns) * host.grid_ns;
    let budget_ns: u64 = pieces
        .iter()
        .map(|piece| piece.end_ns - piece.beat_ns)
        .sum();
    assert_eq!(budget_ns, whole(demand.budget_ns), "{name}");
    for (index, piece) in pieces.iter().enumerate() {
        let lead_ns = if index == 0 { whole(demand.lead_ns) } else { 0 };
        assert_eq!(piece.beat_ns - piece.begin_ns, lead_ns, "{name}");
        assert!(
            piece.beat_ns < piece.end_ns && piece.end_ns <= demand.period_ns,
            "{name}"
        );
        for edge_ns in [piece.begin_ns, piece.beat_ns, piece.end_ns] {
            assert_eq!(edge_ns % host.grid_ns, 0, "{name}");
        }
        assert!(host.cpus.contains(&piece.cpu), "{name}");
        assert!(
            demand.cpus.iter().all(|cpus| cpus.contains(&piece.cpu)),
            "{name}"
        );
        assert!(!demand.is_group || piece.cpu == pieces[0].cpu, "{name}");
        // Of the last piece, the first of the next period.
        let (next, period_ns) = match pieces.get(index + 1) {
            Some(next) => (next, 0),
            None => (&pieces[0], demand.period_ns),
        };
        let between_ns = if next.cpu == piece.cpu {
            0
        } else {
            host.grid_ns
        };
        assert!(
            piece.end_ns + between_ns <= next.begin_ns + period_ns,
            "{name}"
        );
    }
    if let Some(offset_ns) = demand.offset_ns {
        assert_eq!(pieces[0].beat_ns, offset_ns, "{name}");
    }
}

fn check_table(host: &Host, demands: &[Demand], table: &CpuTable) {
    let frame_ns = u64::from(table.frame_ns);
    assert!(frame_ns <= FRAME_MAX_NS && table.slots.len() <= SLOTS_MAX);
    let mut end_before_ns = 0;
    let mut assigned_ns = 0;
    for slot in &table.slots {
        assert!(end_before_ns <= slot.begin_ns && slot.begin_ns <= slot.beat_ns);
        assert!(slot.beat_ns < slot.end_ns && slot.end_ns <= table.frame_ns);
        assert_eq!(frame_ns % demands[slot.demand].period_ns, 0);
        end_before_ns = slot.end_ns;
        assigned_ns += u64::from(slot.end_ns - slot.begin_ns);
    }
    let free_ns = frame_ns - assigned_ns;
    let share = u128::from(free_ns) * 1_000_000;
    assert!(
        share >= u128::from(frame_ns) * u128::from(host.free_ppm),
        "CPU {}",
        table.cpu
    );
}

/// The tables reserve as much for it as announced, to the nanosecond.
fn check_reserved(host: &Host, demand: &Demand, index: usize, timetable: &Timetable) {
    let in_period_ns = |table: &CpuTable| -> u64 {
        let slots = table.slots.iter().filter(|slot| slot.demand == index);
        let in_frame_ns: u64 = slots
            .map(|slot| u64::from(slot.end_ns - slot.begin_ns))
            .sum();
        let periods = u64::from(table.frame_ns) / demand.period_ns;
        match in_frame_ns {
            0 => 0,
            _ => {
                assert_eq!(in_frame_ns % periods, 0);
                in_frame_ns / periods
            }
        }
    };
    let there_ns: u64 = timetable.tables.iter().map(in_period_ns).sum();
    let said_ns = reserved_ns(host.grid_ns, demand.budget_ns, demand.lead_ns);
    assert_eq!(there_ns, said_ns, "{}", demand.name);
}

/// In every period of every frame it has its whole time on a CPU, at the same phases.
fn check_presence(demand: &Demand, index: usize, timetable: &Timetable) {
    let placement = &timetable.placements[index];
    for table in &timetable.tables {
        let pieces = placement
            .pieces
            .iter()
            .filter(|piece| piece.cpu == table.cpu);
        let jobs = u64::from(table.frame_ns) / demand.period_ns;
        let pieces: Vec<&Piece> = pieces.collect();
        let mut meant: Vec<[u64; 3]> = (0..jobs)
            .flat_map(|job| {
                let start_ns = job * demand.period_ns;
                let times = move |piece: &&Piece| {
                    [piece.begin_ns, piece.beat_ns, piece.end_ns].map(|ns| start_ns + ns)
                };
                pieces.iter().map(times).collect::<Vec<_>>()
            })
            .collect();
        meant.sort_unstable();
        let there: Vec<[u64; 3]> = table
            .slots
            .iter()
            .filter(|slot| slot.demand == index)
            .map(|slot| [slot.begin_ns, slot.beat_ns, slot.end_ns].map(u64::from))
            .collect();
        assert_eq!(there, meant, "{} on CPU {}", demand.name, table.cpu);
    }
    let on_tables = |piece: &Piece| timetable.tables.iter().any(|t| t.cpu == piece.cpu);
    assert!(placement.pieces.iter().all(on_tables), "{}", demand.name);
}
