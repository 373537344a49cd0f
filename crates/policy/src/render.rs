//! Diagnostics as text, drawn by miette.

use std::fmt;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan};

use crate::diagnostic::{Diagnostic, Label, Severity};
use crate::source::Source;

/// Columns that messages are wrapped at.
const WIDTH: usize = 100;

pub(crate) fn render(source: &Source, diagnostics: &[Diagnostic], color: bool) -> String {
    let theme = if color {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(WIDTH)
        .with_context_lines(0)
        .without_syntax_highlighting();
    let mut out = String::new();
    for diagnostic in diagnostics {
        for picture in pictures(source, diagnostic) {
            if handler.render_report(&mut out, &picture).is_err() {
                // Writing to a String does not fail, and labels lie within the text. Should miette
                // fail even so, the message is still shown.
                out.push_str(picture.message);
            }
        }
        out.push('\n');
    }
    out
}

/// One line of the file with its labels.
#[derive(Debug)]
struct Picture<'a> {
    source: &'a Source,
    message: &'a str,
    labels: Vec<&'a Label>,
    /// The finding itself; absent in a picture that explains another.
    finding: Option<&'a Diagnostic>,
}

/// The position of the finding first, with the labels in the same line; then each other position.
/// miette's own order is that of the file.
fn pictures<'a>(source: &'a Source, finding: &'a Diagnostic) -> Vec<Picture<'a>> {
    let line = |label: &Label| source.row(label.span.start);
    let own_line = finding.labels.first().map(line);
    let (labels, others): (Vec<_>, Vec<_>) = finding
        .labels
        .iter()
        .partition(|label| Some(line(label)) == own_line);
    let main = Picture {
        source,
        message: &finding.message,
        labels,
        finding: Some(finding),
    };
    let explaining = others.into_iter().map(|label| Picture {
        source,
        message: &label.text,
        labels: vec![label],
        finding: None,
    });
    std::iter::once(main).chain(explaining).collect()
}

impl fmt::Display for Picture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}

impl std::error::Error for Picture<'_> {}

impl miette::Diagnostic for Picture<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.finding?.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.finding.map(|finding| finding.severity) {
            Some(Severity::Error) => miette::Severity::Error,
            Some(Severity::Warning) => miette::Severity::Warning,
            None => miette::Severity::Advice,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.finding?.help))
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let labels = self.labels.iter().enumerate().map(|(index, label)| {
            let span = self.source.underline(&label.span);
            // A picture that explains another has its text above it.
            let has_text = self.finding.is_some() && !label.text.is_empty();
            let text = has_text.then(|| label.text.clone());
            match index {
                0 => LabeledSpan::new_primary_with_span(text, span),
                _ => LabeledSpan::new_with_span(text, span),
            }
        });
        (!self.labels.is_empty()).then_some(Box::new(labels))
    }
}
