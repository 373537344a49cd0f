//! The tables: what is compared, and how a row is made.

use takt_crowd_model::{
    AccessPoint, AccessQueue, Control, Figures, FlowTerms, Interval, Setup, measure,
};
use takt_medium::{
    Profile, RateChoice, SnrPath,
    rate_control::{Arf, Minstrel},
    theory::Saturation,
};

/// Above all tables.
pub const HEAD: &str = "\
# Figures of the crowd's law

Made by `cargo run --release -p takt-crowd-model --example law`; what they mean is in
[crowd-law.md](crowd-law.md). A model of TCP on the emulated WLAN, not a kernel: 802.11g at
54 Mbit/s, every terminal uploads one flow, up to 4 ms of jitter on each round trip, 1,000 frames
of queue at the access point. Five seeds, 60 s each: the first 10 s, and the 50 s after them.
Goodput in Mbit/s as the mean of the seeds, ± half of its 95 % interval; times in ms. Round trips
and Jain's index are those of the 50 s.";

const S_NS: u64 = 1_000_000_000;
const SEEDS: u64 = 5;
const FIRST_NS: u64 = 10 * S_NS;
const END_NS: u64 = 60 * S_NS;

/// A table.
pub struct Table {
    title: &'static str,
    text: &'static str,
    columns: &'static str,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// A row.
pub struct Row {
    name: String,
    cells: Box<dyn Fn() -> String + Send + Sync>,
}

impl Table {
    /// The title, the text and the heading.
    pub fn head(&self) -> String {
        let columns = self.columns.matches('|').count();
        let rule = format!("|---|{}", "--:|".repeat(columns));
        let text = match self.text {
            "" => String::new(),
            text => format!("{text}\n\n"),
        };
        format!(
            "## {}\n\n{text}| case | {} |\n{rule}",
            self.title, self.columns
        )
    }
}

impl Row {
    fn new(name: impl Into<String>, cells: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            cells: Box::new(cells),
        }
    }

    /// As it is printed.
    pub fn line(&self) -> String {
        format!("| {} | {} |", self.name, (self.cells)())
    }
}

/// All tables, in order.
pub fn all() -> Vec<Table> {
    vec![
        delays(),
        losses(),
        standing(),
        conditions(),
        strangers(),
        adoption(),
        phones(),
    ]
}

/// The figures of both parts, for each seed.
struct Runs {
    first: Vec<Figures>,
    after: Vec<Figures>,
}

impl Runs {
    fn of(setup: &Setup) -> Self {
        let (mut first, mut after) = (Vec::new(), Vec::new());
        for seed in 1..=SEEDS {
            let mut parts = measure(setup, seed, &[FIRST_NS, END_NS]);
            after.extend(parts.pop());
            first.extend(parts.pop());
        }
        Self { first, after }
    }

    fn total(&self) -> String {
        shown(&Interval::of(&values(&self.after, Figures::total_mbps)))
    }

    fn first_total(&self) -> String {
        format!("{:.2}", mean(&self.first, Figures::total_mbps))
    }

    fn jain(&self) -> String {
        format!("{:.3}", mean(&self.after, Figures::jain))
    }

    fn p99_ms(&self) -> String {
        format!("{:.1}", mean(&self.after, |figures| figures.rtt_ms(0.99)))
    }
}

fn values(figures: &[Figures], of: impl Fn(&Figures) -> f64) -> Vec<f64> {
    figures.iter().map(of).collect()
}

fn mean(figures: &[Figures], of: impl Fn(&Figures) -> f64) -> f64 {
    Interval::of(&values(figures, of)).mean
}

fn shown(interval: &Interval) -> String {
    format!("{:.2} ± {:.2}", interval.mean, interval.half)
}

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
        .map(|setup| Runs::of(&setup));
        let all = [&cubic, &bbr, &takt];
        let of = |cell: fn(&Runs) -> String| all.map(cell).join(" | ");
        format!(
            "{} | {} | {} | {} | {:.1}",
            of(Runs::first_total),
            of(Runs::total),
            of(Runs::jain),
            of(Runs::p99_ms),
            bar_ms(&setup)
        )
    })
}

