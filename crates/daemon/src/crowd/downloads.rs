//! What this terminal receives. Reports are about uploads, so a terminal knows no others' downloads:
//! it takes for granted that each of the group gets what it gets itself.

use takt_algo::{Group, WindowTerms};

use super::control::Control;

/// The group as it would be if all were as this terminal.
#[derive(Default)]
pub(super) struct Downloads {
    group: Group,
    own_flows: u32,
}

impl Downloads {
    /// A period is over, and this was heard of the group.
    pub fn period(&mut self, heard: &Group, control: &dyn Control) -> Result<(), String> {
        self.group.set_competes(heard.competes());
        let received = control.bound_downloads(&self.group, self.own_flows.max(1))?;
        self.own_flows = received.flows;
        // Without a download the capacity is not tested, and is not forgotten.
        if received.flows > 0 {
            self.group.forget_members();
            for _ in 0..heard.users() {
                self.group
                    .hear(received.rate_bytes_ps, received.rate_bytes_ps, false);
            }
            self.group.remember(&WindowTerms::default());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use takt_host::Downloaded;
    use takt_wlan::crowd::Counts;

    use super::*;

    /// A kernel whose downloads get so much.
    struct Kernel {
        received: Downloaded,
        told: RefCell<Vec<(Group, u32)>>,
    }

    impl Control for Kernel {
        fn counts(&self) -> Result<Option<Counts>, String> {
            Ok(None)
        }

        fn set(&self, _: &Group, _: u32) -> Result<(), String> {
            Ok(())
        }

        fn bound_downloads(&self, group: &Group, own_flows: u32) -> Result<Downloaded, String> {
            self.told.borrow_mut().push((*group, own_flows));
            Ok(self.received)
        }

        fn free_downloads(&self) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn the_others_are_taken_to_get_as_much() {
        let mut kernel = Kernel {
            received: Downloaded {
                rate_bytes_ps: 1_000_000,
                flows: 2,
            },
            told: RefCell::default(),
        };
        let mut heard = Group::default();
        for _ in 0..3 {
            heard.hear(500_000, 500_000, false);
        }
        heard.set_competes(true);
        let mut downloads = Downloads::default();
        downloads.period(&heard, &kernel).unwrap();
        downloads.period(&heard, &kernel).unwrap();
        let (group, own_flows) = *kernel.told.borrow().last().unwrap();
        assert_eq!((group.users(), own_flows), (3, 2));
        assert_eq!(group.share_bytes_ps(), 1_000_000);
        assert!(group.competes());

        // A pause is no news about the capacity.
        kernel.received = Downloaded::default();
        for _ in 0..2 {
            downloads.period(&Group::default(), &kernel).unwrap();
        }
        let (idle, own_flows) = *kernel.told.borrow().last().unwrap();
        assert!(idle.capacity_bytes_ps() >= group.capacity_bytes_ps());
        assert_eq!((idle.competes(), own_flows), (false, 1));
    }
}
