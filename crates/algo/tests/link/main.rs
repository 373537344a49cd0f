//! The scheduler of a link: against a model that searches lists, and against
//! what it promises.

mod express;
mod flush;
mod plan;
mod shares;
mod store;
mod traffic;
mod wild;
