//! What takt remembers below /run/takt: records that root alone can write.

pub(crate) mod lock;
pub(crate) mod note;
pub mod runtime_dir;
pub(crate) mod source;
pub(crate) mod store;
pub(crate) mod trust;
