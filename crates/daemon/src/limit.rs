//! How much one user may ask for.

use takt_wlan::Rate;

/// Limits of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Requests in a burst, and per second.
    pub requests: Rate,
    /// Connections in a burst, and per second; without a limit if there is none.
    pub connections: Option<Rate>,
}

const OF_USERS: Limits = Limits {
    requests: Rate::per_second(10, 20),
    connections: Some(Rate::per_second(50, 100)),
};

/// Root starts services for all users, so its limit is higher.
const OF_ROOT: Limits = Limits {
    requests: Rate::per_second(100, 200),
    connections: None,
};

impl Limits {
    pub fn for_user(uid: u32) -> Self {
        match uid {
            0 => OF_ROOT,
            _ => OF_USERS,
        }
    }
}

/// A table that users fill, with a part reserved for root.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Of all users together.
    pub users_max: usize,
    /// Of one user, however empty the table is.
    pub user_max: usize,
    /// Of root.
    pub root_max: usize,
}

/// A user may have one entry for each so many free ones. A user who comes late finds room, and
/// the more users there are, the less each has.
const PART_OF_FREE: usize = 8;

impl Room {
    /// The limit of this user, when all users have so many entries together.
    pub fn limit(&self, uid: u32, own: usize, of_users: usize) -> usize {
        if uid == 0 {
            return self.root_max;
        }
        let free = self.users_max.saturating_sub(of_users);
        // The user's own entries are left out, so that they do not move the limit.
        let part = (free + own) / (PART_OF_FREE + 1);
        part.min(self.user_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room {
        users_max: 3072,
        user_max: 256,
        root_max: 1024,
    };

    /// Users come one after the other, and each takes all that it may have.
    fn greedy(count: usize) -> Vec<usize> {
        let mut taken = Vec::new();
        for _ in 0..count {
            let of_users: usize = taken.iter().sum();
            let own = (0..).find(|own| ROOM.limit(1, *own, of_users + own) <= *own);
            taken.push(own.unwrap());
        }
        taken
    }

    #[test]
    fn a_late_user_finds_room_and_root_has_its_own() {
        let taken = greedy(40);
        assert_eq!(taken[0], 256);
        assert!(taken[15] > 60, "{taken:?}");
        assert!(taken[16] > 50, "{taken:?}");
        assert!(taken[39] > 2, "{taken:?}");
        assert!(taken.iter().sum::<usize>() < ROOM.users_max);
        assert_eq!(ROOM.limit(0, 1000, ROOM.users_max), 1024);
    }
}
