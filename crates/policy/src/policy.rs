//! A policy that has passed every check which needs no host.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::check::{Checked, KeySpans};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{Source, Span};
use crate::{Beats, Code, Crowd, Link, Radio, RadioSource};

/// The content of one file. Only [`parse`](crate::parse) makes one, so a `Policy` is always valid
/// in itself; whether the host can carry it out is checked elsewhere and reported through
/// [`Policy::device_error`], [`Policy::task_error`] and [`Policy::user_error`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Policy {
    /// In file order.
    pub links: Vec<Link>,
    /// The weights of stations, or the reports of a client.
    pub radio: Option<Radio>,
    /// The group that this host shares the air with.
    pub crowd: Option<Crowd>,
    /// `None` without a task.
    pub beats: Option<Beats>,
    /// Allowed settings that are probably not intended.
    pub warnings: Diagnostics,
    #[serde(skip)]
    source: Source,
    /// Where each link's device is named, in the order of `links`.
    #[serde(skip)]
    device_spans: Vec<Span>,
    /// Where the crowd's device is named.
    #[serde(skip)]
    crowd_span: Option<Span>,
    /// Where the key files are named.
    #[serde(skip)]
    key_spans: KeySpans,
    /// Where each task is named, in their order.
    #[serde(skip)]
    task_spans: Vec<Span>,
    /// The first position of each user that goes by name.
    #[serde(skip)]
    user_spans: BTreeMap<String, Span>,
}

/// The table of a policy that names a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOf {
    /// `[crowd]`
    Crowd,
    /// `[radio]`
    Radio,
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
            key_spans: checked.key_spans,
            task_spans: checked.task_spans,
            user_spans: checked.user_spans,
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

    /// An error that only the host could reveal (no such device, a foreign qdisc), in the form of
    /// the parser's own: it underlines the device's name in the file.
    pub fn device_error(
        &self,
        device: &str,
        code: &'static str,
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
        self.host_error(span, Diagnostic::named(code, message, help))
    }

    /// The key files, and the table that names each.
    pub fn keys(&self) -> Vec<(KeyOf, &Path)> {
        let crowd = self.crowd.as_ref().map(|crowd| crowd.key_file.as_path());
        let radio = self
            .radio
            .as_ref()
            .and_then(|radio| radio.key_file.as_deref());
        let of_crowd = crowd.map(|path| (KeyOf::Crowd, path));
        let of_radio = radio.map(|path| (KeyOf::Radio, path));
        of_crowd.into_iter().chain(of_radio).collect()
    }

    /// As [`Policy::device_error`], of a table's key file: it underlines the file's name.
    pub fn key_error(
        &self,
        of: KeyOf,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Diagnostics {
        let error = Diagnostic::error(Code::KeyFile, message, help);
        self.host_error(self.key_span(of), error)
    }

    /// The same for a warning: whether the key is in order could not be found out.
    pub fn warn_of_key(&mut self, of: KeyOf, message: impl Into<String>, help: impl Into<String>) {
        let warning = Diagnostic::warning(Code::KeyFile, message, help);
        let warning = match self.key_span(of) {
            Some(span) => warning.at(span, "named here"),
            None => warning,
        };
        self.warnings.add(warning);
    }

    /// A warning about the crowd on this host; it underlines the device.
    pub fn warn_of_crowd(&mut self, message: impl Into<String>, help: impl Into<String>) {
        let warning = Diagnostic::warning(Code::CrowdCosts, message, help);
        let warning = match &self.crowd_span {
            Some(span) => warning.at(span, "shared with all at that access point"),
            None => warning,
        };
        self.warnings.add(warning);
    }

    fn key_span(&self, of: KeyOf) -> Option<&Span> {
        match of {
            KeyOf::Crowd => self.key_spans.crowd.as_ref(),
            KeyOf::Radio => self.key_spans.radio.as_ref(),
        }
    }

    /// As [`Policy::device_error`], of the task at `index`: no such control group, no room left on
    /// the CPUs.
    pub fn task_error(
        &self,
        index: usize,
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Diagnostics {
        let span = self.task_spans.get(index);
        self.host_error(span, Diagnostic::named(code, message, help))
    }

    /// The same for the first match that asks for the user of this name.
    pub fn user_error(
        &self,
        name: &str,
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Diagnostics {
        let span = self.user_spans.get(name);
        self.host_error(span, Diagnostic::named(code, message, help))
    }

    fn host_error(&self, named: Option<&Span>, error: Diagnostic) -> Diagnostics {
        let error = match named {
            Some(span) => error.at(span, "named here"),
            None => error,
        };
        Diagnostics::new(self.source.clone(), vec![error], 0)
    }
}
