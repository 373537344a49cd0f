//! What a device receives: as the download has it, or as the classes of its link have it.

use super::aqm::Times;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{ReadClass, ReadLink, ReadMatch};
use crate::value::rate::format_rate;
use crate::{Backend, Class, Code, Gate, Link, Match, Tenant};

pub(super) fn check(link: &ReadLink, findings: &mut Findings) {
    let Some(download) = &link.download else {
        return;
    };
    if let Some(backend) = download.backend
        && !matches!(backend, Backend::Takt | Backend::Tree)
    {
        let error = Diagnostic::error(
            Code::NoDownload,
            format!("the backend `{}` carries out no downloads", backend.name()),
            "write backend = \"takt\" or \"tree\", or leave it out",
        );
        findings.add(error.at(&download.device_span, "this download"));
    }
    if is_divided_by_itself(download) {
        check_own(download, findings)
    } else {
        check_shared(link, download, findings)
    }
}

/// Whether it has classes, tenants or a preset of its own.
pub(super) fn is_divided_by_itself(download: &ReadLink) -> bool {
    let mut classes = download.classes.iter();
    download.preset.is_some()
        || !download.tenants.is_empty()
        || classes.any(|class| !class.is_of_preset)
}

fn check_own(download: &ReadLink, findings: &mut Findings) {
    for class in &download.classes {
        for entry in &class.matches {
            if let Some(key) = not_told(&entry.terms) {
                let error = Diagnostic::error(
                    Code::NoDownload,
                    format!("`{key}` is not known of packets that come in"),
                    "match by addresses, ports, protocol or DSCP",
                );
                findings.add(error.at(&entry.span, "can match no incoming packet"));
            }
        }
        let kept_back = class
            .gate
            .as_ref()
            .filter(|(gate, _)| *gate == Gate::Sender);
        let span = kept_back.map(|(_, span)| span);
        let receives = class.receive.as_ref().map(|(_, span)| span);
        if let Some(span) = span.or(receives) {
            let error = Diagnostic::error(
                Code::NoDownload,
                "classes of a download wait for other packets, and for no task".to_owned(),
                "take the key out",
            );
            findings.add(error.at(span, "only of a class of packets that leave"));
        }
    }
}

/// The link's classes hold for both directions.
fn check_shared(link: &ReadLink, download: &ReadLink, findings: &mut Findings) {
    let Some(rate_bps) = download.rate_bps else {
        return;
    };
    let too_much = |class: &ReadClass| {
        let share = &class.share;
        let most_bps = download.most_bps().unwrap_or(rate_bps);
        let all = [
            (&share.rate, link.rate_bps, rate_bps),
            // A ceiling as high as the link is none.
            (&share.ceil, link.most_bps(), most_bps),
            (&share.floor, link.rate_bps, rate_bps),
        ];
        let mut rates = all.into_iter().filter_map(|(rate, all_bps, most_bps)| {
            let rate = rate.as_ref().filter(|rate| rate.bps != all_bps)?;
            (rate.bps? > most_bps).then(|| rate.span.clone())
        });
        rates.next()
    };
    // A preset's have shares of the download's rate there.
    for class in link.classes.iter().filter(|class| !class.is_of_preset) {
        if let Some(span) = too_much(class) {
            let error = Diagnostic::error(
                Code::NoDownload,
                format!(
                    "class `{}` holds for the download as well, which has {}",
                    class.shown_name(),
                    format_rate(rate_bps)
                ),
                format!(
                    "give the download classes of its own: [[link.{}.download.class]]",
                    link.device
                ),
            );
            findings.add(error.at(&span, "more than the download has"));
        }
        let told = |entry: &&ReadMatch| not_told(&entry.terms).is_none();
        if !class.matches.is_empty() && class.matches.iter().find(told).is_none() {
            let warning = Diagnostic::warning(
                Code::NoDownload,
                format!(
                    "class `{}` takes nothing of what comes in: whose it is, is not known yet",
                    class.shown_name()
                ),
                format!(
                    "it is in the download's default class; to divide the download otherwise, give it \
                     classes of its own: [[link.{}.download.class]]",
                    link.device
                ),
            );
            findings.add(warning.at(&class.span, "matches only what leaves"));
        }
    }
}

/// A key that says nothing about a packet that comes in, before the host has looked at it.
fn not_told(terms: &Match) -> Option<&'static str> {
    [
        ("app", terms.app.is_some()),
        ("user", terms.user.is_some()),
        ("cgroup", terms.cgroup.is_some()),
        ("unit", terms.unit.is_some()),
        ("registered", terms.registered),
        ("mark", terms.mark.is_some()),
    ]
    .into_iter()
    .find_map(|(key, is_there)| is_there.then_some(key))
}

/// The model of a download, from that of its link and its own, whose classes are those of the file.
pub(super) fn resolve(link: &Link, own: Link, is_divided_by_itself: bool) -> Link {
    let mut download = if is_divided_by_itself {
        own
    } else {
        Link {
            tenants: link
                .tenants
                .iter()
                .map(|tenant| shared_tenant(link, tenant))
                .collect(),
            classes: link
                .classes
                .iter()
                .filter_map(|class| match of_preset(&own, class) {
                    Some(scaled) => Some(scaled.clone()),
                    None => shared_class(link, &own, class),
                })
                .collect(),
            ..own
        }
    };
    download.download_of = Some(link.device.clone());
    for class in &mut download.classes {
        class.gate = class.gate.map(|_| Gate::Open);
        class.receive = false;
    }
    download
}

/// The preset's class of this name with its share of the download, which has no others then.
fn of_preset<'a>(download: &'a Link, class: &Class) -> Option<&'a Class> {
    let mut classes = download.classes.iter().filter(|class| !class.is_default);
    classes.find(|scaled| scaled.name == class.name)
}

/// Of a line that changes, the least that it has.
fn slowest_bps(link: &Link) -> u64 {
    let changing = link.autorate.as_ref();
    changing.map_or(link.rate_bps, |line| line.min_bps)
}

/// A ceiling as high as the link is none: the download has another rate.
fn ceil_bps(link: &Link, ceil_bps: Option<u64>) -> Option<u64> {
    ceil_bps.filter(|ceil_bps| *ceil_bps < link.most_bps())
}

fn shared_tenant(link: &Link, tenant: &Tenant) -> Tenant {
    Tenant {
        ceil_bps: ceil_bps(link, tenant.ceil_bps),
        ..tenant.clone()
    }
}

/// `None`: no packet that comes in is told to be of the class.
fn shared_class(link: &Link, own: &Link, class: &Class) -> Option<Class> {
    let matches: Vec<Match> = { class.matches.iter() }
        .filter(|entry| not_told(entry).is_none())
        .map(reversed)
        .collect();
    let ceil_bps = ceil_bps(link, class.ceil_bps);
    let at = |ceil_bps: Option<u64>, link_bps: u64| {
        Times::at(ceil_bps.map_or(link_bps, |ceil| ceil.min(link_bps)))
    };
    let before = at(class.ceil_bps, slowest_bps(link));
    let aqm = Times::moved(class.aqm, before, at(ceil_bps, slowest_bps(own)));
    (class.is_default || !matches.is_empty()).then(|| Class {
        ceil_bps,
        matches,
        aqm,
        ..class.clone()
    })
}

/// The match of the answers.
fn reversed(entry: &Match) -> Match {
    Match {
        src: entry.dst,
        dst: entry.src,
        src_ports: entry.dst_ports.clone(),
        dst_ports: entry.src_ports.clone(),
        ..entry.clone()
    }
}
