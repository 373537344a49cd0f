//! Devices whose packets are never IP: CAN, IEEE 802.15.4 and their like. Takt reads no header
//! there, so all packets are of the default class. Managed queues are off: CoDel drops to tell a
//! sender that it is too fast, and senders without TCP do not slow down.

use crate::os::netlink::Device;

/// `ARPHRD_*` of linux/if_arp.h, as far as libc has no names for them.
const ARPHRD_MCTP: u16 = 290;
const ARPHRD_IEEE802154_MONITOR: u16 = 805;
const ARPHRD_PHONET: u16 = 820;
const ARPHRD_PHONET_PIPE: u16 = 821;
const ARPHRD_NETLINK: u16 = 824;
const ARPHRD_VSOCKMON: u16 = 826;

/// IPv6 over IEEE 802.15.4 has a device of its own, of another type.
const WITHOUT_IP: [u16; 13] = [
    libc::ARPHRD_X25,
    libc::ARPHRD_LAPB,
    libc::ARPHRD_CAN,
    ARPHRD_MCTP,
    libc::ARPHRD_IEEE80211,
    libc::ARPHRD_IEEE80211_PRISM,
    libc::ARPHRD_IEEE80211_RADIOTAP,
    libc::ARPHRD_IEEE802154,
    ARPHRD_IEEE802154_MONITOR,
    ARPHRD_PHONET,
    ARPHRD_PHONET_PIPE,
    ARPHRD_NETLINK,
    ARPHRD_VSOCKMON,
];

/// Whether no packet can be classified on the device.
pub(crate) fn is_without_ip(device: &Device) -> bool {
    WITHOUT_IP.contains(&device.hardware)
}

#[cfg(test)]
mod tests {
    use takt_policy::AqmKind;

    use super::*;
    use crate::link::on_device;

    fn kinds(hardware: u16) -> Vec<AqmKind> {
        let policy = "[link.can0]\nrate = \"500kbit\"\n[[link.can0.class]]\nname = \"a\"\n\
                      aqm = \"codel\"\nmatch = { proto = \"udp\" }\n";
        let policy = takt_policy::parse("can.toml", policy).expect("a policy");
        let device = Device {
            hardware,
            ..Device::default()
        };
        let link = on_device(&policy.links[0], &device, hardware);
        link.classes.iter().map(|class| class.aqm.kind).collect()
    }

    #[test]
    fn queues_are_not_managed_without_ip() {
        for hardware in WITHOUT_IP {
            assert!(kinds(hardware).iter().all(|kind| *kind == AqmKind::Off));
        }
    }

    #[test]
    fn with_ip_they_are() {
        const ARPHRD_6LOWPAN: u16 = 825;
        for hardware in [
            libc::ARPHRD_ETHER,
            libc::ARPHRD_NONE,
            libc::ARPHRD_PPP,
            libc::ARPHRD_TUNNEL6,
            libc::ARPHRD_INFINIBAND,
            ARPHRD_6LOWPAN,
        ] {
            let kinds = kinds(hardware);
            assert!(kinds.iter().all(|kind| *kind != AqmKind::Off), "{hardware}");
        }
    }
}
