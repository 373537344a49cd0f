//! Devices above a link's whose packets its device sees sealed: MACsec encrypts them, and a tunnel
//! has headers of its own before them. The link classifies these packets by what is outside.

use crate::os::netlink::Device;

/// Kinds of such devices, as the kernel names them, which say what they send through.
const KINDS: [&str; 13] = [
    "macsec",
    "gre",
    "gretap",
    "erspan",
    "ip6gre",
    "ip6gretap",
    "ip6erspan",
    "ipip",
    "sit",
    "ip6tnl",
    "vti",
    "vti6",
    "xfrm",
];
/// Of a tunnel on a VLAN on a bond.
const DEPTH_MOST: usize = 4;

/// The names of those that send through the device of this number, be it through a VLAN.
pub(crate) fn opaque_above<'a>(
    index: u32,
    devices: impl Iterator<Item = &'a Device> + Clone,
) -> Vec<String> {
    let below = |device: &'a Device| {
        let lower = device.lower.filter(|_| device.kind != "veth")?;
        devices.clone().find(|other| other.index == lower)
    };
    let sends_through = |device: &&'a Device| {
        let mut next = below(device);
        (0..DEPTH_MOST).any(|_| {
            let here = next;
            next = here.and_then(below);
            here.is_some_and(|here| here.index == index)
        })
    };
    let opaque = { devices.clone() }.filter(|device| KINDS.contains(&device.kind.as_str()));
    opaque
        .filter(sends_through)
        .map(|device| device.name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(index: u32, kind: &str, lower: Option<u32>) -> Device {
        Device {
            index,
            name: format!("{kind}{index}"),
            kind: kind.to_owned(),
            lower,
            ..Device::default()
        }
    }

    #[test]
    fn what_is_sealed_before_the_device() {
        let devices = [
            device(1, "", None),
            device(2, "vlan", Some(1)),
            device(3, "macsec", Some(2)),
            device(4, "gretap", Some(1)),
            device(5, "macvlan", Some(1)),
            device(6, "macsec", Some(7)),
            // Each the other's lower one.
            device(8, "gre", Some(9)),
            device(9, "gre", Some(8)),
        ];
        let of = |index| opaque_above(index, devices.iter());
        assert_eq!(of(1), ["macsec3", "gretap4"]);
        assert_eq!(of(2), ["macsec3"]);
        assert_eq!(of(3), [""; 0]);
        assert_eq!(of(7), [""; 0], "it is not there");
    }
}
