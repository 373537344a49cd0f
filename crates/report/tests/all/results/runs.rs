//! All runs of one experiment: `NAME.json` is shown, `NAME.2.json.gz` and so on give the
//! spread.

use std::{
    fs::{self, File},
    path::Path,
};

use flate2::read::GzDecoder;
use takt_report::Report;

pub struct Runs(Vec<Report>);

impl Runs {
    pub fn read(folder: &Path, experiment: &str) -> Self {
        let shown = fs::read(folder.join(format!("{experiment}.json"))).unwrap();
        let shown = serde_json::from_slice(&shown).unwrap();
        let repeats = (2..)
            .map(|run| folder.join(format!("{experiment}.{run}.json.gz")))
            .map_while(|path| File::open(path).ok())
            .map(|file| serde_json::from_reader(GzDecoder::new(file)).unwrap());
        Self(std::iter::once(shown).chain(repeats).collect())
    }

    pub fn shown(&self) -> &Report {
        &self.0[0]
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The commit of each run, without duplicates.
    pub fn commits(&self) -> Vec<&str> {
        let mut commits: Vec<&str> = self.0.iter().map(|run| run.commit.as_str()).collect();
        commits.dedup();
        commits
    }

    /// The largest of the metric in these cases, run by run. A run that lacks it is left out;
    /// all are if the first one lacks it.
    pub fn values(&self, scheduler: &str, cases: &[String], metric: &str) -> Vec<f64> {
        // Of an error the size counts, not the sign.
        let is_signed = ["error_", "_difference_"]
            .iter()
            .any(|part| metric.contains(part));
        let size = |value: f64| if is_signed { value.abs() } else { value };
        let in_run = |run: &Report| {
            run.rows
                .iter()
                .filter(|row| row.scheduler == scheduler && cases.contains(&row.case))
                .filter_map(|row| row.number(metric))
                .map(size)
                .reduce(f64::max)
        };
        match in_run(self.shown()) {
            Some(_) => self.0.iter().filter_map(in_run).collect(),
            None => Vec::new(),
        }
    }
}

/// The runs of this experiment.
pub fn of<'a>(runs: &'a [Runs], experiment: &str) -> &'a Runs {
    runs.iter()
        .find(|runs| runs.shown().experiment == experiment)
        .unwrap()
}
