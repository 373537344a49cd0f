//! What takt asks of the operating system: clocks, privileges, control groups, namespaces,
//! netlink, drivers, settings in /sys.

pub(crate) mod boot;
pub(crate) mod caches;
pub(crate) mod capability;
pub(crate) mod cgroup;
pub(crate) mod clock;
pub(crate) mod clock_set;
mod error;
pub(crate) mod ethtool;
pub(crate) mod files;
pub(crate) mod flock;
pub(crate) mod lacking;
pub(crate) mod namespace;
pub(crate) mod netlink;
mod present_name;
pub(crate) mod privilege;
pub(crate) mod routes;
pub(crate) mod sysfs;
pub(crate) mod uevent;

pub use error::OsError;
pub use present_name::present_name;
