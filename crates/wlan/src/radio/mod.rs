//! Strengths of connection: from reports and drivers' samples to stations' weights. After
//! SoCPS, section 4.

mod client;
mod report;
mod stations;
mod terms;

pub use client::Client;
pub use report::{REPORT_BYTES, Report};
pub(crate) use stations::STATIONS_MAX;
pub use stations::{Action, Sample, Stations, TooMany};
pub use terms::{terms_of, weight_ppm};
