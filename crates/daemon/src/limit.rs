//! How much one user may ask for.

use takt_agent::Rate;

/// Terms of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub registrations: usize,
    /// Requests at once, and from then on.
    pub requests: Rate,
}

const OF_USERS: Limits = Limits {
    registrations: 256,
    requests: Rate::per_second(10, 20),
};

/// Who starts services for everybody has more to say.
const OF_ROOT: Limits = Limits {
    registrations: 1024,
    requests: Rate::per_second(100, 200),
};

impl Limits {
    pub fn of(uid: u32) -> Self {
        match uid {
            0 => OF_ROOT,
            _ => OF_USERS,
        }
    }
}
