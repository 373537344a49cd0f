//! Which devices push back: their driver stops the queue while enough is on its way, which a link
//! without a rate goes by.

use takt_policy::Link;
use thiserror::Error;

use crate::os::netlink::Device;

/// Of those that programs make, the kinds whose packets a modem or a controller takes from a queue.
const WITH_QUEUE: [&str; 2] = ["wwan", "can"];

/// Why a device cannot have `rate = "line"`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoPushBack {
    /// Its packets never wait.
    #[error("a loopback device accepts all packets at once; write a rate")]
    Loopback,
    /// It hands packets on at once, or keeps hundreds of them.
    #[error(
        "a device of kind {kind} never stops its queue for the line behind it; write the line's \
         rate, or of one that changes rate = {{ min = \"5mbit\", base = \"20mbit\", max = \
         \"60mbit\" }} with reflectors, or put the link on the device below"
    )]
    Software {
        /// As `ip -details link` shows it.
        kind: String,
    },
}

/// Whether a link's device may decide when packets leave, if the policy wants it to. Whether its
/// driver counts bytes is known only once it has sent some.
pub(crate) fn check(device: &Device, link: &Link) -> Result<(), NoPushBack> {
    match device.kind.as_str() {
        _ if !link.by_device => Ok(()),
        _ if device.hardware == libc::ARPHRD_LOOPBACK => Err(NoPushBack::Loopback),
        kind if kind.is_empty() || WITH_QUEUE.contains(&kind) => Ok(()),
        kind => Err(NoPushBack::Software {
            kind: kind.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hardware_pushes_back() {
        let verdict = |rate: &str, hardware: u16, kind: &str| {
            let policy = takt_policy::parse("a.toml", &format!("[link.eth0]\nrate = \"{rate}\"\n"));
            let device = Device {
                hardware,
                kind: kind.to_owned(),
                ..Device::default()
            };
            check(&device, &policy.expect("a policy").links[0]).map_err(|error| error.to_string())
        };
        for kind in ["", "wwan"] {
            assert_eq!(verdict("line", libc::ARPHRD_ETHER, kind), Ok(()));
        }
        for kind in ["veth", "ifb", "tun", "vlan"] {
            let refused =
                verdict("line", libc::ARPHRD_ETHER, kind).expect_err("nothing is pushed back");
            assert!(
                refused.contains(kind) && refused.contains("min ="),
                "{refused}"
            );
            assert_eq!(verdict("1mbit", libc::ARPHRD_ETHER, kind), Ok(()));
        }
        assert!(verdict("line", libc::ARPHRD_LOOPBACK, "").is_err());
    }
}
