//! What other programs changed, and takt leaves alone.

use thiserror::Error;

/// The host's qdiscs are not as takt left them, or not takt's to change.
#[derive(Debug, Error)]
pub enum Foreign {
    /// A device has another program's qdisc, and takt was not told to replace it.
    #[error("{device} already carries another program's qdisc: {kind} {handle}")]
    NeedsReplace {
        /// Its name.
        device: String,
        /// The kind of its root qdisc.
        kind: String,
        /// The qdisc's handle, as `tc` prints it.
        handle: String,
    },
    /// Takt was told to replace a device's qdisc, and could not restore what hangs below it.
    #[error(
        "{device} carries a {kind} {handle} with {what} below it, which takt could not put back"
    )]
    Irreplaceable {
        /// Its name.
        device: String,
        /// The kind of its root qdisc.
        kind: String,
        /// The qdisc's handle, as `tc` prints it.
        handle: String,
        /// `further qdiscs`, `filters` or `classes`.
        what: &'static str,
    },
    /// Takt was told to replace a device's qdisc, and it is not certain that it would come back.
    #[error("{device} carries a {kind} {handle}, which takt may not be able to put back: {reason}")]
    Unproved {
        /// Its name.
        device: String,
        /// The kind of its root qdisc.
        kind: String,
        /// The qdisc's handle, as `tc` prints it.
        handle: String,
        /// What would be lost, or why that cannot be told.
        reason: String,
    },
    /// Takt gave a device back, and the kernel refused the qdisc that it had before.
    #[error(
        "{device} has the kernel's default qdisc instead of the {kind} {handle} that it had before \
         takt, which the kernel refused: {reason}"
    )]
    NotRestored {
        /// Its name.
        device: String,
        /// The kind of the root qdisc that it had.
        kind: String,
        /// That qdisc's handle, as `tc` prints it.
        handle: String,
        /// The kernel's.
        reason: String,
    },
    /// Takt was to give a device back, whose root qdisc another program has replaced.
    #[error(
        "{device} no longer carries takt's qdisc but {found}: another program changed it, so it was \
         left as it is"
    )]
    Changed {
        /// Its name.
        device: String,
        /// What is attached there: kind and handle, or the kernel's default.
        found: String,
    },
    /// A device has the name by which takt calls what another one receives.
    #[error(
        "{device} is another program's device, and takt needs this name for what {of} receives"
    )]
    NameTaken {
        /// The name.
        device: String,
        /// The device that has a download.
        of: String,
    },
    /// The default congestion control was to be restored.
    #[error(
        "net.ipv4.tcp_congestion_control is {found} and no longer takt: another program changed it, \
         so it was left as it is"
    )]
    Congestion {
        /// What it is now.
        found: String,
    },
    /// Takt was to return to a device that is gone.
    #[error("the device {device} is gone")]
    Gone {
        /// Its name.
        device: String,
    },
}

impl Foreign {
    /// The device concerned, if there is one.
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::NeedsReplace { device, .. }
            | Self::Irreplaceable { device, .. }
            | Self::Unproved { device, .. }
            | Self::NotRestored { device, .. }
            | Self::Changed { device, .. }
            | Self::NameTaken { device, .. }
            | Self::Gone { device } => Some(device),
            Self::Congestion { .. } => None,
        }
    }

    /// What the user can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::NeedsReplace { .. } => "`takt apply --replace` puts takt in its place, and \
                                          `takt revert` puts it back"
                .to_owned(),
            Self::Irreplaceable { device, .. } | Self::Unproved { device, .. } => {
                format!("to replace it anyway, delete it first: tc qdisc del dev {device} root")
            }
            Self::NotRestored { device, .. } => {
                format!("set it up again as at first: tc qdisc replace dev {device} root ...")
            }
            Self::Changed { device, .. } => format!("inspect it: tc qdisc show dev {device}"),
            Self::NameTaken { device, .. } => {
                format!("give it another name: ip link set dev {device} name ...")
            }
            Self::Congestion { .. } => {
                "inspect it: sysctl net.ipv4.tcp_congestion_control".to_owned()
            }
            Self::Gone { .. } => "`ip link` lists the devices of this network namespace".to_owned(),
        }
    }
}
