//! The law on lines that are made up: its properties, and its figures beside other rules.

mod cake;
mod capacity;
mod line;
mod peers;
mod properties;
mod run;
