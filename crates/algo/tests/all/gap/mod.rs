//! Gap mode: the decisions by themselves, the stock against a model, and the frames on the
//! wire.

mod choose;
mod fallback;
mod spacing;
mod stock;
mod timer;
mod wire;
