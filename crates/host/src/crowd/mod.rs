//! The congestion control `takt`: loaded once for all network namespaces, with terms for each
//! namespace. [`part`] puts a policy in force.

mod default;
mod downloads;
mod error;
mod forwarded;
mod maps;
mod moving;
mod part;
mod program;
mod record;
mod status;

pub(crate) use default::read as default_congestion;
pub use downloads::Downloaded;
pub use error::CrowdError;
pub use maps::{Crowd, Usage};
pub use part::CrowdAction;
pub(crate) use part::{Refusal, Windows};
pub use record::applied_crowd;
pub(crate) use record::{Record, is_elsewhere, is_here, salvage};
pub use status::{BoundsStatus, CrowdStatus, HeardGroup};
