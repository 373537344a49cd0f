//! What the classes ask for against what the link has.

use super::priority;
use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{ReadClass, ReadLink};
use crate::value::rate::format_rate;

pub(super) fn check(link: &ReadLink, findings: &mut Findings) {
    let Some(link_bps) = link.rate_bps else {
        return;
    };
    for class in &link.classes {
        check_above_link(class, link, link_bps, findings);
    }
    warn_of_oversubscription(link, link_bps, findings);
    warn_of_outranked(link, findings);
}

fn check_above_link(class: &ReadClass, link: &ReadLink, link_bps: u64, findings: &mut Findings) {
    let (Some(bps), Some(span)) = (class.rate_bps, &class.rate_span) else {
        return;
    };
    if bps <= link_bps {
        return;
    }
    let link_rate = format_rate(link_bps);
    let error = Diagnostic::error(
        Code::RateAboveLink,
        format!(
            "class `{}` asks for {}, but {} has {link_rate}",
            class.shown_name(),
            format_rate(bps),
            link.device
        ),
        format!("ask for at most \"{link_rate}\", or correct the link's rate"),
    );
    findings.add(
        error
            .at(span, "more than the link has")
            .at(&link.rate_span, "the link's rate"),
    );
}

fn warn_of_oversubscription(link: &ReadLink, link_bps: u64, findings: &mut Findings) {
    let guaranteed = || link.classes.iter().filter_map(|class| class.rate_bps);
    let sum_bps: u128 = guaranteed().map(u128::from).sum();
    if sum_bps <= u128::from(link_bps) || guaranteed().any(|bps| bps > link_bps) {
        return;
    }
    // 4094 classes of at most 400 Gbit/s stay below 2^51.
    let sum_rate = format_rate(sum_bps as u64);
    let permille = u128::from(link_bps) * 1000 / sum_bps;
    let warning = Diagnostic::warning(
        Code::Oversubscribed,
        format!(
            "the classes of {} ask for {sum_rate} together, the link has {}",
            link.device,
            format_rate(link_bps)
        ),
        format!(
            "this is allowed; while all are active, each gets {}.{} % of its rate",
            permille / 10,
            permille % 10
        ),
    );
    findings.add(warning.at(&link.rate_span, "less than the sum of its classes"));
}

/// A class without a rate is paced at the link's, so it may leave nothing to those it is not
/// ranked behind.
fn warn_of_outranked(link: &ReadLink, findings: &mut Findings) {
    let guaranteed = link.classes.iter().filter(|class| class.rate_bps.is_some());
    let Some(last) = guaranteed.max_by_key(|class| priority(class)) else {
        return;
    };
    // A rate that could not be read leaves open whether the class has one.
    let unlimited =
        |class: &&ReadClass| class.rate_span.is_none() && priority(class) <= priority(last);
    for class in link.classes.iter().filter(unlimited) {
        let warning = Diagnostic::warning(
            Code::Outranked,
            format!(
                "class `{}` has no rate and may take all that `{}` counts on",
                class.shown_name(),
                last.shown_name()
            ),
            format!(
                "give `{}` a rate, or a priority after {} (a larger number is less important)",
                class.shown_name(),
                priority(last)
            ),
        );
        findings.add(
            warning
                .at(&class.span, "may send at the link's rate")
                .at(&last.span, "is not ranked before it"),
        );
    }
}
