//! Results of experiments and their presentation: rows of metrics, the statistics behind them,
//! a table for the terminal and a page with plots.

mod columns;
mod flows;
mod html;
mod interval;
mod plot;
mod rows;
mod stats;
mod table;
mod units;
mod view;

pub use flows::flows_page;
pub use html::{html, picture, simulation};
pub use interval::Interval;
pub use rows::{Report, Row};
pub use stats::{
    Histogram, Quantiles, Spacing, achieved_bps, gap_errors_ns, nearest_rank, rate_error_ppm,
};
pub use table::table;
pub use units::number;
