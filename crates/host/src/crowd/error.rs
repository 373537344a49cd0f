//! Why the congestion control could not be told its terms.

use thiserror::Error;

/// The congestion control.
#[derive(Debug, Error)]
pub enum CrowdError {
    /// Terms were to be put in force, and the congestion control's pins were removed.
    #[error(
        "the congestion control takt is gone while a policy with [crowd] is in force; apply it again"
    )]
    NoCrowd,
}
