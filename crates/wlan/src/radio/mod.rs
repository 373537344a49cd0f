//! Strengths of connection: from reports and drivers' samples to stations' weights. After
//! SoCPS, section 4.

mod client;
mod report;
mod stations;

pub use client::Client;
pub use report::{REPORT_BYTES, Report};
pub(crate) use stations::STATIONS_MAX;
pub use stations::{Action, Sample, Stations, TooMany};
pub use takt_planner::radio::{terms_of, weight_ppm};
