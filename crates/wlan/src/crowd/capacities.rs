//! The capacities of the networks that a terminal was in.

use crate::sealed::Key;

/// The networks that are remembered; a new one takes the place of the one noted longest ago.
const NETWORKS_MAX: usize = 64;
/// 80 Gbit/s, the law's limit (`algo/window.h`).
const CAPACITY_MAX_BYTES_PS: u64 = 10_000_000_000;
/// A capacity counts for three quarters at first. The law holds n/(n + 1) of a share, so a queue
/// runs dry even if the network carries a quarter less than it did: most steps of a rate on the air
/// take no more.
const FRESH_QUARTERS: u64 = 3;
/// It counts for less and less, and after this time for nothing.
const FORGOTTEN_S: u64 = 30 * 24 * 3600;

/// A network's number. Only those who have the group's key can tell which network has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network(pub [u8; Self::BYTES]);

impl Network {
    /// The length of a number.
    pub const BYTES: usize = 16;

    /// Of a wireless network, whichever of its access points and of the terminal's devices.
    pub fn wireless(key: &Key, ssid: &[u8]) -> Option<Self> {
        Self::new(key, b'r', ssid)
    }

    /// Of the group on a device with a wire, behind which the access point is.
    pub fn wired(key: &Key, device: &str) -> Option<Self> {
        Self::new(key, b'w', device.as_bytes())
    }

    fn new(key: &Key, kind: u8, name: &[u8]) -> Option<Self> {
        key.pseudonym(&[&[kind], name].concat()).map(Self)
    }
}

/// A network's capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// The network.
    pub network: Network,
    /// What the group got there together, in bytes per second.
    pub capacity_bytes_ps: u64,
    /// When, in seconds since 1970.
    pub seen_s: u64,
}

/// A bounded list of them, the one noted last at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capacities(Vec<Capacity>);

impl Capacities {
    /// Notes a capacity, in place of an earlier one of the same network. An absurd one is cut.
    pub fn note(&mut self, capacity: Capacity) {
        self.0.retain(|noted| noted.network != capacity.network);
        if self.0.len() >= NETWORKS_MAX {
            self.0.remove(0);
        }
        self.0.push(Capacity {
            capacity_bytes_ps: capacity.capacity_bytes_ps.min(CAPACITY_MAX_BYTES_PS),
            ..capacity
        });
    }

    /// What counts now of a network's capacity; 0: nothing. If the clock was set back it counts as
    /// fresh.
    pub fn recall(&self, network: Network, now_s: u64) -> u64 {
        let noted = self.0.iter().find(|noted| noted.network == network);
        let Some(noted) = noted else {
            return 0;
        };
        let left_s = FORGOTTEN_S.saturating_sub(now_s.saturating_sub(noted.seen_s));
        noted.capacity_bytes_ps / 4 * FRESH_QUARTERS * left_s / FORGOTTEN_S
    }

    /// In the order in which they were noted.
    pub fn iter(&self) -> impl Iterator<Item = &Capacity> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY_S: u64 = 24 * 3600;
    const NOW_S: u64 = 1_800_000_000;

    fn at(number: u8, capacity_bytes_ps: u64, seen_s: u64) -> Capacity {
        Capacity {
            network: Network([number; Network::BYTES]),
            capacity_bytes_ps,
            seen_s,
        }
    }

    #[test]
    fn three_quarters_count_at_first_and_nothing_after_a_month() {
        let mut all = Capacities::default();
        let network = at(1, 0, 0).network;
        assert_eq!(all.recall(network, NOW_S), 0);
        all.note(at(1, 4_000_000, NOW_S));
        assert_eq!(all.recall(network, NOW_S), 3_000_000);
        assert_eq!(all.recall(network, NOW_S + 15 * DAY_S), 1_500_000);
        assert_eq!(all.recall(network, NOW_S + 30 * DAY_S), 0);
        assert_eq!(all.recall(network, u64::MAX), 0);
        // The clock was set back.
        assert_eq!(all.recall(network, 0), 3_000_000);
        all.note(at(1, 1_000_000, 0));
        assert_eq!(all.recall(network, 0), 750_000);
        assert_eq!(all.iter().count(), 1);
    }

    #[test]
    fn the_network_noted_longest_ago_makes_room() {
        let mut all = Capacities::default();
        for number in 0..NETWORKS_MAX as u8 {
            // Whatever their clock said.
            all.note(at(number, 1000, NOW_S - u64::from(number)));
        }
        all.note(at(0, 2000, NOW_S));
        all.note(at(200, 3000, NOW_S));
        let left: Vec<_> = all.iter().map(|noted| noted.network.0[0]).collect();
        assert_eq!(left.len(), NETWORKS_MAX);
        assert!(left.starts_with(&[2, 3]) && left.ends_with(&[63, 0, 200]));
    }

    #[test]
    fn a_network_has_a_number_that_depends_on_the_key() {
        let key = |byte| Key::new(&[byte; Key::BYTES]);
        let of = |key: &Key, ssid: &str| Network::wireless(key, ssid.as_bytes()).unwrap();
        let (one, other) = (key(1), key(2));
        assert_eq!(of(&one, "cafe"), of(&one, "cafe"));
        assert_ne!(of(&one, "cafe"), of(&one, "cafe2"));
        assert_ne!(of(&one, "cafe"), of(&other, "cafe"));
        assert_ne!(of(&one, "cafe"), of(&one.clone().of_group("a"), "cafe"));
        assert_ne!(Some(of(&one, "eth0")), Network::wired(&one, "eth0"));
        let (ab, a) = (one.clone().of_group("ab"), one.of_group("a"));
        assert_ne!(Network::wired(&ab, "c"), Network::wired(&a, "bc"));
    }

    proptest! {
        #[test]
        fn no_number_overflows(capacity: u64, seen_s: u64, now_s: u64) {
            let mut all = Capacities::default();
            all.note(at(1, capacity, seen_s));
            let counts = all.recall(at(1, 0, 0).network, now_s);
            prop_assert!(counts <= capacity && counts <= CAPACITY_MAX_BYTES_PS);
        }
    }
}
