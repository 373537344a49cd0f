//! Class names are unique within a link.

use std::collections::HashMap;

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{ReadClass, ReadLink};

pub(super) fn check(link: &ReadLink, findings: &mut Findings) {
    let mut first_by_name: HashMap<&str, &ReadClass> = HashMap::new();
    for class in &link.classes {
        let Some(name) = class.name.as_deref() else {
            continue;
        };
        let first = *first_by_name.entry(name).or_insert(class);
        if !std::ptr::eq(first, class) {
            let error = Diagnostic::error(
                Code::DuplicateClass,
                format!("{} has two classes named `{name}`", link.device),
                format!(
                    "rename one, or add its match to the class in line {}: match = [{{ … }}, {{ … }}]",
                    first.line
                ),
            );
            findings.add(
                error
                    .at(&class.span, "again here")
                    .at(&first.span, "first here"),
            );
        }
    }
}
