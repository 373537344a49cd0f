//! Radio: how well stations are heard, and the weights that follow.

pub(crate) mod policy;
pub(crate) mod signal;
pub mod stations;

pub(crate) use policy::{Change, is_anywhere, revert, sweep};
