//! The terms of one match entry: whether they can hold at once, and what they imply.

use crate::findings::Findings;
use crate::read::ReadLink;
use crate::value::{Fault, proto};
use crate::{Code, Family, Match};

/// Drops entries that can never match, after reporting them, and completes the others.
pub(super) fn check(link: &mut ReadLink, findings: &mut Findings) {
    for class in &mut link.classes {
        class
            .matches
            .retain_mut(|entry| match complete(&mut entry.terms) {
                Ok(()) => true,
                Err(fault) => {
                    findings.add(fault.at(&entry.span));
                    false
                }
            });
    }
}

/// Sets the family that other terms imply, so that entries which mean the same are equal.
pub(crate) fn complete(terms: &mut Match) -> Result<(), Fault> {
    check_ports(terms)?;
    terms.family = common_family(terms)?;
    // A prefix of no bits implies only its family.
    terms.src = terms.src.filter(|prefix| prefix.len > 0);
    terms.dst = terms.dst.filter(|prefix| prefix.len > 0);
    Ok(())
}

fn check_ports(terms: &Match) -> Result<(), Fault> {
    let Some(number) = terms.proto.filter(|number| !proto::has_ports(*number)) else {
        return Ok(());
    };
    if terms.src_ports.is_empty() && terms.dst_ports.is_empty() {
        return Ok(());
    }
    Err(never(
        format!("{} has no ports", proto::name(number)),
        "take the ports out, or name a protocol that has them: tcp, udp, udplite, sctp or dccp",
    ))
}

fn common_family(terms: &Match) -> Result<Option<Family>, Fault> {
    let by_proto = match terms.proto {
        Some(proto::ICMP) => ("icmp", Some(Family::Ipv4)),
        Some(proto::ICMP6) => ("icmp6", Some(Family::Ipv6)),
        _ => ("proto", None),
    };
    let said = [
        ("family", terms.family),
        by_proto,
        ("src", terms.src.map(|prefix| prefix.family())),
        ("dst", terms.dst.map(|prefix| prefix.family())),
    ];
    let mut said = said
        .iter()
        .filter_map(|(key, family)| Some((key, (*family)?)));
    let Some((first_key, family)) = said.next() else {
        return Ok(None);
    };
    match said.find(|(_, other)| *other != family) {
        None => Ok(Some(family)),
        Some((key, other)) => Err(never(
            format!(
                "{first_key} is {} and {key} is {}",
                shown(family),
                shown(other)
            ),
            "make both the same, or write an entry for each: match = [{ … }, { … }]",
        )),
    }
}

fn shown(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
    }
}

fn never(why: String, help: &str) -> Fault {
    Fault::new(
        Code::NeverMatches,
        format!("this can never match: {why}"),
        help,
    )
}
