//! The part of a transaction that is the stations': taktd sets their weights by a policy's `[radio]`,
//! with or without links.

use crate::{
    error::Error,
    part::followed::{Asked, Followed, applied},
    state::{records::Records, source::Source},
};

/// Weights of stations.
pub(crate) struct Weights;

impl Asked for Weights {
    const RECORDS: Records = Records("radio");
}

/// What a policy changes of this namespace's `[radio]`.
pub(crate) type Radio<'a> = Followed<'a, Weights>;

/// The policy with `[radio]` in force in this network namespace, if there is one.
pub fn applied_radio() -> Result<Option<Source>, Error> {
    applied::<Weights>()
}
