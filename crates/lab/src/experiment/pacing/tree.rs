//! A case's requirements for a link whose classes share it: guarantees, ceilings, priorities,
//! and classes within tenants.

use crate::experiment::shape::{Class, FIRST_PORT, Shape};

#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pub link_rate_bps: u64,
    pub tenants: Vec<Tenant>,
    pub leaves: Vec<Leaf>,
}

/// A tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct Tenant {
    pub name: &'static str,
    pub rate_bps: u64,
    pub ceil_bps: u64,
}

/// A class with traffic of its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Leaf {
    pub name: &'static str,
    pub tenant: Option<&'static str>,
    /// `None`: best effort, it takes what is left.
    pub rate_bps: Option<u64>,
    /// `None`: it never takes more than its rate.
    pub ceil_bps: Option<u64>,
    pub floor_bps: Option<u64>,
    /// 0 is the best. `None`: as other classes with a rate, or without one.
    pub priority: Option<u8>,
}

impl Leaf {
    /// Its share whatever the others do, unless too much is guaranteed.
    pub fn guaranteed_bps(&self) -> u64 {
        self.rate_bps.or(self.floor_bps).unwrap_or_default()
    }

    pub fn effective_priority(&self) -> u8 {
        let default = if self.rate_bps.is_some() { 3 } else { 6 };
        self.priority.unwrap_or(default)
    }
}

impl Tree {
    /// The leaves as classes with their own ports, for the traffic's two ends.
    pub fn shape(&self) -> Shape {
        Shape {
            link_rate_bps: Some(self.link_rate_bps),
            classes: self
                .leaves
                .iter()
                .zip(FIRST_PORT..)
                .map(|(leaf, dst_port)| Class {
                    name: leaf.name.to_owned(),
                    dst_port,
                    // The most it can get; records have room for that.
                    rate_bps: leaf
                        .ceil_bps
                        .or(leaf.rate_bps)
                        .unwrap_or(self.link_rate_bps),
                })
                .collect(),
            ..Shape::udp([])
        }
    }

    /// The guarantee of each leaf while exactly the `active` ones have packets, in a tree
    /// without tenants: the best priority first. Where the link has less left than a priority's
    /// guarantees, all of that priority have less in proportion.
    pub fn entitled_bps(&self, active: &[bool]) -> Vec<f64> {
        let mut entitled = vec![0.0; self.leaves.len()];
        let mut left_bps = self.link_rate_bps as f64;
        let mut priorities: Vec<u8> = self.leaves.iter().map(Leaf::effective_priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        for priority in priorities {
            let members = || {
                self.leaves
                    .iter()
                    .zip(active)
                    .enumerate()
                    .filter(|(_, (leaf, active))| **active && leaf.effective_priority() == priority)
                    .map(|(index, (leaf, _))| (index, leaf.guaranteed_bps() as f64))
            };
            let promised_bps: f64 = members().map(|(_, rate_bps)| rate_bps).sum();
            let kept = (left_bps / promised_bps).min(1.0);
            for (index, rate_bps) in members() {
                entitled[index] = rate_bps * kept;
            }
            left_bps -= promised_bps * kept;
        }
        entitled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(rates: &[(u64, Option<u8>)]) -> Tree {
        Tree {
            link_rate_bps: 10,
            tenants: Vec::new(),
            leaves: rates
                .iter()
                .map(|(rate_bps, priority)| Leaf {
                    rate_bps: Some(*rate_bps),
                    priority: *priority,
                    ..Leaf::default()
                })
                .collect(),
        }
    }

    #[test]
    fn the_papers_five_classes_share_in_proportion() {
        let five = tree(&[(4, None), (4, None), (4, None), (2, None), (2, None)]);
        assert_eq!(five.entitled_bps(&[true; 5]), [2.5, 2.5, 2.5, 1.25, 1.25]);
        assert_eq!(
            five.entitled_bps(&[false, false, true, true, true]),
            [0.0, 0.0, 4.0, 2.0, 2.0]
        );
    }

    #[test]
    fn a_better_priority_is_served_in_full() {
        let two = tree(&[(4, Some(0)), (8, None), (4, None)]);
        assert_eq!(two.entitled_bps(&[true; 3]), [4.0, 4.0, 2.0]);
    }

    #[test]
    fn nothing_is_left_after_a_greedy_priority() {
        let two = tree(&[(20, Some(0)), (8, None)]);
        assert_eq!(two.entitled_bps(&[true; 2]), [10.0, 0.0]);
    }
}
