//! Strengths of connection: from what clients and drivers say to stations' weights. After
//! paper 003 (SoCPS), section 4.

mod client;
mod report;
mod stations;
mod terms;

pub use client::Client;
pub use report::{REPORT_BYTES, Report};
pub(crate) use stations::STATIONS_MAX;
pub use stations::{Action, Sample, Stations, TooMany};
pub use terms::{terms_of, weight_ppm};
