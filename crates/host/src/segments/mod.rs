//! Short segments for classes that are slower than their link.
//!
//! A link limits the segments of its device ([`crate::link::segments`]); TCP sizes those of a socket by the
//! socket's pacing rate as well. [`part`] sets that rate, by the programs of [`crate::stock::flow`],
//! where a class or its flows are slower than the link. [`round_trips`] turns off what TCP adds to it. [`above`]
//! has VLANs and bonds obey the limit of the device below.

mod above;
mod part;
mod record;
mod round_trips;

pub(crate) use part::Segments;
pub(crate) use record::{RECORDS_DIR, salvage};
