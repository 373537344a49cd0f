//! The congestion control `takt`: in the kernel once for all network namespaces, with terms
//! of each namespace's own.

mod maps;
mod note;
mod program;

pub use maps::{Crowd, Usage};
pub use note::applied_crowd;
pub(crate) use note::is_anywhere;
