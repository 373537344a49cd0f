//! What was measured, as rows.

use serde_json::json;
use takt_report::{Quantiles, Row, nearest_rank};

use super::contender::Contender;
use crate::experiment::metrics::{Metrics, metrics};

/// Of one program in one round.
#[derive(Debug)]
pub enum Sample {
    /// Nanoseconds until it had finished.
    Finished(u64),
    /// Nanoseconds of every wake-up.
    Woken(Vec<u64>),
}

#[derive(Debug, Default)]
pub struct Figures(Vec<Cell>);

/// A contender in a case, with the times of all rounds.
#[derive(Debug)]
struct Cell {
    scheduler: &'static str,
    case: String,
    finished_ns: Vec<u64>,
    woken_ns: Vec<u64>,
}

impl Figures {
    pub fn add(&mut self, scheduler: &'static str, case: String, sample: Sample) {
        let known = |cell: &Cell| cell.scheduler == scheduler && cell.case == case;
        let at = self.0.iter().position(known).unwrap_or_else(|| {
            self.0.push(Cell {
                scheduler,
                case,
                finished_ns: Vec::new(),
                woken_ns: Vec::new(),
            });
            self.0.len() - 1
        });
        match sample {
            Sample::Finished(time_ns) => self.0[at].finished_ns.push(time_ns),
            Sample::Woken(times_ns) => self.0[at].woken_ns.extend(times_ns),
        }
    }

    pub fn rows(self) -> Vec<Row> {
        let rows = self.0.into_iter().filter_map(Cell::row);
        let mut rows: Vec<Row> = rows.collect();
        compare(&mut rows);
        rows
    }
}

impl Cell {
    fn row(mut self) -> Option<Row> {
        let metrics = if self.woken_ns.is_empty() {
            finished(&mut self.finished_ns)
        } else {
            woken(&mut self.woken_ns)
        };
        Some(Row {
            scheduler: self.scheduler.to_owned(),
            case: self.case,
            metrics: metrics?,
        })
    }
}

fn finished(times_ns: &mut [u64]) -> Option<Metrics> {
    times_ns.sort_unstable();
    let spread_ns = times_ns.last()? - times_ns.first()?;
    Some(metrics([
        ("finish_ns", json!(nearest_rank(times_ns, 500)?)),
        ("finish_spread_ns", json!(spread_ns)),
        ("runs", json!(times_ns.len())),
    ]))
}

fn woken(times_ns: &mut [u64]) -> Option<Metrics> {
    let quantiles = Quantiles::from_samples(times_ns)?;
    Some(metrics([
        ("wakeup_p50_ns", json!(quantiles.p50)),
        ("wakeup_p99_ns", json!(quantiles.p99)),
        ("wakeup_max_ns", json!(quantiles.max)),
        ("wakeups_count", json!(times_ns.len())),
    ]))
}

/// What each took longer than the kernel's own class, by the figures that its cases are about.
fn compare(rows: &mut [Row]) {
    const COMPARED: [(&str, &str); 3] = [
        ("finish_ns", "finish_over_kernel_percent"),
        ("wakeup_p50_ns", "wakeup_p50_over_kernel_percent"),
        ("wakeup_p99_ns", "wakeup_p99_over_kernel_percent"),
    ];
    let kernels: Vec<Row> = rows
        .iter()
        .filter(|row| row.scheduler == Contender::Kernel.name())
        .cloned()
        .collect();
    for row in rows {
        let Some(kernel) = kernels.iter().find(|kernel| kernel.case == row.case) else {
            continue;
        };
        for (of, over) in COMPARED {
            if let (Some(time_ns), Some(kernel_ns)) = (row.number(of), kernel.number(of)) {
                let percent = 100.0 * (time_ns / kernel_ns - 1.0);
                row.metrics.insert(over.to_owned(), json!(percent));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_of_a_case_are_one_row() {
        let mut figures = Figures::default();
        for (scheduler, time_ns) in [
            ("kernel", 100),
            ("takt", 110),
            ("kernel", 98),
            ("takt", 103),
        ] {
            let case = "host-build-1cpu".to_owned();
            figures.add(scheduler, case, Sample::Finished(time_ns));
        }
        let rows = figures.rows();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].metrics["finish_ns"], json!(103));
        assert_eq!(rows[1].metrics["finish_spread_ns"], json!(7));
        let over = rows[1].number("finish_over_kernel_percent");
        assert!(
            over.is_some_and(|over| (5.0..5.2).contains(&over)),
            "{over:?}"
        );
    }
}
