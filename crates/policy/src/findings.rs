//! Collects findings of the reader and the checks, within bounds.

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::source::Source;

/// A longer list of findings is hard to read.
const SHOWN_MAX: usize = 20;

/// Errors and warnings of one file as they come up.
#[derive(Default)]
pub(crate) struct Findings {
    errors: Bounded,
    warnings: Bounded,
}

#[derive(Default)]
struct Bounded {
    kept: Vec<Diagnostic>,
    omitted: usize,
}

impl Findings {
    pub fn add(&mut self, diagnostic: Diagnostic) {
        let list = match diagnostic.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        if list.kept.len() < SHOWN_MAX {
            list.kept.push(diagnostic);
        } else {
            list.omitted += 1;
        }
    }

    pub fn has_errors(&self) -> bool {
        !self.errors.kept.is_empty()
    }

    /// The warnings if there is no error, else the errors.
    pub fn conclude(self, source: &Source) -> Result<Diagnostics, Diagnostics> {
        let found = |list: Bounded| Diagnostics::new(source.clone(), list.kept, list.omitted);
        if self.has_errors() {
            Err(found(self.errors))
        } else {
            Ok(found(self.warnings))
        }
    }
}
