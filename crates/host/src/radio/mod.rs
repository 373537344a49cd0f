//! Radio: how well stations are heard. Their weights are part of a link
//! ([`crate::link::stations`]).

mod part;
pub(crate) mod signal;

pub(crate) use part::Radio;
pub use part::applied_radio;
