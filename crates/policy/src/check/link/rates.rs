//! Rates of classes and tenants against what is available: on the link, and within each tenant.

use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{PRIORITY_REST, ReadLink, ReadRate, ReadShare, ReadTenant, bps_of};
use crate::source::Span;
use crate::value::rate::format_rate;
use crate::{Backend, Code, DEFAULT_CLASS, PRIORITY_BACKGROUND};

/// A node: the link or a tenant, with its entities.
struct Group<'a> {
    limit: Limit<'a>,
    members: Vec<Member<'a>>,
    /// Whether the default class is one more member, which the file does not mention.
    has_implicit_default: bool,
}

/// The most that a node has.
struct Limit<'a> {
    bps: u64,
    /// What it has at best: more than `bps` on a line that changes.
    most_bps: u64,
    span: &'a Span,
    of: Of<'a>,
    /// Whether it is a number of the policy's: a link whose device decides has none.
    is_known: bool,
}

#[derive(Clone, Copy)]
enum Of<'a> {
    Link(&'a str),
    Tenant(&'a str),
}

/// A class or a tenant.
struct Member<'a> {
    kind: Kind,
    name: &'a str,
    span: &'a Span,
    share: &'a ReadShare,
    /// Whether its rate is that of each flow or station.
    is_each: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Class,
    Tenant,
}

pub(super) fn check(link: &ReadLink, has_stations: bool, findings: &mut Findings) {
    let Some(link_bps) = link.rate_bps else {
        return;
    };
    let groups =
        std::iter::once(None).chain(link.tenants.iter().filter(|t| t.name.is_some()).map(Some));
    for tenant in groups {
        let group = Group::new(link, link_bps, has_stations, tenant);
        for member in &group.members {
            check_member(member, &group.limit, findings);
        }
        check_floors(&group, findings);
        warn_of_oversubscription(&group, findings);
        warn_of_outranked(&group, findings);
        // These backends have no ceilings above rates.
        if !matches!(link.backend, Some(Backend::Departure | Backend::Flow)) {
            warn_of_capped(&group, findings);
        }
    }
}

impl<'a> Group<'a> {
    /// The node of a tenant, or without one the link itself.
    fn new(
        link: &'a ReadLink,
        link_bps: u64,
        has_stations: bool,
        tenant: Option<&'a ReadTenant>,
    ) -> Self {
        let limit_of_link = Limit {
            bps: link_bps,
            most_bps: link.most_bps().unwrap_or(link_bps),
            span: &link.rate_span,
            of: Of::Link(&link.device),
            is_known: !link.by_device,
        };
        let limit = match tenant.and_then(|tenant| Some((tenant, tenant.share.limit()?))) {
            Some((
                tenant,
                ReadRate {
                    bps: Some(bps),
                    span,
                },
            )) => Limit {
                bps: *bps,
                most_bps: *bps,
                span,
                of: Of::Tenant(tenant.shown_name()),
                is_known: true,
            },
            _ => limit_of_link,
        };
        let name = tenant.and_then(|tenant| tenant.name.as_ref());
        let classes = link
            .classes
            .iter()
            .filter(|class| class.tenant.as_ref().map(|(name, _)| name) == name)
            .map(|class| Member {
                kind: Kind::Class,
                name: class.shown_name(),
                span: &class.span,
                share: &class.share,
                is_each: class.per_flow || has_stations,
            });
        let tenants = link
            .tenants
            .iter()
            .filter(|_| tenant.is_none())
            .map(|tenant| Member {
                kind: Kind::Tenant,
                name: tenant.shown_name(),
                span: &tenant.span,
                share: &tenant.share,
                is_each: false,
            });
        let has_default = link.classes.iter().any(|class| class.is_default());
        Group {
            limit,
            members: tenants.chain(classes).collect(),
            has_implicit_default: tenant.is_none() && !has_default,
        }
    }

    /// The last in the order of priorities, and its priority, apart from the background: that is
    /// behind all others anyway.
    fn last(&self) -> Option<(String, u8)> {
        let members = self.members.iter();
        let members = members.map(|member| (member.shown(), member.share.priority()));
        let implicit = self
            .has_implicit_default
            .then(|| (Kind::Class.shown(DEFAULT_CLASS), PRIORITY_REST));
        members
            .chain(implicit)
            .filter(|(_, priority)| *priority < PRIORITY_BACKGROUND)
            .max_by_key(|(_, priority)| *priority)
    }

