//! The congestion control `takt`: loaded once for all network namespaces, with terms for each
//! namespace.

mod change;
mod default;
mod maps;
mod moving;
mod note;
mod program;
mod status;

pub use change::CrowdAction;
pub(crate) use change::{Change, revert};
pub(crate) use default::read as default_congestion;
pub use maps::{Crowd, Usage};
pub use note::applied_crowd;
pub(crate) use note::{is_anywhere, settle, sweep};
pub(crate) use status::status;
pub use status::{BoundsStatus, CrowdStatus, HeardGroup};
