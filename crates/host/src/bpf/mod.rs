//! What every BPF object needs: its pins, types, calls, and what the verifier says.

pub(crate) mod address;
pub(crate) mod btf;
pub(crate) mod call;
pub(crate) mod load_log;
pub(crate) mod names;
pub(crate) mod pins;
