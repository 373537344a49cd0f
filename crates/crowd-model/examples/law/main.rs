//! The figures of `docs/crowd-law.md`, as `docs/crowd-law.generated.md`.
//!
//!     cargo run --release -p takt-crowd-model --example law >docs/crowd-law.generated.md
//!
//! With an argument only the tables that have it in their titles.

mod tables;

use std::{
    env,
    sync::Mutex,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use tables::Table;

fn main() {
    let part = env::args().nth(1).unwrap_or_default();
    let mut tables = tables::all();
    tables.retain(|table| table.title.contains(&part));
    let lines = lines_of(&tables);
    println!("{}", tables::HEAD);
    for (table, lines) in tables.iter().zip(lines) {
        println!("\n{}", table.head());
        lines.iter().for_each(|line| println!("{line}"));
    }
}

/// Every row's line, with all processors at work.
fn lines_of(tables: &[Table]) -> Vec<Vec<String>> {
    let rows: Vec<_> = tables.iter().flat_map(|table| &table.rows).collect();
    let (next, lines) = (
        AtomicUsize::new(0),
        Mutex::new(vec![String::new(); rows.len()]),
    );
    let work = || {
        while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
            let at = rows.iter().position(|other| std::ptr::eq(*other, *row));
            let line = row.line();
            if let (Some(at), Ok(mut lines)) = (at, lines.lock()) {
                lines[at] = line;
            }
        }
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(work);
        }
    });
    let mut lines = lines.into_inner().unwrap_or_default().into_iter();
    let of_table = |table: &Table| lines.by_ref().take(table.rows.len()).collect();
    tables.iter().map(of_table).collect()
}
