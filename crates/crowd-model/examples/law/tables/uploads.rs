//! Uploads over 802.11g.

use takt_crowd_model::{AccessPoint, AccessQueue, Control, Figures, FlowTerms, Setup};
use takt_medium::{Profile, RateChoice, theory::Saturation};

use super::{Row, Runs, S_NS, Table, compared, mean, shared};

/// One and a half times the wire and one frame and one acknowledgement that wait for their
/// turns among terminals and an access point that always have frames.
fn bar_ms(setup: &Setup) -> f64 {
    let saturation = Saturation::new(Profile::dot11g(), 7, 1514);
    let senders = setup.terminals.len() as u32 + 1;
    let turn_ms = 1514.0 * 8.0 / saturation.standard_bps(senders) * f64::from(senders) * 1e3;
    1.5 * (setup.delay_ns as f64 / 1e6 + 2.0 * turn_ms)
}

const AGAINST: &str = "first: CUBIC | BBR | Takt | after: CUBIC | BBR | Takt | Jain CUBIC | BBR \
                       | Takt | p99 CUBIC | BBR | Takt | bar";

/// Everyone with CUBIC, with BBR, with Takt.
fn against(name: impl Into<String>, setup: Setup) -> Row {
    Row::new(name, move || {
        let [cubic, bbr, takt] = [
            setup.clone(),
            setup.clone().with_control(Control::Bbr),
            setup.clone().with_members(setup.terminals.len()),
        ]
        .map(|setup| Runs::new(&setup));
        format!(
            "{} | {:.1}",
            compared([&cubic, &bbr, &takt]),
            bar_ms(&setup)
        )
    })
}

pub fn delays() -> Table {
    let mut rows = Vec::new();
    for delay_ms in [0, 16, 64, 128, 256] {
        for terminals in [1, 2, 3, 5, 10] {
            let name = format!("{delay_ms} ms, n = {terminals}");
            rows.push(against(name, Setup::uploads(terminals, delay_ms)));
        }
    }
    Table {
        title: "Terminals and wired delay",
        text: "",
        columns: AGAINST,
        rows,
    }
}

pub fn losses() -> Table {
    let mut rows = Vec::new();
    for (terminals, delay_ms) in [(1, 16), (2, 16), (5, 16), (10, 16), (10, 64)] {
        for percent in [1, 2] {
            let setup = Setup {
                loss_ppm: percent * 10_000,
                ..Setup::uploads(terminals, delay_ms)
            };
            rows.push(against(
                format!("{percent} %, {delay_ms} ms, n = {terminals}"),
                setup,
            ));
        }
    }
    Table {
        title: "Random loss of data on the wire",
        text: "",
        columns: AGAINST,
        rows,
    }
}

pub fn standing() -> Table {
    let row = |segments: u32| {
        Row::new(segments.to_string(), move || {
            let of = |(terminals, delay_ms)| {
                let setup = Setup {
                    standing_segments: segments,
                    ..Setup::uploads(terminals, delay_ms).with_members(terminals)
                };
                let runs = Runs::new(&setup);
                format!("{} | {}", runs.total(), runs.p99_ms())
            };
            [(3, 0), (5, 16), (10, 16), (10, 64)].map(of).join(" | ")
        })
    };
    Table {
        title: "What all keep in queues together (s)",
        text: "",
        columns: "0 ms, n = 3 | p99 | 16 ms, n = 5 | p99 | 16 ms, n = 10 | p99 | 64 ms, n = 10 \
                  | p99",
        rows: [4, 5, 6, 7, 9].map(row).into(),
    }
}

