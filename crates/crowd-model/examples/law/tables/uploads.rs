//! Uploads over 802.11g.

use takt_crowd_model::{
    AccessPoint, AccessQueue, Control, Figures, FlowTerms, Interval, Setup, Terminal, measure,
};
use takt_medium::{Profile, RateChoice, theory::Saturation};

use super::{
    END_NS, FIRST_NS, Row, Runs, S_NS, Table, compared, mean, shown, today::of_today, values,
};

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

/// In which of ten places a member begins decides what it gets, as it does without Takt.
const PLACES: u64 = 10;

/// The setup's last 50 s, each seed with another order in which terminals begin.
fn in_turns(setup: &Setup, members: usize) -> Vec<Figures> {
    let runs = (1..=PLACES).filter_map(|seed| {
        let mut setup = setup.clone().with_members(members);
        let begins_ns: Vec<u64> = setup.terminals.iter().map(begins_ns).collect();
        for (at, terminal) in setup.terminals.iter_mut().enumerate() {
            terminal.flows[0].begins_ns = begins_ns[(at + seed as usize) % begins_ns.len()];
        }
        measure(&setup, seed, &[FIRST_NS, END_NS]).pop()
    });
    runs.collect()
}

fn begins_ns(terminal: &Terminal) -> u64 {
    terminal.flows[0].begins_ns
}

/// What members get, what the same terminals get with CUBIC, and what the others do.
fn adopted(setup: &Setup, members: usize) -> String {
    let (with, without) = (in_turns(setup, members), in_turns(setup, 0));
    let of = |runs: &[Figures], from: usize, until: usize| {
        let rates = |figures: &Figures| {
            let rates = &figures.rates_mbps[from..until];
            rates.iter().sum::<f64>() / rates.len() as f64
        };
        if until > from {
            shown(&Interval::from_values(&values(runs, rates)))
        } else {
            "-".to_owned()
        }
    };
    format!(
        "{} | {} | {} | {:.2} | {:.1}",
        of(&with, 0, members),
        of(&without, 0, members),
        of(&with, members, setup.terminals.len()),
        mean(&with, Figures::total_mbps),
        mean(&with, |figures| figures.rtt_ms(0.99))
    )
}

/// Some of ten have Takt, the others CUBIC.
pub fn adoption() -> Table {
    let fifo = |delay_ms| Setup::uploads(10, delay_ms);
    let no_rates = Setup {
        reports_rates: false,
        ..fifo(16)
    };
    let takt = Setup {
        access_point: WITH_TAKT,
        ..fifo(16)
    };
    let today = of_today(Profile::today(), 10, 16);
    let mut rows = Vec::new();
    for (name, setup) in [
        ("802.11n, fq_codel", today),
        ("FIFO", fifo(16)),
        ("FIFO, 64 ms", fifo(64)),
        ("FIFO, 256 ms", fifo(256)),
        ("FIFO, no rates reported", no_rates),
        ("Takt at the access point", takt),
    ] {
        for members in [1, 3, 5, 9, 10] {
            let setup = setup.clone();
            rows.push(Row::new(format!("{members} of 10, {name}"), move || {
                adopted(&setup, members)
            }));
        }
    }
    Table {
        title: "Adoption: ten terminals, 16 ms",
        text: "The mean rate of a member, of the same terminals if all have CUBIC, and of a terminal \
               without Takt. Ten\nseeds, each with another terminal that begins first: that one has \
               most, with or without Takt.",
        columns: "member | CUBIC in its place | other | total | p99",
        rows,
    }
}
