//! `docs/crowd-law.generated.md` is what its command prints: of each table the last row is made
//! anew.

#[path = "../../examples/law/tables/mod.rs"]
mod tables;

use std::{fs, thread};

#[test]
fn are_those_of_the_model() {
    let page = fs::read_to_string("../../docs/crowd-law.generated.md").unwrap();
    assert!(page.starts_with(tables::HEAD));
    let tables = tables::all();
    thread::scope(|scope| {
        for table in &tables {
            assert!(page.contains(&table.head()), "{}", table.head());
            let page = &page;
            scope.spawn(move || {
                let line = table.rows.last().unwrap().line();
                assert!(
                    page.contains(&line),
                    "docs/crowd-law.generated.md is old: {line}"
                );
            });
        }
    });
}
