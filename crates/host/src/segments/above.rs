//! Devices above a link's: VLANs and others that send through it, and the bond that it is a port of. Sockets
//! obey the limit of the device that their route leads to, so the link's limit is theirs, too.
//!
//! Not of a bridge: what it sends may leave by other ports.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::os::netlink::Device;

/// Of a VLAN on a bond on a device.
const DEPTH_MOST: usize = 4;

/// A limit that takt has set on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Limit {
    pub ifindex: u32,
    pub before: u32,
    pub limit: u32,
}

impl Limit {
    /// Whether the device still has it.
    pub fn stands(&self, devices: &[Device]) -> bool {
        let mut devices = devices.iter();
        devices.any(|device| device.index == self.ifindex && device.gso_max_segs == self.limit)
    }
}

/// The limits of the devices above those of links, which have these limits. `known`: those that takt
/// has set already.
pub(super) fn limits(
    of_links: &BTreeMap<u32, u32>,
    devices: &[&Device],
    known: &[Limit],
) -> Vec<Limit> {
    let mut above: BTreeMap<u32, u32> = BTreeMap::new();
    let mut below = of_links.clone();
    for _ in 0..DEPTH_MOST {
        let mut next: BTreeMap<u32, u32> = BTreeMap::new();
        for device in devices {
            let lowest = lower_devices(device, devices)
                .filter_map(|lower| below.get(&lower))
                .min();
            if let Some(limit) = lowest.filter(|_| !of_links.contains_key(&device.index)) {
                next.insert(device.index, *limit);
            }
        }
        for (ifindex, limit) in &next {
            let known = above.entry(*ifindex).or_insert(*limit);
            *known = (*known).min(*limit);
        }
        below = next;
    }
    let limit = |(ifindex, limit): (u32, u32)| {
        let mut devices = devices.iter();
        let now = devices.find(|device| device.index == ifindex)?.gso_max_segs;
        let ours = known
            .iter()
            .find(|known| known.ifindex == ifindex && known.limit == now);
        let before = ours.map_or(now, |known| known.before);
        (limit < before).then_some(Limit {
            ifindex,
            before,
            limit,
        })
    };
    above.into_iter().filter_map(limit).collect()
}

/// What a device sends through.
fn lower_devices<'a>(device: &'a Device, devices: &'a [&Device]) -> impl Iterator<Item = u32> + 'a {
    // The peer of a veth is not below it.
    let lower = device.lower.filter(|_| device.kind != "veth");
    let is_bond = matches!(&*device.kind, "bond" | "team");
    let members = devices
        .iter()
        .filter(move |member| is_bond && member.master == Some(device.index));
    lower.into_iter().chain(members.map(|member| member.index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(index: u32, kind: &str, lower: Option<u32>, master: Option<u32>) -> Device {
        Device {
            index,
            kind: kind.to_owned(),
            lower,
            master,
            gso_max_segs: 65_535,
            ..Device::default()
        }
    }

    fn found(devices: &[Device], known: &[Limit]) -> Vec<(u32, u32, u32)> {
        let of_links = BTreeMap::from([(1, 8)]);
        let devices: Vec<&Device> = devices.iter().collect();
        let limits = limits(&of_links, &devices, known).into_iter();
        limits
            .map(|limit| (limit.ifindex, limit.before, limit.limit))
            .collect()
    }

    #[test]
    fn vlans_and_bonds_have_the_limit_of_the_device_below() {
        let devices = [
            device(1, "", None, Some(3)),
            device(2, "vlan", Some(1), None),
            device(3, "bond", None, None),
            device(4, "vlan", Some(3), None),
            device(5, "macvlan", Some(4), None),
            device(6, "vlan", Some(9), None),
        ];
        let any = 65_535;
        assert_eq!(
            found(&devices, &[]),
            [(2, any, 8), (3, any, 8), (4, any, 8), (5, any, 8)]
        );
    }

    #[test]
    fn peers_bridges_and_lower_limits_are_left_alone() {
        let mut slow = device(4, "vlan", Some(1), None);
        slow.gso_max_segs = 2;
        let devices = [
            device(1, "veth", Some(2), Some(3)),
            device(2, "veth", Some(1), None),
            device(3, "bridge", None, None),
            slow,
        ];
        assert_eq!(found(&devices, &[]), []);
    }

    #[test]
    fn what_takt_has_set_is_not_taken_for_the_devices_own() {
        let mut devices = [device(1, "", None, None), device(2, "vlan", Some(1), None)];
        devices[1].gso_max_segs = 4;
        let known = Limit {
            ifindex: 2,
            before: 65_535,
            limit: 4,
        };
        assert_eq!(
            found(&devices, std::slice::from_ref(&known)),
            [(2, 65_535, 8)]
        );
        assert!(known.stands(&devices));
        devices[1].gso_max_segs = 100;
        assert_eq!(found(&devices, std::slice::from_ref(&known)), [(2, 100, 8)]);
        assert!(!known.stands(&devices));
    }
}
