//! Limits how many datagrams of unknown senders are checked: each costs a computation, and any
//! host can send them.

use std::{
    hash::{BuildHasher, RandomState},
    net::IpAddr,
};

use crate::{Bucket, Rate};

const SLOTS: usize = 1024;
/// Every report identifies its station, so after a lost one the station is heard with a later
/// one.
const OF_ONE: Rate = Rate::per_second(10, 10);
const OF_ALL: Rate = Rate::per_second(1000, 100);

/// A bucket for each source, and one for all. Sources share buckets by a hash that only this
/// process knows, so a flooding source takes from others only by chance.
pub(super) struct Strangers {
    hash: RandomState,
    of_one: Box<[Bucket; SLOTS]>,
    of_all: Bucket,
}

impl Strangers {
    pub fn new() -> Self {
        Self {
            hash: RandomState::new(),
            of_one: Box::new([Bucket::default(); SLOTS]),
            of_all: Bucket::default(),
        }
    }

    pub fn admit(&mut self, now_ns: u64, source: IpAddr) -> bool {
        let slot = self.hash.hash_one(place(source)) as usize % SLOTS;
        self.of_one[slot].take(&OF_ONE, now_ns) && self.of_all.take(&OF_ALL, now_ns)
    }
}

/// An IPv6 host has all addresses of its network's prefix.
fn place(source: IpAddr) -> u64 {
    match source.to_canonical() {
        IpAddr::V4(v4) => u64::from(v4.to_bits()),
        IpAddr::V6(v6) => (v6.to_bits() >> 64) as u64,
    }
}
