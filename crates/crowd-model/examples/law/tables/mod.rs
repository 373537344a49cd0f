//! The tables: what is compared, and how a row is made.

mod downloads;
mod phones_2011;
mod today;
mod uploads;

use takt_crowd_model::{Figures, Interval, Setup, measure};

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
    /// Unlike the others.
    pub title: &'static str,
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
        let columns = self.columns.split('|').count();
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
        uploads::delays(),
        uploads::losses(),
        uploads::standing(),
        uploads::conditions(),
        uploads::strangers(),
        uploads::adoption(),
        phones_2011::phones(),
        phones_2011::traces(),
        phones_2011::correlations(),
        today::delays(),
        today::aggregates(),
        downloads::delays(),
        downloads::beside(),
    ]
}

/// The figures of both parts, for each seed.
struct Runs {
    first: Vec<Figures>,
    after: Vec<Figures>,
}

impl Runs {
    fn new(setup: &Setup) -> Self {
        Self::until(setup, SEEDS, END_NS)
    }

    fn until(setup: &Setup, seeds: u64, end_ns: u64) -> Self {
        let (mut first, mut after) = (Vec::new(), Vec::new());
        for seed in 1..=seeds {
            let mut parts = measure(setup, seed, &[FIRST_NS, end_ns]);
            after.extend(parts.pop());
            first.extend(parts.pop());
        }
        Self { first, after }
    }

    fn total(&self) -> String {
        shown(&Interval::from_values(&values(
            &self.after,
            Figures::total_mbps,
        )))
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
    Interval::from_values(&values(figures, of)).mean
}

fn shown(interval: &Interval) -> String {
    format!("{:.2} ± {:.2}", interval.mean, interval.half)
}

fn compared(all: [&Runs; 3]) -> String {
    let of = |cell: fn(&Runs) -> String| all.map(cell).join(" | ");
    [
        of(Runs::first_total),
        of(Runs::total),
        of(Runs::jain),
        of(Runs::p99_ms),
    ]
    .join(" | ")
}

/// The mean rate of the first `some` of ten terminals, that of the others, and of all the total and
/// the round trip.
fn shared(setup: &Setup, some: usize) -> String {
    let runs = Runs::new(setup).after;
    let rates = |from: usize, until: usize| {
        let of = |figures: &Figures| {
            let rates = &figures.rates_mbps[from..until];
            rates.iter().sum::<f64>() / rates.len() as f64
        };
        if until > from {
            shown(&Interval::from_values(&values(&runs, of)))
        } else {
            "-".to_owned()
        }
    };
    format!(
        "{} | {} | {:.2} | {:.1}",
        rates(0, some),
        rates(some, 10),
        mean(&runs, Figures::total_mbps),
        mean(&runs, |figures| figures.rtt_ms(0.99))
    )
}
