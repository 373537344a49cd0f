//! Names of classes are unique within a link, and so are names of tenants.

use std::collections::HashMap;

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::ReadLink;
use crate::source::Span;

/// A name, its position, and the line of its table.
type Named<'a> = (&'a str, &'a Span, usize);

pub(super) fn check(link: &ReadLink, findings: &mut Findings) {
    let classes = link
        .classes
        .iter()
        .filter_map(|class| Some((class.name.as_deref()?, &class.span, class.line)));
    check_unique(classes, findings, |name, first_line| {
        Diagnostic::error(
            Code::DuplicateClass,
            format!("{} has two classes named `{name}`", link.device),
            format!(
                "rename one, or add its match to the class in line {first_line}: \
                 match = [{{ … }}, {{ … }}]"
            ),
        )
    });
    let tenants = link
        .tenants
        .iter()
        .filter_map(|tenant| Some((tenant.name.as_deref()?, &tenant.span, tenant.line)));
    check_unique(tenants, findings, |name, first_line| {
        Diagnostic::error(
            Code::DuplicateTenant,
            format!("{} has two tenants named `{name}`", link.device),
            format!("rename one, or remove it: classes may share the tenant in line {first_line}"),
        )
    });
}

/// `error` gets the name and the line of its first use.
pub(super) fn check_unique<'a>(
    named: impl Iterator<Item = Named<'a>>,
    findings: &mut Findings,
    error: impl Fn(&str, usize) -> Diagnostic,
) {
    let mut first_by_name = HashMap::new();
    for (name, span, line) in named {
        let (first_span, first_line) = *first_by_name.entry(name).or_insert((span, line));
        if first_span != span {
            findings.add(
                error(name, first_line)
                    .at(span, "again here")
                    .at(first_span, "first here"),
            );
        }
    }
}
