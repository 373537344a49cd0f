//! What an experiment found, and how it is shown: rows of metrics, the
//! statistics behind them, a table for the terminal and a page with plots.

mod rows;

pub use rows::{Report, Row};