/// What the first model left out.
pub fn conditions() -> Table {
    let ten = || Setup::uploads(10, 16);
    let rates = [7, 7, 7, 7, 7, 4, 4, 4, 2, 2];
    let mut unequal = ten();
    for (terminal, rate) in unequal.terminals.iter_mut().zip(rates) {
        terminal.rate = RateChoice::Fixed(rate);
    }
    let mut several = Setup::uploads(5, 16);
    for terminal in &mut several.terminals {
        terminal.flows = vec![terminal.flows[0]; 3];
    }
    let mut going = ten();
    for (at, terminal) in going.terminals.iter_mut().enumerate().skip(5) {
        let begins_ns = at as u64 * 3 * S_NS;
        terminal.flows = vec![FlowTerms {
            ends_ns: begins_ns + 20 * S_NS,
            ..FlowTerms::upload(begins_ns)
        }];
    }
    let changed = |change: fn(&mut Setup)| {
        let mut setup = ten();
        change(&mut setup);
        setup
    };
    let rows = vec![
        against("no jitter", changed(|setup| setup.jitter_ns = 0)),
        against(
            "20 ms of jitter",
            changed(|setup| setup.jitter_ns = 20_000_000),
        ),
        against(
            "5 % of acknowledgements lost",
            changed(|setup| setup.ack_loss_ppm = 50_000),
        ),
        against(
            "a third of reports lost",
            changed(|setup| setup.report_loss_ppm = 333_333),
        ),
        against(
            "100 frames at the access point",
            changed(|setup| setup.access_point.frames = 100),
        ),
        against("five at 54, three at 24, two at 12 Mbit/s", unequal),
        against("five terminals with three flows each", several),
        against("five come one after the other, and go after 20 s", going),
    ];
    Table {
        title: "Other conditions, ten terminals, 16 ms",
        text: "",
        columns: AGAINST,
        rows,
    }
}

/// What an access point with Takt does.
const WITH_TAKT: AccessPoint = AccessPoint {
    queue: AccessQueue::Turns,
    frames: 1000,
    thins: true,
    counts_strangers: true,
};

pub fn strangers() -> Table {
    let mut rows = Vec::new();
    for terminals in [2, 5, 10] {
        for (control, name) in [(Control::Cubic, "CUBIC"), (Control::Bbr, "BBR")] {
            rows.push(Row::new(
                format!("one {name} among {terminals}"),
                move || {
                    let of = |(access_point, members)| {
                        let mut setup = Setup::uploads(terminals, 16).with_members(members);
                        setup.access_point = access_point;
                        setup.terminals[terminals - 1].flows[0].control = control;
                        let runs = Runs::new(&setup).after;
                        let others = |figures: &Figures| {
                            let shares = (0..terminals - 1).map(|at| figures.share(at));
                            shares.fold(f64::MAX, f64::min)
                        };
                        format!(
                            "{:.2} | {:.2} | {:.2}",
                            mean(&runs, Figures::total_mbps),
                            mean(&runs, |figures| figures.share(terminals - 1)),
                            mean(&runs, others)
                        )
                    };
                    let fifo = AccessPoint::default();
                    [
                        (fifo, 0),
                        (fifo, terminals - 1),
                        (WITH_TAKT, 0),
                        (WITH_TAKT, terminals - 1),
                    ]
                    .map(of)
                    .join(" | ")
                },
            ));
        }
    }
    Table {
        title: "A stranger, 16 ms",
        text: "The last terminal has no Takt, the others have CUBIC or are members. Shares are of \
               an equal part\nof the total. An access point with Takt thins acknowledgements, \
               serves stations in turns, and\ncounts strangers.",
        columns: "FIFO, CUBIC: total | stranger | least | FIFO, members: total | stranger | least \
                  | Takt there, CUBIC: total | stranger | least | Takt there, members: total \
                  | stranger | least",
        rows,
    }
}

/// Some of ten have Takt, the others CUBIC.
pub fn adoption() -> Table {
    let mut rows = Vec::new();
    let fifo = AccessPoint::default();
    for (access_point, where_) in [(fifo, "FIFO"), (WITH_TAKT, "Takt at the access point")] {
        for members in [0, 1, 3, 5, 9, 10] {
            rows.push(Row::new(format!("{members} of 10, {where_}"), move || {
                let mut setup = Setup::uploads(10, 16).with_members(members);
                setup.access_point = access_point;
                shared(&setup, members)
            }));
        }
    }
    Table {
        title: "Adoption: ten terminals, 16 ms",
        text: "The mean rate of a member, and of a terminal with CUBIC.",
        columns: "member | other | total | p99",
        rows,
    }
}
