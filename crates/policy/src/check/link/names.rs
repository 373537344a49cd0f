//! Names of classes are unique within a link, and so are names of tenants.

use crate::Code;
use crate::check::unique::check_unique;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::ReadLink;

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
