//! A link without a rate: what needs a number is refused.

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::ReadLink;

const RANGE: &str = "rate = { min = \"5mbit\", base = \"20mbit\", max = \"60mbit\" }";

/// Of a link, with its download.
pub(super) fn check(link: &ReadLink, findings: &mut Findings) {
    if let Some(download) = link.download.as_ref().filter(|download| download.by_device) {
        let error = Diagnostic::error(
            Code::LineRate,
            "what a device receives comes at the rate of the line: nothing pushes it back",
            format!("write a rate a little below the line's, such as \"240mbit\", or {RANGE}"),
        );
        findings.add(error.at(&download.rate_span, "only of what leaves"));
    }
    if !link.by_device {
        return;
    }
    if let Some((_, span)) = &link.preset {
        let error = Diagnostic::error(
            Code::LineRate,
            "the classes of a preset have shares of the link's rate, and this link has none",
            format!("write the classes that you need, with weights, or a rate: {RANGE}"),
        );
        let error = error.at(span, "divides a rate");
        findings.add(error.at(&link.rate_span, "no rate: the device decides"));
    }
    if link.pacing.fills_gaps() {
        let error = Diagnostic::error(
            Code::LineRate,
            "gap frames fill what a rate leaves of a wire, and this link has none",
            "take pacing out, or write the wire's rate",
        );
        findings.add(error.at(&link.rate_span, "no rate: the device decides"));
    }
}
