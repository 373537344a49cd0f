//! The place of a host in a rollout: a number that the salt and its name give, so that waves need
//! no list of hosts.

use sha2::{Digest as _, Sha256};

/// Below every place is below this.
pub const END: u64 = 1 << 48;

/// From 0 to below [`END`], evenly spread. Without the salt names cannot be chosen for places.
pub fn place(salt: &str, identity: &str) -> u64 {
    let hash = Sha256::new()
        .chain_update((salt.len() as u64).to_le_bytes())
        .chain_update(salt)
        .chain_update(identity)
        .finalize();
    let mut bytes = [0; 8];
    bytes[..6].copy_from_slice(&hash[..6]);
    u64::from_le_bytes(bytes)
}

/// Places below which `share_ppm` of these hosts are, and one at least; [`END`] for all.
pub fn below(places: &mut [u64], share_ppm: u32) -> u64 {
    if share_ppm >= 1_000_000 {
        return END;
    }
    places.sort_unstable();
    let count = (places.len() as u64 * u64::from(share_ppm)).div_ceil(1_000_000);
    match places.get((count.max(1) - 1) as usize) {
        Some(place) => place + 1,
        // No host is known; those that come are as many as they happen to be.
        None => END / 1_000_000 * u64::from(share_ppm),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_share_is_rounded_up(hosts in 1usize..300, share_ppm in 1u32..999_999, salt: u32) {
            let salt = salt.to_string();
            let mut places: Vec<u64> =
                (0..hosts).map(|host| place(&salt, &format!("host-{host}"))).collect();
            let end = below(&mut places, share_ppm);
            let count = places.iter().filter(|place| **place < end).count();
            let wanted = (hosts as u64 * u64::from(share_ppm)).div_ceil(1_000_000);
            prop_assert_eq!(count as u64, wanted);
        }
    }

    #[test]
    fn all_is_all() {
        assert_eq!(below(&mut [], 1_000_000), END);
        assert!(place("", "host") < END);
    }
}
