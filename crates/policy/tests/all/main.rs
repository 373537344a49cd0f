//! The reader of policies and of traffic files.

mod examples;
mod golden;
mod load;
mod model;
mod never_panics;
mod reference;
mod schema;
mod tasks;
mod traffic;