    /// The sum of a kind of rate, where present; `None` if a single one is too large.
    fn sum_bps(&self, kind: impl Fn(&ReadShare) -> &Option<ReadRate>) -> Option<u64> {
        let mut sum_bps = 0;
        for member in &self.members {
            let bps = bps_of(kind(member.share)).unwrap_or_default();
            if bps > self.limit.bps {
                return None;
            }
            // 4157 of at most 400 Gbit/s each stay below 2^51.
            sum_bps += bps;
        }
        Some(sum_bps)
    }
}

impl Limit<'_> {
    fn shown(&self) -> String {
        format!("{} has {}", self.of.shown(), format_rate(self.bps))
    }

    fn label(&self) -> &'static str {
        match self.of {
            Of::Link(_) => "the link's rate",
            Of::Tenant(_) => "the tenant's limit",
        }
    }
}

impl Of<'_> {
    fn shown(self) -> String {
        match self {
            Of::Link(device) => device.to_owned(),
            Of::Tenant(name) => format!("tenant `{name}`"),
        }
    }
}

impl Member<'_> {
    fn shown(&self) -> String {
        self.kind.shown(self.name)
    }
}

impl Kind {
    fn shown(self, name: &str) -> String {
        match self {
            Kind::Class => format!("class `{name}`"),
            Kind::Tenant => format!("tenant `{name}`"),
        }
    }
}

/// One share by itself and against its node.
fn check_member(member: &Member, limit: &Limit, findings: &mut Findings) {
    let share = member.share;
    for (rate, asks, most_bps) in [
        (&share.rate, "asks for", limit.bps),
        (&share.ceil, "may borrow up to", limit.most_bps),
        (&share.floor, "has a floor of", limit.bps),
    ] {
        check_above(member, rate, asks, limit, most_bps, findings);
    }
    if let (Some((rate_bps, rate)), Some((ceil_bps, ceil))) = (read(&share.rate), read(&share.ceil))
        && ceil_bps < rate_bps
    {
        let error = Diagnostic::error(
            Code::CeilBelowRate,
            format!(
                "{} is guaranteed {}, but may not go above {}",
                member.shown(),
                format_rate(rate_bps),
                format_rate(ceil_bps)
            ),
            "raise ceil to the rate at least, or leave it out: then the rate is the ceiling",
        );
        findings.add(error.at(ceil, "less than its rate").at(rate, "the rate"));
    }
    if let (Some((floor_bps, floor)), Some((most_bps, most))) =
        (read(&share.floor), share.limit().and_then(read_one))
        && floor_bps > most_bps
        && floor_bps <= limit.bps
    {
        let error = Diagnostic::error(
            Code::FloorAboveCeil,
            format!(
                "{} has a floor of {}, but may not go above {}",
                member.shown(),
                format_rate(floor_bps),
                format_rate(most_bps)
            ),
            format!(
                "lower the floor to at most \"{}\", or raise ceil",
                format_rate(most_bps)
            ),
        );
        let error = error.at(floor, "more than it may send");
        findings.add(error.at(most, "the most it may send"));
    }
}

fn read(rate: &Option<ReadRate>) -> Option<(u64, &Span)> {
    rate.as_ref().and_then(read_one)
}

fn read_one(rate: &ReadRate) -> Option<(u64, &Span)> {
    Some((rate.bps?, &rate.span))
}

fn check_above(
    member: &Member,
    rate: &Option<ReadRate>,
    asks: &str,
    limit: &Limit,
    most_bps: u64,
    findings: &mut Findings,
) {
    let Some((bps, span)) = read(rate).filter(|(bps, _)| *bps > most_bps) else {
        return;
    };
    let most = format_rate(most_bps);
    let (code, label, help) = match limit.of {
        Of::Link(_) => (
            Code::RateAboveLink,
            "more than the link has",
            format!("ask for at most \"{most}\", or correct the link's rate"),
        ),
        Of::Tenant(_) => (
            Code::RateAboveTenant,
            "more than its tenant has",
            format!("ask for at most \"{most}\", or raise the tenant's ceil"),
        ),
    };
    let error = Diagnostic::error(
        code,
        format!(
            "{} {asks} {}, but {} has {most}",
            member.shown(),
            format_rate(bps),
            limit.of.shown()
        ),
        help,
    );
    findings.add(error.at(span, label).at(limit.span, limit.label()));
}

