//! Which connections taktd keeps. Pure: takes the connections, their users and their times, and
//! returns a decision.

/// Connections of root. They are counted apart from users' connections: neither uses up the
/// other's limit.
const ROOT_MAX: usize = 64;
/// Of all users.
const USERS_MAX: usize = 56;
/// Of one user.
const USER_MAX: usize = 16;

/// A connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Connection {
    pub uid: u32,
    /// When it last made progress.
    pub since_ns: u64,
}

/// What to do with a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Accept,
    /// Close this connection to make room for it.
    Evict(usize),
    Refuse,
}

/// When the limit is reached, a user with fewer connections gets one from the user with the
/// most: of that user's connections the one that made no progress for the longest time is
/// closed.
pub(crate) fn admit(connections: &[Connection], uid: u32) -> Admission {
    let room = |is_there: bool| {
        if is_there {
            Admission::Accept
        } else {
            Admission::Refuse
        }
    };
    let count = |uid: u32| {
        connections
            .iter()
            .filter(|connection| connection.uid == uid)
            .count()
    };
    let own = count(uid);
    if uid == 0 {
        return room(own < ROOT_MAX);
    }
    let of_users = connections.len() - count(0);
    if own >= USER_MAX || of_users < USERS_MAX {
        return room(own < USER_MAX);
    }
    let most = |connection: &Connection| count(connection.uid);
    let users = || {
        connections
            .iter()
            .enumerate()
            .filter(|(_, connection)| connection.uid != 0)
    };
    let greediest = users()
        .map(|(_, connection)| most(connection))
        .max()
        .unwrap_or(0);
    let oldest = users()
        .filter(|(_, connection)| most(connection) == greediest && greediest > own)
        .min_by_key(|(_, connection)| connection.since_ns);
    oldest.map_or(Admission::Refuse, |(at, _)| Admission::Evict(at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Admits a connection, as taktd does.
    fn arrive(connections: &mut Vec<Connection>, uid: u32, since_ns: u64) -> Admission {
        let verdict = admit(connections, uid);
        if let Admission::Evict(at) = verdict {
            connections.remove(at);
        }
        if verdict != Admission::Refuse {
            connections.push(Connection { uid, since_ns });
        }
        verdict
    }

    #[test]
    fn five_greedy_users_leave_room_for_a_sixth() {
        let mut connections = Vec::new();
        for n in 0..100 {
            arrive(&mut connections, 1000 + n % 5, n.into());
        }
        assert_eq!(connections.len(), USERS_MAX);
        for n in 0..10 {
            assert!(matches!(
                arrive(&mut connections, 2000, 100 + n),
                Admission::Evict(_)
            ));
        }
        // Now this user has as many as each of the others.
        assert_eq!(arrive(&mut connections, 2000, 200), Admission::Refuse);
        for _ in 0..ROOT_MAX {
            assert_eq!(arrive(&mut connections, 0, 300), Admission::Accept);
        }
        assert_eq!(arrive(&mut connections, 0, 300), Admission::Refuse);
    }

    #[test]
    fn the_one_without_progress_gives_way() {
        let mut connections = Vec::new();
        for n in 0..16 {
            arrive(&mut connections, 1000, 50 + (n + 5) % 16);
        }
        for n in 0..40 {
            arrive(&mut connections, 1001 + n, 1);
        }
        assert_eq!(admit(&connections, 1000), Admission::Refuse);
        assert_eq!(admit(&connections, 2000), Admission::Evict(11));
        assert_eq!(connections[11].since_ns, 50);
    }

    proptest! {
        #[test]
        fn who_has_less_than_others_comes_in(comers in prop::collection::vec(0..8u32, 0..300)) {
            let mut connections = Vec::new();
            for (uid, since_ns) in comers.into_iter().zip(0..) {
                let count = |uid| connections.iter().filter(|connection: &&Connection| connection.uid == uid).count();
                let (own, most) = (count(uid), (1..8).map(count).max().unwrap());
                let verdict = arrive(&mut connections, uid, since_ns);
                prop_assert!(verdict != Admission::Refuse || uid == 0 || own >= most.min(USER_MAX));
                let of_root = connections.iter().filter(|it| it.uid == 0).count();
                prop_assert!(of_root <= ROOT_MAX && connections.len() - of_root <= USERS_MAX);
            }
        }
    }
}
