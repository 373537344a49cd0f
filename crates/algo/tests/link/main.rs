//! The scheduler of a link: against a model that searches lists, and against its guarantees.

mod borrowing;
mod bursts;
mod fast_path;
mod flush;
mod gate;
mod kinds;
mod line_rate;
mod model;
mod order;
mod plan;
mod priorities;
mod raw;
mod registered;
mod shares;
mod sharing;
mod short_way;
mod stations;
mod store;
mod tenants;
mod traffic;
mod wild;
