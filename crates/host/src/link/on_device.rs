//! What a link of the policy is on a device.

use std::borrow::Cow;

use takt_policy::{AqmKind, Beyond, Link};

use super::is_without_ip;
use crate::os::netlink::{Device, Port, header_bytes};

/// The type of device (`ARPHRD_*`) whose headers a link's packets have: what comes in keeps those of
/// where it came in.
pub(crate) fn hardware_of<'a>(
    link: &Link,
    device: &'a Device,
    ports: impl IntoIterator<Item = &'a Port>,
) -> u16 {
    let of = link.download_of.as_deref().and_then(|name| {
        let mut ports = ports.into_iter();
        ports.find(|port| port.device.is_called(name))
    });
    of.map_or(device, |port| &port.device).hardware
}

/// What a link of the policy is on this device, whose packets have headers of such hardware.
pub(crate) fn on_device<'a>(link: &'a Link, device: &Device, hardware: u16) -> Cow<'a, Link> {
    let mut link = Cow::Borrowed(link);
    if is_without_ip(device) {
        for class in &mut link.to_mut().classes {
            class.aqm.kind = AqmKind::Off;
        }
    }
    if link.framing.beyond != Beyond::Frame {
        let framing = link.framing.on_device(header_bytes(hardware));
        link.to_mut().framing = framing;
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, hardware: u16) -> Device {
        Device {
            name: name.to_owned(),
            hardware,
            ..Device::default()
        }
    }

    fn links(device: &str) -> Vec<Link> {
        let text = format!(
            "[link.{device}]\nrate = \"10mbit\"\nframing = \"pppoa-vcmux\"\n\
             download = {{ rate = \"20mbit\" }}\n"
        );
        takt_policy::parse("line.toml", &text)
            .expect("a policy")
            .links
    }

    /// CAKE's keywords count from the IP packet, and so does a link's framing, whatever headers the
    /// kernel counts; the device of a download is Ethernet's, and its packets may have none.
    #[test]
    fn a_framing_counts_from_the_ip_packet() {
        for (name, hardware, overhead_bytes) in [
            ("eth0", libc::ARPHRD_ETHER, -4),
            ("vlan7", libc::ARPHRD_ETHER, -4),
            ("ppp0", libc::ARPHRD_PPP, 10),
            ("tun0", libc::ARPHRD_NONE, 10),
        ] {
            let ports = [(name, hardware), ("takt-in0", libc::ARPHRD_ETHER)];
            let ports = ports.map(|(name, hardware)| Port {
                device: device(name, hardware),
                root: None,
                below_root: None,
                is_given_back: false,
            });
            let links = links(name);
            for (link, port) in links.iter().zip(&ports) {
                let hardware = hardware_of(link, &port.device, &ports);
                let on_device = on_device(link, &port.device, hardware);
                assert_eq!(
                    on_device.framing.overhead_bytes, overhead_bytes,
                    "{}",
                    link.device
                );
            }
        }
    }
}
