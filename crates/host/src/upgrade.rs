//! What another version of takt left, or a damaged disk: `takt revert` works all the same.

use crate::{
    apply::{
        pending,
        revert::{self, Undone},
        session::Session,
    },
    beats::{BeatsRecord, softirq},
    crowd,
    error::Error,
    link,
    os::{capability, namespace::netns_cookie},
    part::Ending,
    radio,
};

/// Give every device of this namespace back as it was found, and its policy's threads to the
/// kernel's own scheduler. What other programs changed meanwhile is left alone and reported.
/// Refused while a policy waits to be confirmed.
pub fn revert(beats: Ending) -> Result<Undone, Error> {
    capability::require()?;
    let session = Session::begin()?;
    match prepare() {
        Ok(()) => drop(session),
        Err(error) => {
            // The first error is the one to report.
            let _ = session.end();
            return Err(error);
        }
    }
    revert::revert(beats)
}

/// Needs the lock. Records that cannot be used must not prevent what can be taken back without
/// them.
fn prepare() -> Result<(), Error> {
    pending::none_waits_for_long()?;
    let netns_cookie = netns_cookie()?;
    link::salvage()?;
    BeatsRecord::salvage_all()?;
    softirq::salvage()?;
    radio::salvage(netns_cookie)?;
    crowd::salvage(netns_cookie)
}
