//! A policy that has passed every check which needs no host.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::check::Checked;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{Source, Span};
use crate::{Beats, Code, Crowd, Link, Radio, RadioSource};

/// What one file asks for. Made by [`parse`](crate::parse) only, so a `Policy` is always sound in
/// itself; whether the host can do it is for others to say, through [`Policy::device_error`] and
/// [`Policy::task_error`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Policy {
    /// In file order.
    pub links: Vec<Link>,
    /// How stations are weighed, or what a client reports.
    pub radio: Option<Radio>,
    /// Whom this host shares the air with.
    pub crowd: Option<Crowd>,
    /// `None` without a task.
    pub beats: Option<Beats>,
    /// What is allowed but perhaps not meant.
    pub warnings: Diagnostics,
    #[serde(skip)]
    source: Source,
    /// Where each link's device is named, in the order of `links`.
    #[serde(skip)]
    device_spans: Vec<Span>,
    /// Where the crowd's device is named.
    #[serde(skip)]
    crowd_span: Option<Span>,
    /// Where each task is named, in their order.
    #[serde(skip)]
    task_spans: Vec<Span>,
}

impl Policy {
    pub(crate) fn new(source: Source, checked: Checked, warnings: Diagnostics) -> Policy {
        Policy {
            links: checked.links,
            radio: checked.radio,
            crowd: checked.crowd,
            beats: checked.beats,
            warnings,
            source,
            device_spans: checked.device_spans,
            crowd_span: checked.crowd_span,
            task_spans: checked.task_spans,
        }
    }

    /// Has the relative paths in the policy start at `folder`, where its file is.
    pub(crate) fn stands_in(&mut self, folder: &Path) {
        let place = |path: &mut PathBuf| *path = folder.join(&path);
        if let Some(crowd) = &mut self.crowd {
            place(&mut crowd.key_file);
        }
        let Some(radio) = &mut self.radio else {
            return;
        };
        radio.key_file.iter_mut().for_each(place);
        if let RadioSource::File(path) = &mut radio.source {
            place(path);
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
        let named = self.links.iter().position(|link| link.device == device);
        let of_link = named.and_then(|index| self.device_spans.get(index));
        let is_crowds = self
            .crowd
            .as_ref()
            .is_some_and(|crowd| crowd.device == device);
        let span = of_link.or(self.crowd_span.as_ref().filter(|_| is_crowds));
        self.host_error(span, Diagnostic::error(code, message, help))
    }

    /// Likewise of the task at `index`: no such control group, no room left on the CPUs.
    pub fn task_error(
        &self,
        index: usize,
        code: Code,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Diagnostics {
        let span = self.task_spans.get(index);
        self.host_error(span, Diagnostic::error(code, message, help))
    }

    fn host_error(&self, named: Option<&Span>, error: Diagnostic) -> Diagnostics {
        let error = match named {
            Some(span) => error.at(span, "named here"),
            None => error,
        };
        Diagnostics::new(self.source.clone(), vec![error], 0)
    }
}
