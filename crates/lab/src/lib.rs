//! The laboratory: a distribution kernel in an emulator, real traffic in it.

mod caches;
pub mod experiment;
pub mod guest;
pub mod host;
pub mod native;
mod progress;
pub mod run;
pub mod tour;
