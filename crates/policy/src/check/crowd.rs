//! The crowd's access point and its link.

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{ReadCrowd, ReadLink};

pub(super) fn check(crowd: &ReadCrowd, links: &[ReadLink], findings: &mut Findings) {
    let Some(span) = &crowd.access_point_span else {
        return;
    };
    let has_link = links.iter().any(|link| crowd.thins(&link.device));
    // Without a device an error has been reported.
    if has_link || crowd.device.is_empty() {
        return;
    }
    let device = &crowd.device;
    let error = Diagnostic::error(
        Code::UnknownLink,
        format!("an access point thins in the queue of its link, and `{device}` is not a link"),
        format!("add it, [link.\"{device}\"] with its rate, or take access_point out"),
    );
    let error = error.at(&crowd.device_span, "no link");
    findings.add(error.at(span, "thins there"));
}
