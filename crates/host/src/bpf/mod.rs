//! What every BPF object needs: pins, types, calls, and the verifier's log.

pub(crate) mod address;
pub(crate) mod btf;
pub(crate) mod call;
mod error;
pub(crate) mod load_log;
pub(crate) mod names;
pub(crate) mod pinned;
pub(crate) mod pins;

pub use error::BpfError;
