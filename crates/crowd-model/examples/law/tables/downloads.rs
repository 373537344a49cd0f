//! Downloads over 802.11g.

use takt_crowd_model::{AccessPoint, Control, Direction, Setup};

use super::{Row, Runs, Table, compared, shared};

/// Servers send, and the access point's queue is the narrow place.
pub fn delays() -> Table {
    let mut rows = Vec::new();
    for delay_ms in [0, 16, 64, 256] {
        for terminals in [1, 5, 10] {
            let setup = Setup::uploads(terminals, delay_ms).with_direction(Direction::Down);
            rows.push(Row::new(
                format!("{delay_ms} ms, n = {terminals}"),
                move || {
                    let [cubic, bbr, bounded] = [
                        setup.clone(),
                        setup.clone().with_control(Control::Bbr),
                        setup.clone().with_bounds(terminals),
                    ]
                    .map(|setup| Runs::new(&setup));
                    compared([&cubic, &bbr, &bounded])
                },
            ));
        }
    }
    Table {
        title: "Downloads",
        text: "Each terminal downloads one flow. The access point has a plain queue of 1,000 \
               frames. Servers have CUBIC,\nBBR, or CUBIC while each terminal bounds what it \
               receives.",
        columns: "first: CUBIC | BBR | bounds | after: CUBIC | BBR | bounds | Jain CUBIC | BBR | \
                  bounds | p99 CUBIC | BBR | bounds",
        rows,
    }
}

/// Some of ten bound what they receive, all from servers with CUBIC.
pub fn beside() -> Table {
    let mut rows = Vec::new();
    for (access_point, where_) in [
        (AccessPoint::default(), "FIFO"),
        (AccessPoint::MAC80211, "fq_codel"),
    ] {
        for bounded in [0, 1, 5, 9, 10] {
            rows.push(Row::new(format!("{bounded} of 10, {where_}"), move || {
                let mut setup = Setup::uploads(10, 16)
                    .with_direction(Direction::Down)
                    .with_bounds(bounded);
                setup.access_point = access_point;
                shared(&setup, bounded)
            }));
        }
    }
    Table {
        title: "Bounded downloads beside others: ten terminals, 16 ms",
        text: "The mean rate of a terminal that bounds what it receives, and of one that does not.",
        columns: "bounded | other | total | p99",
        rows,
    }
}
