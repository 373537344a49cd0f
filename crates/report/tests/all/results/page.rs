//! docs/RESULTS.md: every figure of docs/comparison.md, with its source and spread.

use std::fmt::Write;

use super::runs::{self, Runs};
use super::table::Show;
use super::{sentences, simulated, simulator, tables};

const HEAD: &str = "\
# Results

<!-- Made from docs/results by crates/report/tests/all/results; do not edit. -->

Every figure of [comparison.md](comparison.md), and those of [sim.md](sim.md)'s tables, by the experiment it is from. Each was measured in an emulated machine whose clock is
virtual: one instruction is one nanosecond, on one processor without caches; those of the last are of the simulator alone. Compare the schedulers with each other; do
not expect these nanoseconds of a server. How everything is set up is in [results](results/README.md).

`make results` runs all of it anew: every experiment in full, three times, the simulator's with other random numbers each time (`RUNS=5 make results`: five times), and writes
the reports to `docs/results`, this page, and the tables of comparison.md. A figure is the first run's; where others differ from
it as it is written here, the least and the most of all follow in brackets.
";

pub fn page(all: &[Runs]) -> String {
    let mut page = HEAD.to_owned();
    for runs in all {
        let report = runs.shown();
        let name = report.experiment.as_str();
        let spread = match runs.count() {
            1 => "–, it is one run".to_owned(),
            count => format!("over {count} runs"),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            page,
            "\n## {name}\n\n- command: `{}`\n- kernel: {}\n- commit: {}\n- spread: {spread}\n",
            report.command,
            report.kernel,
            runs.commits().join(", "),
        );
        let mut tables = tables::all();
        tables.extend(simulator::all());
        tables.extend(simulated::all());
        for table in tables.iter().filter(|table| table.experiment == name) {
            let text = table.markdown(runs::of(all, name), Show::Spread);
            let _ = write!(page, "\n{}:\n\n{text}", table.name);
        }
        let said = sentences::all();
        let mut said = said.iter().filter(|one| one.experiment == name).peekable();
        if said.peek().is_some() {
            page += "\nIn the text:\n\n";
        }
        for sentence in said {
            let _ = writeln!(page, "- … {} …", sentence.text(runs, Show::Spread));
        }
    }
    page
}
