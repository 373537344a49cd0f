//! Which devices can send gap frames at all.

use takt_algo::sys::{TAKT_GAP_LONGEST_MIN, TAKT_PACING_TIMER, takt_plan};
use thiserror::Error;

use crate::os::netlink::Device;

const ETHERNET: u16 = libc::ARPHRD_ETHER;
const LOOPBACK: u16 = libc::ARPHRD_LOOPBACK;
const HEADER_BYTES: u32 = 14;

/// No longer frame is used, even if the device could send it: in a link's stock the lengths in
/// between would not all find a slot.
pub(crate) const LONGEST_MAX: u32 = 9216;

/// Why a device cannot have `pacing = "gap"`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoGap {
    /// Its packets are never on a wire.
    #[error("a loopback device has no wire to fill with gap frames; write pacing = \"timer\"")]
    Loopback,
    /// A PAUSE frame cannot be sent on it.
    #[error(
        "gap frames are Ethernet frames, and the device is of another kind (ARPHRD {hardware}); \
         write pacing = \"timer\""
    )]
    NotEthernet {
        /// What kind it is, as in linux/if_arp.h.
        hardware: u16,
    },
    /// Its longest gap frame is too short for all fine lengths (TAKT_GAP_LONGEST_MIN in
    /// algo/gap.h).
    #[error(
        "gap frames need an MTU of {} bytes, and the device's is {mtu_bytes}; write pacing = \
         \"timer\"",
        TAKT_GAP_LONGEST_MIN - HEADER_BYTES
    )]
    SmallMtu {
        /// The device's MTU now.
        mtu_bytes: u32,
    },
}

/// Whether a device can send the gap frames of a plan.
pub(crate) fn check(device: &Device, plan: &takt_plan) -> Result<(), NoGap> {
    match device.hardware {
        _ if plan.pacing == TAKT_PACING_TIMER => Ok(()),
        LOOPBACK => Err(NoGap::Loopback),
        hardware if hardware != ETHERNET => Err(NoGap::NotEthernet { hardware }),
        _ if longest_frame(device) < TAKT_GAP_LONGEST_MIN => Err(NoGap::SmallMtu {
            mtu_bytes: device.mtu_bytes,
        }),
        _ => Ok(()),
    }
}

/// The longest gap frame of a device, without the check sequence.
pub(crate) fn longest_frame(device: &Device) -> u32 {
    device
        .mtu_bytes
        .saturating_add(HEADER_BYTES)
        .min(LONGEST_MAX)
}

#[cfg(test)]
mod tests {
    use takt_algo::{sys::TAKT_PACING_GAP, zeroed_box};

    use super::*;

    fn verdict(hardware: u16, mtu_bytes: u32) -> Result<(), NoGap> {
        let device = Device {
            index: 1,
            name: "eth0".to_owned(),
            gso_max_segs: 1,
            mtu_bytes,
            hardware,
            address: [0; 6],
            ..Device::default()
        };
        let mut plan = zeroed_box::<takt_plan>();
        plan.pacing = TAKT_PACING_GAP;
        check(&device, &plan)
    }

    #[test]
    fn wires_that_cannot_be_filled() {
        assert_eq!(verdict(ETHERNET, 1500), Ok(()));
        assert_eq!(verdict(ETHERNET, 65535), Ok(()));
        assert_eq!(verdict(LOOPBACK, 65536), Err(NoGap::Loopback));
        assert_eq!(
            verdict(libc::ARPHRD_NONE, 1500),
            Err(NoGap::NotEthernet {
                hardware: libc::ARPHRD_NONE
            })
        );
        assert_eq!(
            verdict(ETHERNET, 173),
            Err(NoGap::SmallMtu { mtu_bytes: 173 })
        );
    }
}
