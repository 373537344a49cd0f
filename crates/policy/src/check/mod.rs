//! Parts of a policy against each other: entries that can never match, duplicates, guarantees
//! beyond the link. Then the model, with every default filled in.

mod background;
mod beats;
mod count;
mod cover;
mod names;
mod questions;
mod radio;
mod rates;
mod shadow;
mod tenants;
mod terms;
#[cfg(test)]
mod tests;
mod tuple_space;

use std::collections::BTreeMap;

use crate::findings::Findings;
use crate::read::{
    PRIORITY_REST, ReadClass, ReadLink, ReadPolicy, ReadTenant, WEIGHT_DEFAULT_MILLI, bps_of,
};
use crate::source::{Source, Span};
use crate::{Beats, Class, Crowd, DEFAULT_CLASS, Link, Radio, Tenant};

const QUEUE_DEFAULT_PACKETS: u16 = 1000;
/// Of each flow or station.
const QUEUE_DEFAULT_OF_MANY_PACKETS: u16 = 100;

/// Where the key files are named.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct KeySpans {
    pub crowd: Option<Span>,
    pub radio: Option<Span>,
}

/// The model, and the positions of its parts. Valid only if no error was found.
pub(crate) struct Checked {
    pub links: Vec<Link>,
    /// Where each link's device is named.
    pub device_spans: Vec<Span>,
    pub radio: Option<Radio>,
    pub crowd: Option<Crowd>,
    /// Where the device of the crowd is named.
    pub crowd_span: Option<Span>,
    /// Where the keys are named.
    pub key_spans: KeySpans,
    pub beats: Option<Beats>,
    /// Where each task is named.
    pub task_spans: Vec<Span>,
    /// The first match that asks for a user by this name.
    pub user_spans: BTreeMap<String, Span>,
}

pub(crate) fn check(read: ReadPolicy, source: &Source, findings: &mut Findings) -> Checked {
    let mut links = read.links;
    for link in &mut links {
        names::check(link, findings);
        tenants::check(link, findings);
        terms::check(link, findings);
        shadow::check(link, source, findings);
        rates::check(link, findings);
        background::check(link, findings);
    }
    questions::check(&links, findings);
    count::check(&links, findings);
    let user_spans = questions::users(&links);
    let radio = read.radio;
    if let Some(radio) = &radio {
        radio::check(radio, &links, findings);
    }
    let has_stations = |link: &ReadLink| radio.iter().any(|radio| radio.covers(&link.device));
    let (device_spans, links): (_, Vec<Link>) = links
        .into_iter()
        .map(|link| (link.device_span.clone(), resolve(has_stations(&link), link)))
        .unzip();
    let key_spans = KeySpans {
        crowd: read.crowd.as_ref().and_then(|read| read.key_span.clone()),
        radio: radio.as_ref().and_then(|read| read.key_span.clone()),
    };
    let radio = radio.map(|radio| radio::resolve(radio, &links));
    let (crowd, crowd_span) = read
        .crowd
        .map(|read| (read.crowd, read.device_span))
        .unzip();
    let (task_spans, beats) = beats::check(read.beats, findings).unzip();
    Checked {
        links,
        device_spans,
        radio,
        crowd,
        crowd_span,
        key_spans,
        beats,
        task_spans: task_spans.unwrap_or_default(),
        user_spans,
    }
}

fn resolve(has_stations: bool, link: ReadLink) -> Link {
    let queue_default = |per_flow: bool| match per_flow || has_stations {
        true => QUEUE_DEFAULT_OF_MANY_PACKETS,
        false => QUEUE_DEFAULT_PACKETS,
    };
    let resolve_class = |class: ReadClass| {
        let queue_packets = class.queue_packets;
        resolve_class(
            queue_packets.unwrap_or(queue_default(class.per_flow)),
            class,
        )
    };
    let mut classes: Vec<Class> = link.classes.into_iter().map(resolve_class).collect();
    if !classes.iter().any(|class| class.is_default) {
        classes.push(implicit_default(queue_default(false), link.line));
    }
    Link {
        device: link.device,
        // Without a rate an error has been reported, and the model is not handed out.
        rate_bps: link.rate_bps.unwrap_or_default(),
        overhead_bytes: link.overhead_bytes,
        pacing: link.pacing,
        packets: link.packets,
        lag_max_ns: link.lag_max_ns,
        has_stations,
        tenants: link.tenants.into_iter().map(resolve_tenant).collect(),
        classes,
    }
}

fn implicit_default(queue_packets: u16, line: usize) -> Class {
    Class {
        name: DEFAULT_CLASS.to_owned(),
        tenant: None,
        rate_bps: None,
        ceil_bps: None,
        weight_milli: WEIGHT_DEFAULT_MILLI,
        floor_bps: None,
        priority: PRIORITY_REST,
        per_flow: false,
        queue_packets,
        gate: None,
        receive: false,
        matches: Vec::new(),
        is_default: true,
        line,
    }
}

fn resolve_tenant(tenant: ReadTenant) -> Tenant {
    let share = tenant.share;
    Tenant {
        name: tenant.name.unwrap_or_default(),
        rate_bps: bps_of(&share.rate),
        ceil_bps: share.limit().and_then(|limit| limit.bps),
        weight_milli: share.weight_milli(),
        floor_bps: bps_of(&share.floor),
        priority: share.priority(),
        line: tenant.line,
    }
}

fn resolve_class(queue_packets: u16, class: ReadClass) -> Class {
    let is_default = class.is_default();
    let gate = background::gate(&class);
    let receive = background::receive(&class);
    let share = class.share;
    Class {
        name: class.name.unwrap_or_default(),
        tenant: class.tenant.map(|(name, _)| name),
        rate_bps: bps_of(&share.rate),
        ceil_bps: share.limit().and_then(|limit| limit.bps),
        weight_milli: share.weight_milli(),
        floor_bps: bps_of(&share.floor),
        priority: share.priority(),
        per_flow: class.per_flow,
        queue_packets,
        gate,
        receive,
        matches: class.matches.into_iter().map(|entry| entry.terms).collect(),
        is_default,
        line: class.line,
    }
}
