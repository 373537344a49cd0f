//! A policy that has passed every check which needs no host.

use serde::Serialize;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{Source, Span};
use crate::{Code, Link};

/// What one file asks for. Made by [`parse`](crate::parse) only, so a `Policy` is always sound in
/// itself; whether the host can do it is for others to say, through [`Policy::device_error`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Policy {
    /// In file order.
    pub links: Vec<Link>,
    /// What is allowed but perhaps not meant.
    pub warnings: Diagnostics,
    #[serde(skip)]
    source: Source,
    /// Where each link's device is named, in the order of `links`.
    #[serde(skip)]
    device_spans: Vec<Span>,
}

impl Policy {
    pub(crate) fn new(source: Source, links: Vec<(Span, Link)>, warnings: Diagnostics) -> Policy {
        let (device_spans, links) = links.into_iter().unzip();
        Policy {
            links,
            warnings,
            source,
            device_spans,
        }
    }

    /// An error that only the host could reveal (no such device, another's qdisc), in the form of the parser's own: it underlines the device's name in the file.
    pub fn device_error(
        &self,
        device: &str,
        code: Code,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Diagnostics {
        let error = Diagnostic::error(code, message, help);
        let named = self.links.iter().position(|link| link.device == device);
        let error = match named.and_then(|index| self.device_spans.get(index)) {
            Some(span) => error.at(span, "named here"),
            None => error,
        };
        Diagnostics::new(self.source.clone(), vec![error], 0)
    }
}
