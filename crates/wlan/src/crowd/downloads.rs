//! What this terminal receives. Reports are about uploads, so a terminal knows no others' downloads:
//! it takes for granted that each of the group gets what it gets itself.

use takt_algo::{Group, WindowTerms};

/// The group as it would be if all were as this terminal.
#[derive(Debug, Default)]
pub struct Downloads {
    group: Group,
    own_flows: u32,
}

impl Downloads {
    /// A period begins, and this was heard of the group's uploads: the law's input for downloads,
    /// and how many of this terminal share its part.
    pub fn terms(&mut self, heard: &Group) -> (Group, u32) {
        self.group.set_competes_us(heard.competes_us());
        (self.group, self.own_flows.max(1))
    }

    /// `flows` downloads that their windows limit got so much together in it.
    pub fn received(&mut self, heard: &Group, flows: u32, rate_bytes_ps: u64) {
        self.own_flows = flows;
        // Without a download the capacity is not tested, and is not forgotten.
        if flows > 0 {
            self.group.forget_members();
            for _ in 0..heard.users() {
                self.group.hear(rate_bytes_ps, rate_bytes_ps, false);
            }
            self.group.remember(&WindowTerms::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_others_are_taken_to_get_as_much() {
        let mut heard = Group::default();
        for _ in 0..3 {
            heard.hear(500_000, 500_000, false);
        }
        heard.set_competes_us(1);
        let mut downloads = Downloads::default();
        downloads.received(&heard, 2, 1_000_000);
        let (group, own_flows) = downloads.terms(&heard);
        assert_eq!((group.users(), own_flows), (3, 2));
        assert_eq!(group.share_bytes_ps(), 1_000_000);
        assert!(group.competes());

        // A pause is no news about the capacity.
        downloads.received(&Group::default(), 0, 0);
        let (idle, own_flows) = downloads.terms(&Group::default());
        assert!(idle.capacity_bytes_ps() >= group.capacity_bytes_ps());
        assert_eq!((idle.competes(), own_flows), (false, 1));
    }
}
