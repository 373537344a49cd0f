//! Lines that change: taktd sets the rates of a policy's links ([`crate::link::line`]).

use crate::{
    error::Error,
    part::followed::{Asked, Followed, applied},
    state::{records::Records, source::Source},
};

/// Rates of lines.
pub(crate) struct LineRates;

impl Asked for LineRates {
    const RECORDS: Records = Records("autorate");
}

/// The part of a transaction that is the lines': the record of a policy with a rate that changes.
pub(crate) type Autorate<'a> = Followed<'a, LineRates>;

/// The policy in force in this network namespace that has a rate that changes, if there is one.
pub fn applied_autorate() -> Result<Option<Source>, Error> {
    applied::<LineRates>()
}
