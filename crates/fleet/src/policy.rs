//! Texts of policies, as they travel.

/// The longest text of a policy; the engine carries no longer messages by default than four times
/// this.
pub const POLICY_MAX_BYTES: usize = 256 << 10;
