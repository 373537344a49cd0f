//! Radio: how well stations are heard. Their weights are part of a link
//! ([`crate::link::stations`]).

mod error;
mod part;
pub(crate) mod signal;

pub use error::RadioError;
pub use part::applied_radio;
pub(crate) use part::{Radio, Weights};
