//! What stands on a device.

use super::{
    flow::Hold,
    hook,
    record::{Place, StockRecord},
    shape::Shape,
};
use crate::{
    error::Error,
    os::{
        OsError,
        netlink::{Classifier, Netlink, Port},
    },
};

/// A link that is in force.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    pub record: StockRecord,
    /// The number of its program.
    pub program: u32,
    /// A takt died while it changed the link: some of it is of another policy.
    pub is_unfinished: bool,
}

impl Standing {
    /// The one on this device, if a policy is in force: the program, which comes last, says which.
    pub fn read(netlink: &mut Netlink, port: &Port, place: &Place) -> Result<Option<Self>, Error> {
        if !port.carries_stock() {
            return Ok(None);
        }
        for record in place.records()?.into_iter().rev() {
            let Some(program) = record.program.filter(|_| record.shape.is_on(port)) else {
                continue;
            };
            if called(netlink, &record)?.contains(&program) {
                // Existing connections get their rates after that program is called.
                let has_rates = !matches!(record.shape, Shape::Flow(_)) || place.has_stood();
                return Ok(Some(Self {
                    record,
                    program,
                    is_unfinished: place.has_several() || !has_rates,
                }));
            }
        }
        Ok(None)
    }
}

/// The programs that are called where this record's would be.
fn called(netlink: &mut Netlink, record: &StockRecord) -> Result<Vec<u32>, Error> {
    match record.shape {
        Shape::Departure(_) => hook::attached(netlink, record.ifindex),
        Shape::Flow(_) => {
            let place = Place::new(record.netns.cookie, record.ifindex);
            Ok(Hold::of_link(&place).attached()?.into_iter().collect())
        }
        Shape::Tree(_) => {
            let found = Classifier::list(netlink, record.ifindex, record.shape.handle())
                .map_err(OsError::netlink("listing filters"))?;
            Ok(found.iter().map(|found| found.id).collect())
        }
    }
}
