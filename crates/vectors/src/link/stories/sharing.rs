//! Classes and tenants that share and lend a link's capacity.

use super::{MBIT, Wire, borrower, class, plan};
use crate::{
    Failure,
    concept::Vector,
    link::{Answer, Call, Class, Link},
};

/// Each is always backlogged, until so much time has passed.
fn busy(wire: &mut Wire, classes: &[(u32, u32)], until_ns: u64) -> Result<(), Failure> {
    for (id, bytes) in classes {
        wire.arrive(*id, *bytes, 1)?;
        wire.arrive(*id, *bytes, 1)?;
    }
    while wire.now_ns < until_ns {
        match wire.ask()? {
            Answer::Wait { until_ns } => wire.now_ns = until_ns,
            Answer::Packet { class, .. } => {
                if let Some((id, bytes)) = classes.iter().find(|(id, _)| *id == class) {
                    wire.arrive(*id, *bytes, 1)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

pub fn sharing() -> Result<Vector<Link>, Failure> {
    let classes = [
        class(1, 40 * MBIT, 3),
        class(2, 40 * MBIT, 3),
        class(3, 20 * MBIT, 3),
        class(4, 20 * MBIT, 3),
    ];
    let mut wire = Wire::new(
        "120 on a link of 100: costs scale, and none bursts when others stop",
        plan(100 * MBIT, &classes),
    )?;
    let frames = [(1, 1476), (2, 976), (3, 1476), (4, 176)];
    busy(&mut wire, &frames, 3_000_000)?;
    busy(&mut wire, &frames[..1], 3_500_000)?;
    wire.drain(0)?;
    wire.done(&[1, 2, 3, 4])
}

pub fn borrowing() -> Result<Vector<Link>, Failure> {
    let classes = [
        borrower(1, 50 * MBIT, 80 * MBIT, 50 * MBIT),
        borrower(2, 30 * MBIT, 0, 30 * MBIT),
        class(3, 20 * MBIT, 3),
    ];
    let mut wire = Wire::new(
        "alone up to the ceiling, together what is guaranteed",
        plan(100 * MBIT, &classes),
    )?;
    busy(&mut wire, &[(1, 1476)], 2_000_000)?;
    busy(&mut wire, &[(1, 1476), (2, 1476), (3, 1476)], 4_000_000)?;
    wire.drain(0)?;
    wire.done(&[1, 2, 3])
}

pub fn spare_by_weight() -> Result<Vector<Link>, Failure> {
    let classes = [
        borrower(1, 10 * MBIT, 0, MBIT),
        borrower(2, 10 * MBIT, 0, 3 * MBIT),
        borrower(3, 0, 20 * MBIT, 400_000 * MBIT),
        // Far ahead in virtual time with every frame.
        borrower(4, 0, 0, 1000),
    ];
    let mut wire = Wire::new("what is spare, by weight", plan(100 * MBIT, &classes))?;
    let frames = [(1, 1476), (2, 1476), (3, 1476), (4, 1476)];
    busy(&mut wire, &frames, 3_000_000)?;
    wire.drain(0)?;
    wire.done(&[1, 2, 3, 4])
}

pub fn floors() -> Result<Vector<Link>, Failure> {
    let low = Class {
        floor_bps: 5 * MBIT,
        priority: 7,
        ..borrower(2, 0, 0, MBIT)
    };
    let mut wire = Wire::new(
        "a floor keeps a low priority from starving",
        plan(100 * MBIT, &[class(1, 100 * MBIT, 0), low]),
    )?;
    busy(&mut wire, &[(1, 1476), (2, 976)], 4_000_000)?;
    wire.drain(0)?;
    wire.done(&[1, 2])
}

fn with_tenants() -> Vec<Class> {
    let tenant = |id, heads, rate, ceil| Class {
        queue_packets: 0,
        heads,
        ..borrower(id, rate * MBIT, ceil * MBIT, rate * MBIT)
    };
    let of = |node, class| Class { node, ..class };
    vec![
        tenant(10, 1, 60, 80),
        tenant(20, 2, 40, 0),
        of(1, borrower(1, 40 * MBIT, 0, 40 * MBIT)),
        of(1, borrower(2, 20 * MBIT, 30 * MBIT, 20 * MBIT)),
        of(2, class(3, 10 * MBIT, 3)),
        of(2, borrower(4, 0, 0, MBIT)),
    ]
}

pub fn tenants() -> Result<Vector<Link>, Failure> {
    let mut wire = Wire::new(
        "tenants share what is theirs among their classes",
        plan(100 * MBIT, &with_tenants()),
    )?;
    busy(&mut wire, &[(1, 1476), (2, 976)], 2_000_000)?;
    busy(
        &mut wire,
        &[(1, 1476), (2, 976), (3, 1476), (4, 476)],
        4_000_000,
    )?;
    wire.drain(0)?;
    wire.done(&[1, 2, 3, 4, 10, 20])
}

pub fn tenants_change() -> Result<Vector<Link>, Failure> {
    let mut wire = Wire::new(
        "a tenant leaves under load, and another gets its node",
        plan(100 * MBIT, &with_tenants()),
    )?;
    for _ in 0..5 {
        for id in 1..=4 {
            wire.arrive(id, 1476, 1)?;
        }
    }
    for _ in 0..4 {
        wire.ask()?;
    }
    let mut after = with_tenants();
    after[0] = Class {
        queue_packets: 0,
        ..borrower(10, 0, 0, MBIT)
    };
    after.push(Class {
        id: 30,
        ..with_tenants()[0]
    });
    // One class stays with the tenant, one leaves it, one joins it.
    after[3].node = 0;
    after[4].node = 1;
    wire.recorder
        .call(Call::Replace(plan(100 * MBIT, &after)))?;
    wire.arrive(1, 976, 1)?;
    wire.drain(0)?;
    wire.done(&[1, 2, 3, 4, 10, 20, 30])
}
