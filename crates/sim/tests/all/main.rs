//! The simulator: its schedulers, its inputs and its command.

mod aggregates;
mod capture;
mod command;
mod common;
mod conserved;
mod gate;
mod guides;
mod pacing;
mod peers;
mod record;
mod stations;
mod transfers;