fn check_floors(group: &Group, findings: &mut Findings) {
    let limit = &group.limit;
    let sum_bps = group.sum_bps(|share| &share.floor);
    let Some(sum_bps) = sum_bps.filter(|sum_bps| *sum_bps > limit.bps) else {
        return;
    };
    let error = Diagnostic::error(
        Code::FloorsAboveLink,
        format!(
            "the floors add up to {}, but {}",
            format_rate(sum_bps),
            limit.shown()
        ),
        "lower them: floors come before everything else, so there must be room for all of them",
    );
    findings.add(error.at(limit.span, "less than the sum of the floors"));
}

fn warn_of_oversubscription(group: &Group, findings: &mut Findings) {
    let limit = &group.limit;
    let sum_bps = group.sum_bps(|share| &share.rate);
    let Some(sum_bps) = sum_bps.filter(|sum_bps| *sum_bps > limit.bps) else {
        return;
    };
    let has_tenants = group
        .members
        .iter()
        .any(|member| member.kind == Kind::Tenant);
    let permille = u128::from(limit.bps) * 1000 / u128::from(sum_bps);
    let (has, members) = match (limit.of, has_tenants) {
        (Of::Tenant(_), _) => ("it has", "classes"),
        (Of::Link(_), false) => ("the link has", "classes"),
        (Of::Link(_), true) => ("the link has", "tenants and classes"),
    };
    let warning = Diagnostic::warning(
        Code::Oversubscribed,
        format!(
            "the {members} of {} ask for {} together, {has} {}",
            limit.of.shown(),
            format_rate(sum_bps),
            format_rate(limit.bps)
        ),
        format!(
            "this is allowed; while all are active, each gets {}.{} % of its rate",
            permille / 10,
            permille % 10
        ),
    );
    findings.add(warning.at(limit.span, format!("less than the sum of its {members}")));
}

/// Priorities are strict: an entity without a limit leaves nothing to lower priorities.
fn warn_of_outranked(group: &Group, findings: &mut Findings) {
    let guaranteed = group
        .members
        .iter()
        .filter(|member| member.share.rate.is_some() && member.share.floor.is_none());
    let Some(last) = guaranteed.max_by_key(|member| member.share.priority()) else {
        return;
    };
    // The value of a limit that could not be read is unknown.
    let is_limited = |share: &ReadShare| {
        share
            .limit()
            .is_some_and(|limit| limit.bps.is_none_or(|bps| bps < group.limit.bps))
    };
    let outranks = |member: &&Member| {
        !is_limited(member.share) && member.share.priority() < last.share.priority()
    };
    for member in group.members.iter().filter(outranks) {
        let warning = Diagnostic::warning(
            Code::Outranked,
            format!(
                "{} may take all that {} counts on",
                member.shown(),
                last.shown()
            ),
            format!(
                "give {} a ceil, or the priority {} or after (a larger number is less important)",
                member.shown(),
                last.share.priority()
            ),
        );
        findings.add(
            warning
                .at(member.span, "may send all there is")
                .at(last.span, "is ranked behind it"),
        );
    }
}

/// A rate alone is a pace. Who also names a priority wants to be served before others, and may not
/// expect that these get what the rate does not let through.
fn warn_of_capped(group: &Group, findings: &mut Findings) {
    let limit = &group.limit;
    let sum_bps = group.sum_bps(|share| &share.rate);
    // What no member counts on.
    let room_bps = sum_bps.and_then(|sum_bps| limit.bps.checked_sub(sum_bps));
    let (Some(room_bps @ 1..), Some((last, last_priority))) = (room_bps, group.last()) else {
        return;
    };
    for member in group.members.iter().filter(|member| !member.is_each) {
        let share = member.share;
        let (Some(priority), Some((rate_bps, rate)), None) =
            (share.stated_priority(), read(&share.rate), &share.ceil)
        else {
            continue;
        };
        if priority >= last_priority {
            continue;
        }
        // Of a link without a rate, any number above the pace is an example.
        let more_bps = if limit.is_known { room_bps } else { rate_bps };
        let (pace, most) = (format_rate(rate_bps), format_rate(rate_bps + more_bps));
        let warning = Diagnostic::warning(
            Code::Capped,
            format!(
                "{} goes before {last}, but never gets more than {pace}",
                member.shown()
            ),
            format!(
                "add ceil = \"{most}\" to let it borrow what other rates leave, or ceil = \
                 \"{pace}\" if it is paced on purpose"
            ),
        );
        findings.add(
            warning
                .at(rate, "all it gets, without a ceil")
                .at(limit.span, limit.label()),
        );
    }
}
