//! A host has a bounded number of links.

use super::background;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::ReadLink;
use crate::{Code, LINKS_MAX};

pub(super) fn check(links: &[ReadLink], findings: &mut Findings) {
    let total: usize = links.iter().map(places).sum();
    let mut taken = 0;
    for link in links {
        taken += places(link);
        if taken > LINKS_MAX {
            let receiving = total - links.len();
            let problem = match receiving {
                0 => format!("{total} links are"),
                _ => format!("{} links, {receiving} of which receive, are", links.len()),
            };
            let error = Diagnostic::error(
                Code::TooManyLinks,
                format!("{problem} more than the {LINKS_MAX} places a host has for them"),
                "a link with a download takes two, and so does one whose class in the background \
                 receives: receive = false, or fewer links",
            );
            findings.add(error.at(&link.device_span, "the first one too many"));
            return;
        }
    }
}

/// The receive side of a link counts as a link, and so does its download, which takes its place.
fn places(link: &ReadLink) -> usize {
    let receives = || link.classes.iter().any(background::receive);
    1 + usize::from(link.download.is_some() || receives())
}
