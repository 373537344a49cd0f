//! One file, one command.

pub mod apply;
pub mod backends;
pub mod background;
pub mod check;
pub mod confirm;
mod costs;
pub mod crowd;
pub mod daemon;
pub mod doctor;
mod ending;
pub mod explain;
pub mod feed;
pub mod flows;
pub mod key;
pub mod keys;
pub mod metrics;
pub mod pages;
pub mod program;
pub mod revert;
pub mod run;
pub mod schema;
pub mod station;
pub mod status;
mod stop;
pub mod top;
pub mod trace;
pub mod trial;