fn delays() -> Table {
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

fn losses() -> Table {
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

fn standing() -> Table {
    let row = |segments: u32| {
        Row::new(segments.to_string(), move || {
            let of = |(terminals, delay_ms)| {
                let setup = Setup {
                    standing_segments: segments,
                    ..Setup::uploads(terminals, delay_ms).with_members(terminals)
                };
                let runs = Runs::of(&setup);
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
fn conditions() -> Table {
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

fn strangers() -> Table {
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
                        let runs = Runs::of(&setup).after;
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
fn adoption() -> Table {
    let mut rows = Vec::new();
    let fifo = AccessPoint::default();
    for (access_point, where_) in [(fifo, "FIFO"), (WITH_TAKT, "Takt at the access point")] {
        for members in [0, 1, 3, 5, 9, 10] {
            rows.push(Row::new(format!("{members} of 10, {where_}"), move || {
                let mut setup = Setup::uploads(10, 16).with_members(members);
                setup.access_point = access_point;
                let runs = Runs::of(&setup).after;
                let rates = |from: usize, until: usize| {
                    let of = |figures: &Figures| {
                        let rates = &figures.rates_mbps[from..until];
                        rates.iter().sum::<f64>() / rates.len() as f64
                    };
                    match until > from {
                        true => shown(&Interval::of(&values(&runs, of))),
                        false => "-".to_owned(),
                    }
                };
                format!(
                    "{} | {} | {:.2} | {:.1}",
                    rates(0, members),
                    rates(members, 10),
                    mean(&runs, Figures::total_mbps),
                    mean(&runs, |figures| figures.rtt_ms(0.99))
                )
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

const PHONES: [usize; 8] = [1, 2, 3, 4, 5, 6, 8, 10];

/// The cooperative middleware's figure 3: phones of 2011, whose rate controls fall with collisions.
fn phones() -> Table {
    let controls = [
        ("AMRR", Profile::phones_2011().rate_choice),
        ("ARF 10/4", RateChoice::Arf(Arf::TUNED)),
        ("minstrel", RateChoice::Minstrel(Minstrel::LEGACY)),
        ("fixed at 54", RateChoice::Fixed(7)),
    ];
    let mut rows = Vec::new();
    for (control, rate) in controls {
        for delay_ms in [0, 16, 64, 128, 256] {
            for (contender, is_takt) in [("CUBIC", false), ("Takt", true)] {
                rows.push(Row::new(
                    format!("{control}, {delay_ms} ms, {contender}"),
                    move || {
                        let of = |terminals| {
                            let members = if is_takt { terminals } else { 0 };
                            let runs = Runs::of(&of_2011(terminals, members, delay_ms, rate));
                            let totals = values(&runs.after, Figures::total_mbps);
                            let total = Interval::of(&totals);
                            format!("{:.1} ± {:.1}", total.mean, total.half)
                        };
                        PHONES.map(of).join(" | ")
                    },
                ));
            }
        }
    }
    Table {
        title: "Phones of 2011: the total by the number of terminals",
        text: "Profile phones-2011: 802.11g, seven attempts, an SNR of 35 dB with 3.6 dB of \
               deviation, windows of at\nmost 48 segments and 3 at first, a queue of 1,000 frames \
               in each phone without small queues, 64 frames\nat the access point.",
        columns: "1 | 2 | 3 | 4 | 5 | 6 | 8 | 10",
        rows,
    }
}

fn of_2011(terminals: usize, members: usize, delay_ms: u64, rate: RateChoice) -> Setup {
    let mut setup = Setup {
        profile: Profile::phones_2011(),
        own_queue_frames: 1000,
        initial_window: 3,
        window_max: 48,
        ..Setup::uploads(terminals, delay_ms).with_members(members)
    };
    setup.access_point.frames = 64;
    for terminal in &mut setup.terminals {
        terminal.rate = rate;
        terminal.path = SnrPath::constant(3500);
    }
    setup
}
