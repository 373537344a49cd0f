//! How the parts of a policy go together: what can never match, what stands twice, what is
//! promised beyond the link. Then the model, with every default filled in.

mod cover;
mod names;
mod rates;
mod shadow;
mod terms;
#[cfg(test)]
mod tests;
mod tuple_space;

use crate::findings::Findings;
use crate::read::{ReadClass, ReadLink};
use crate::source::{Source, Span};
use crate::{Class, DEFAULT_CLASS, Link};

/// A class that names a rate goes before one that takes what is left.
const PRIORITY_GUARANTEED: u8 = 3;
const PRIORITY_REST: u8 = 6;
const QUEUE_DEFAULT_PACKETS: u32 = 1000;

/// Every link with the place where its device is named. Worth something only if no error was found.
pub(crate) fn check(
    links: Vec<ReadLink>,
    source: &Source,
    findings: &mut Findings,
) -> Vec<(Span, Link)> {
    links
        .into_iter()
        .map(|mut link| {
            names::check(&link, findings);
            terms::check(&mut link, findings);
            shadow::check(&link, source, findings);
            rates::check(&link, findings);
            (link.device_span.clone(), resolve(link))
        })
        .collect()
}

fn resolve(link: ReadLink) -> Link {
    // Without a rate an error has been reported, and the model is not handed out.
    let rate_bps = link.rate_bps.unwrap_or_default();
    let mut classes: Vec<Class> = link
        .classes
        .into_iter()
        .map(|class| resolve_class(class, rate_bps))
        .collect();
    if !classes.iter().any(|class| class.is_default) {
        classes.push(Class {
            name: DEFAULT_CLASS.to_owned(),
            rate_bps,
            guaranteed: false,
            priority: PRIORITY_REST,
            queue_packets: QUEUE_DEFAULT_PACKETS,
            matches: Vec::new(),
            is_default: true,
            line: link.line,
        });
    }
    Link {
        device: link.device,
        rate_bps,
        overhead_bytes: link.overhead_bytes,
        packets: link.packets,
        lag_max_ns: link.lag_max_ns,
        classes,
    }
}

fn resolve_class(class: ReadClass, link_rate_bps: u64) -> Class {
    Class {
        is_default: class.is_default(),
        priority: priority(&class),
        name: class.name.unwrap_or_default(),
        rate_bps: class.rate_bps.unwrap_or(link_rate_bps),
        guaranteed: class.rate_bps.is_some(),
        queue_packets: class.queue_packets.unwrap_or(QUEUE_DEFAULT_PACKETS),
        matches: class.matches.into_iter().map(|entry| entry.terms).collect(),
        line: class.line,
    }
}

fn priority(class: &ReadClass) -> u8 {
    class.priority.unwrap_or(match class.rate_bps {
        Some(_) => PRIORITY_GUARANTEED,
        None => PRIORITY_REST,
    })
}
