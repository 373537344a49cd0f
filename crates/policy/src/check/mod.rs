//! Parts of a policy against each other: entries that can never match, duplicates, guarantees
//! beyond the link. Then the model, with every default filled in.

mod beats;
mod crowd;
mod link;
mod radio;
mod unique;

use std::collections::BTreeMap;

use crate::findings::Findings;
use crate::read::{ReadLink, ReadPolicy};
use crate::source::{Source, Span};
use crate::{Beats, Crowd, Link, Radio};

pub(crate) use link::terms::complete;

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
    let (mut links, radio) = (read.links, read.radio);
    let has_stations = |link: &ReadLink| radio.iter().any(|radio| radio.covers(&link.device));
    link::check(&mut links, has_stations, source, findings);
    let user_spans = link::users(&links);
    if let Some(radio) = &radio {
        radio::check(radio, &links, findings);
    }
    if let Some(crowd) = &read.crowd {
        crowd::check(crowd, &links, findings);
    }
    let thins_acks = |link: &ReadLink| read.crowd.iter().any(|crowd| crowd.thins(&link.device));
    let (device_spans, links): (_, Vec<Link>) = links
        .into_iter()
        .flat_map(|link| link::resolve(has_stations(&link), thins_acks(&link), link))
        .unzip();
    let key_spans = KeySpans {
        crowd: read.crowd.as_ref().and_then(|read| read.key_span.clone()),
        radio: radio.as_ref().and_then(|read| read.key_span.clone()),
    };
    let radio = radio.map(|radio| radio::resolve(radio, &links));
    let (crowd, crowd_span) = read
        .crowd
        .and_then(|read| Some((read.crowd?, read.device_span)))
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
