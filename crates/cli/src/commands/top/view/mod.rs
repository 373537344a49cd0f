//! The tables of the views.

mod classes;
mod flows;
mod links;
mod neighbours;
mod stations;
mod tasks;
mod tcp;

use takt_host::Counters;

use super::{
    rates::{Counts, Meter, Rates},
    sample::Sample,
    table::{Column, Sort, Table},
    value::Value,
};
use crate::{args::View, print::plain};

/// Columns as a list of heading, name in JSON, and `text` or `number`.
macro_rules! columns {
    (@ text) => { true };
    (@ number) => { false };
    ($($heading:literal $key:literal $kind:ident;)*) => {
        &[$($crate::commands::top::table::Column {
            heading: $heading,
            key: $key,
            is_text: columns!(@ $kind),
        }),*]
    };
}
use columns;

/// A view's rows, or why there are none.
type Rows = Result<Vec<Vec<Value>>, String>;

impl View {
    pub const ALL: [Self; 7] = [
        Self::Links,
        Self::Classes,
        Self::Flows,
        Self::Stations,
        Self::Neighbours,
        Self::Tasks,
        Self::Tcp,
    ];

    /// Its place among all, from 0.
    pub fn number(self) -> usize {
        self as usize
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Links => "links",
            Self::Classes => "classes",
            Self::Flows => "flows",
            Self::Stations => "stations",
            Self::Neighbours => "neighbours",
            Self::Tasks => "tasks",
            Self::Tcp => "tcp",
        }
    }

    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Links => links::COLUMNS,
            Self::Classes => classes::COLUMNS,
            Self::Flows => flows::COLUMNS,
            Self::Stations => stations::COLUMNS,
            Self::Neighbours => neighbours::COLUMNS,
            Self::Tasks => tasks::COLUMNS,
            Self::Tcp => tcp::COLUMNS,
        }
    }

    /// The order that a view begins with: the busiest first, or by name.
    pub fn sort(self) -> Sort {
        let is_rate = |column: &Column| column.key == "rate_now_bps";
        match self.columns().iter().position(is_rate) {
            Some(column) if self != Self::Links => Sort {
                column,
                descends: true,
            },
            _ => Sort {
                column: 0,
                descends: false,
            },
        }
    }

    /// The view's table of a sample.
    pub fn table(self, sample: &Sample, meter: &mut Meter) -> Table {
        let rows = match self {
            Self::Links => links::rows(sample, meter),
            Self::Classes => classes::rows(sample, meter),
            Self::Flows => flows::rows(sample, meter),
            Self::Stations => stations::rows(sample, meter),
            Self::Neighbours => neighbours::rows(sample),
            Self::Tasks => tasks::rows(sample, meter),
            Self::Tcp => tcp::rows(sample, meter),
        };
        let (rows, note) = match rows {
            Ok(rows) => (rows, None),
            Err(note) => (Vec::new(), Some(note)),
        };
        Table {
            columns: self.columns(),
            rows,
            note,
        }
    }
}

/// What grows as packets pass: wire bytes, packets, drops, marks.
fn counts(counters: &Counters) -> Counts {
    [
        counters.sent_bytes,
        counters.sent_packets,
        counters.dropped_packets,
        counters.aqm_marked_packets,
    ]
}

fn text(text: &str) -> Value {
    Value::Text(plain(text))
}

/// One of the rates; absent if they are unknown.
fn per_s(rates: Option<Rates>, at: usize) -> Value {
    Value::or_absent(rates, |rates| Value::Rate(rates[at]))
}

/// Of bytes, in bits.
fn bps(rates: Option<Rates>) -> Value {
    Value::or_absent(rates, |rates| Value::Rate(rates[0] * 8.0))
}

/// A rate of the policy; 0 stands for none.
fn limit(bps: u64) -> Value {
    Value::or_absent((bps > 0).then_some(bps), Value::Count)
}

/// The time that queued bytes need at the present rate.
fn delay(queued_bytes: u64, rates: Option<Rates>) -> Value {
    match rates {
        _ if queued_bytes == 0 => Value::TimeNs(0),
        Some([bytes_ps, ..]) if bytes_ps > 0.0 => {
            Value::TimeNs((queued_bytes as f64 / bytes_ps * 1e9) as u64)
        }
        _ => Value::Absent,
    }
}

#[cfg(test)]
pub mod tests {
    use std::collections::BTreeSet;

    use takt_host::Status;

    use super::*;

    const DOCS: &str = include_str!("../../../../../../docs/top.md");

    /// Of an idle host.
    pub fn sample() -> Sample {
        Sample {
            at_ns: 1,
            unix_s: 86_399,
            status: Status::default(),
            crowd: None,
            tcp: None,
        }
    }

    #[test]
    fn every_view_has_a_table() {
        for view in View::ALL {
            let table = view.table(&sample(), &mut Meter::default());
            assert!(table.rows.is_empty());
            assert!(table.note.is_some(), "{}", view.name());
            assert!(view.sort().column < table.columns.len());
        }
    }

    #[test]
    fn every_column_is_in_the_docs_under_a_name_of_its_own() {
        for view in View::ALL {
            let keys: BTreeSet<_> = view.columns().iter().map(|column| column.key).collect();
            assert_eq!(keys.len(), view.columns().len(), "{}", view.name());
            for column in view.columns() {
                let row = format!("| `{}` | `{}` |", column.heading, column.key);
                assert!(DOCS.contains(&row), "docs/top.md lacks {row}");
            }
        }
    }

    #[test]
    fn a_queue_takes_as_long_as_its_bytes() {
        let rates = Some([1_000_000.0, 0.0, 0.0, 0.0]);
        assert_eq!(delay(0, None), Value::TimeNs(0));
        assert_eq!(delay(1_500, None), Value::Absent);
        assert_eq!(delay(1_500, rates), Value::TimeNs(1_500_000));
        assert_eq!(delay(1_500, Some([0.0; 4])), Value::Absent, "it stands");
    }
}
