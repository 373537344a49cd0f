//! The program `takt-dispatch`, which `takt dispatch` runs: it keeps a policy's time-slot tables on
//! kernels that cannot load a scheduler, with threads of class SCHED_FIFO.
//!
//! [`plan`] makes tables of a policy, and [`cycle`] says when a slot of one begins and ends: both
//! are decisions only. [`processor`] does what a cycle says, in one thread for each CPU, with the
//! means of [`attributes`] and [`page`]. [`keeper`] finds the threads by [`matching`] and
//! [`processes`], and [`member`] is what both know of a thread. [`record`] is what has to be
//! restored, and [`supervisor`] restores it whatever happens to the keeper.

mod access;
mod args;
mod attributes;
mod clock;
mod cycle;
mod error;
mod exit;
mod keeper;
mod matching;
mod member;
mod page;
mod plan;
mod processes;
mod processor;
mod record;
mod run;
mod status;
mod supervisor;

use std::process::ExitCode;

fn main() -> ExitCode {
    run::run().into()
}
