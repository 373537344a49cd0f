//! The scheduler of a link: against a model that searches lists, and against
//! what it promises.

mod express;
mod flush;
mod model;
mod order;
mod plan;
mod shares;
mod store;
