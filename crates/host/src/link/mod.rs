//! Links: the BPF qdisc on a device, its plan, and its counters.
//!
//! [`part`] puts a policy in force: [`decide`] compares it with what was found, [`devices`]
//! changes the devices, [`program`] and [`memory`] are the loaded programs and a link's part of
//! them, [`record`] remembers a link, [`segments`] says how
//! long the device's packets may be, [`takeover`] has the requests that attach the qdisc to a
//! device and give the device back. [`lost`] finds links that their devices lost, and [`conflict`] is
//! what is known of the programs that did it; [`returned`] tells why a device that is back is not
//! served. [`on_device`] says what a link is on a device, [`without_ip`] knows the devices on which nothing can be classified, [`opaque`] the devices
//! above a link's whose packets are sealed. [`named`] finds a device's link, for [`stations`] and
//! [`uploads`]. [`hook`] attaches programs before the qdisc: [`receive`] and [`egress`].

pub mod background;
pub(crate) mod buffer;
pub(crate) mod conflict;
pub(crate) mod counted;
mod decide;
mod devices;
pub(crate) mod egress;
mod error;
pub(crate) mod gap;
pub(crate) mod hook;
pub mod line;
pub(crate) mod lost;
mod managed;
pub(crate) mod memory;
mod named;
pub(crate) mod offloads;
mod on_device;
mod opaque;
pub(crate) mod outdated;
mod part;
pub(crate) mod program;
pub(crate) mod proof;
pub(crate) mod push_back;
pub(crate) mod receive;
mod record;
pub(crate) mod registered;
pub(crate) mod returned;
pub(crate) mod segments;
pub(crate) mod sockets;
pub mod stations;
pub(crate) mod status;
pub(crate) mod takeover;
pub mod thinning;
mod without_ip;

pub(crate) use conflict::Conflicts;
pub use conflict::{Changer, ConflictStatus};
pub(crate) use decide::{Refusal, Replace, refuse_foreign_root};
pub use error::LinkError;
pub use lost::{LostBy, LostLink};
pub(crate) use managed::Managed;
pub(crate) use on_device::{hardware_of, on_device};
pub(crate) use opaque::opaque_above;
pub use part::{Action, Outcome, Reverted};
pub(crate) use part::{Carrier, Links, Owners, carriers, slots, watched};
pub(crate) use record::{Before, Record};
pub use status::{
    AqmStatus, ClassStatus, Counters, DepartureStatus, DeviceState, FlowStatus, FlowTotals,
    LinkStatus, Share, TenantStatus,
};
pub(crate) use without_ip::is_without_ip;

use crate::error::Error;

/// Make all records usable, for taking back what they are about.
pub(crate) fn salvage() -> Result<(), Error> {
    record::Record::salvage_all()
}

/// Whether any network namespace has a link.
pub(crate) fn are_loaded() -> Result<bool, Error> {
    Ok(program::Program::open()?.is_some())
}
