//! Whether a timetable keeps its guarantees, read from the tables slot by slot.

use takt_planner::beats::{
    CpuTable, Demand, FRAME_MAX_NS, Host, Piece, SLOTS_MAX, Timetable, reserved,
};
use takt_policy::ExactTime;

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
        check_presence(host, demand, index, timetable);
        if demand.standing.is_none() {
            check_reserved(host, demand, index, timetable);
        }
    }
}

/// The number of the slot that begins there.
fn slot(host: &Host, edge_ns: u64) -> u64 {
    let slot = host.grid_ns.whole_in(edge_ns);
    assert_eq!(host.grid_ns.edge_ns(slot), edge_ns, "off the grid");
    slot
}

fn in_slots(host: &Host, time: ExactTime) -> u64 {
    time.in_slots(host.grid_ns).expect("on the grid")
}

/// Begin, beat and end.
fn edges(host: &Host, piece: &Piece) -> [u64; 3] {
    [piece.begin_ns, piece.beat_ns, piece.end_ns].map(|edge_ns| slot(host, edge_ns))
}

fn check_pieces(host: &Host, demand: &Demand, pieces: &[Piece]) {
    let name = &demand.name;
    let period = in_slots(host, demand.period_ns);
    let budget: u64 = pieces
        .iter()
        .map(|piece| edges(host, piece))
        .map(|[_, beat, end]| end - beat)
        .sum();
    assert_eq!(budget, host.grid_ns.covering(demand.budget_ns), "{name}");
    for (index, piece) in pieces.iter().enumerate() {
        let [begin, beat, end] = edges(host, piece);
        let lead_ns = if index == 0 { demand.lead_ns } else { 0 };
        assert_eq!(beat - begin, host.grid_ns.covering(lead_ns), "{name}");
        assert!(beat < end && end <= period, "{name}");
        assert!(host.cpus.contains(&piece.cpu), "{name}");
        assert!(
            demand.cpus.iter().all(|cpus| cpus.contains(&piece.cpu)),
            "{name}"
        );
        assert!(!demand.is_group || piece.cpu == pieces[0].cpu, "{name}");
        // Of the last piece, the first of the next period.
        let (next, later) = match pieces.get(index + 1) {
            Some(next) => (next, 0),
            None => (&pieces[0], period),
        };
        let between = u64::from(next.cpu != piece.cpu);
        assert!(end + between <= slot(host, next.begin_ns) + later, "{name}");
    }
    if let Some(offset) = demand.offset_ns {
        assert_eq!(pieces[0].beat_ns, offset.edge_ns(1), "{name}");
    }
}

fn check_table(host: &Host, demands: &[Demand], table: &CpuTable) {
    assert!(table.frame_ns <= FRAME_MAX_NS.into() && table.slots.len() <= SLOTS_MAX);
    let frame_ns = table.frame_ns.whole_ns();
    let mut end_before_ns = 0;
    let mut assigned_ns = 0;
    for slot in &table.slots {
        assert!(end_before_ns <= slot.begin_ns && slot.begin_ns <= slot.beat_ns);
        assert!(slot.beat_ns < slot.end_ns && u64::from(slot.end_ns) <= frame_ns);
        let period = demands[slot.demand].period_ns;
        assert!(table.frame_ns.in_slots(period).is_some());
        end_before_ns = slot.end_ns;
        assigned_ns += u64::from(slot.end_ns - slot.begin_ns);
    }
    // On a grid of fractions, each slot may be longer by less than a nanosecond.
    let free_ns = if host.grid_ns.is_fraction() {
        frame_ns + 1 + table.slots.len() as u64 - assigned_ns
    } else {
        frame_ns - assigned_ns
    };
    let share = u128::from(free_ns) * 1_000_000;
    assert!(
        share >= u128::from(frame_ns) * u128::from(host.free_ppm),
        "CPU {}",
        table.cpu
    );
}

/// The tables reserve as much for it as announced.
fn check_reserved(host: &Host, demand: &Demand, index: usize, timetable: &Timetable) {
    let in_period = |table: &CpuTable| -> u64 {
        let slots = table.slots.iter().filter(|slot| slot.demand == index);
        let in_frame: u64 = slots
            .map(|slot| {
                let length_ns = u64::from(slot.end_ns - slot.begin_ns);
                // To the nearest: both edges may be late by less than a nanosecond.
                host.grid_ns
                    .whole_in(length_ns + host.grid_ns.whole_ns() / 2)
            })
            .sum();
        let periods = table.frame_ns.in_slots(demand.period_ns);
        match in_frame {
            0 => 0,
            _ => {
                let periods = periods.expect("the frame is a multiple of the period");
                assert_eq!(in_frame % periods, 0);
                in_frame / periods
            }
        }
    };
    let there: u64 = timetable.tables.iter().map(in_period).sum();
    let said = reserved(host.grid_ns, demand.budget_ns, demand.lead_ns);
    assert_eq!(there, said, "{}", demand.name);
}

/// In every period of every frame it has its whole time on a CPU, at the same phases, and at
/// multiples of the grid: less than a nanosecond late, and never early but at the frame's end.
fn check_presence(host: &Host, demand: &Demand, index: usize, timetable: &Timetable) {
    let placement = &timetable.placements[index];
    let period = in_slots(host, demand.period_ns);
    for table in &timetable.tables {
        let pieces = placement
            .pieces
            .iter()
            .filter(|piece| piece.cpu == table.cpu);
        let pieces: Vec<&Piece> = pieces.collect();
        let jobs = if pieces.is_empty() {
            0
        } else {
            in_slots(host, table.frame_ns) / period
        };
        let frame_ns = table.frame_ns.whole_ns();
        let mut meant: Vec<[u64; 3]> = (0..jobs)
            .flat_map(|job| {
                let at = move |slot: u64| host.grid_ns.edge_ns(job * period + slot).min(frame_ns);
                let times = move |piece: &&Piece| edges(host, piece).map(at);
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
