//! A rate that changes: its bounds, and what measures the line.

use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{ReadLink, ReadRange, bps_of};
use crate::value::rate::format_rate;
use crate::{Autorate, Code};

/// Of a link, with its download.
pub(super) fn check(link: &ReadLink, findings: &mut Findings) {
    let directions = || std::iter::once(link).chain(link.download.as_deref());
    for direction in directions() {
        if let Some(range) = &direction.range {
            check_order(direction, range, findings);
            warn_of_guarantees(direction, range, findings);
        }
    }
    let changing = directions().find(|direction| direction.range.is_some());
    match (changing, &link.reflectors) {
        (None, Some(reflectors)) => {
            let error = Diagnostic::error(
                Code::IdleKey,
                "`reflectors` does nothing while the rates of link and download are fixed",
                "take it out, or write rate = { min = \"5mbit\", base = \"20mbit\", max = \"60mbit\" }",
            );
            findings.add(error.at(&reflectors.span, "for nothing"));
        }
        (Some(direction), None) => {
            let error = Diagnostic::error(
                Code::RateRange,
                format!(
                    "{} has a rate that changes, and nothing that measures the line",
                    direction.device
                ),
                format!(
                    "name hosts beyond the line that answer ping, three or more, in [link.{}]: \
                     reflectors = [\"9.9.9.9\", \"1.1.1.1\", \"8.8.8.8\"]",
                    link.device
                ),
            );
            findings.add(error.at(&direction.rate_span, "changes by what is measured"));
        }
        (None, None) | (Some(_), Some(_)) => {}
    }
    if link.range.is_some() && link.pacing.fills_gaps() {
        let error = Diagnostic::error(
            Code::RateRange,
            "gap frames fill a wire, and its rate does not change",
            "take pacing out, or write one rate",
        );
        findings.add(error.at(&link.rate_span, "changes"));
    }
}

fn check_order(link: &ReadLink, range: &ReadRange, findings: &mut Findings) {
    let (Some(min), Some(base), Some(max)) =
        (bps_of(&range.min), link.rate_bps, bps_of(&range.max))
    else {
        return;
    };
    if min <= base && base <= max {
        return;
    }
    let [low, middle, high] = [min, base, max].map(format_rate);
    let error = Diagnostic::error(
        Code::RateRange,
        format!(
            "{}: min is {low}, base {middle} and max {high}, which is not their order",
            link.device
        ),
        "min is the least of them and max the most; a fixed rate is one value: rate = \"20mbit\"",
    );
    findings.add(error.at(
        &link.rate_span,
        "not between min and max, or these are exchanged",
    ));
}

/// What is guaranteed is compared with the base elsewhere. The line may have less.
fn warn_of_guarantees(link: &ReadLink, range: &ReadRange, findings: &mut Findings) {
    let (Some(base_bps), Some(min_bps)) = (link.rate_bps, bps_of(&range.min)) else {
        return;
    };
    let classes = link.classes.iter().filter(|class| class.tenant.is_none());
    let shares = classes.map(|class| &class.share);
    let shares = shares.chain(link.tenants.iter().map(|tenant| &tenant.share));
    let rates = shares.filter_map(|share| bps_of(&share.rate));
    let sum_bps = rates.fold(0, u64::saturating_add);
    if sum_bps <= min_bps || sum_bps > base_bps {
        return;
    }
    let permille = u128::from(min_bps) * 1000 / u128::from(sum_bps);
    let warning = Diagnostic::warning(
        Code::Oversubscribed,
        format!(
            "the classes of {} ask for {} together, and the line has {} at its least",
            link.device,
            format_rate(sum_bps),
            format_rate(min_bps)
        ),
        format!(
            "this is allowed; while all are active and the line has no more, each gets {}.{} % of its \
             rate",
            permille / 10,
            permille % 10
        ),
    );
    findings.add(warning.at(&link.rate_span, "min is less than the sum of its classes"));
}

/// The model of it; `None`: the rate is fixed.
pub(super) fn resolve(link: &ReadLink) -> Option<Autorate> {
    let range = link.range.as_ref()?;
    let reflectors = link.reflectors.as_ref();
    Some(Autorate {
        min_bps: bps_of(&range.min)?,
        max_bps: bps_of(&range.max)?,
        reflectors: reflectors.map_or_else(Vec::new, |reflectors| reflectors.addresses.clone()),
    })
}
