//! Tenants that classes name exist, and tenants have classes.

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::ReadLink;
use crate::source::Span;
use crate::value::closest;

pub(super) fn check(link: &ReadLink, findings: &mut Findings) {
    let names = || {
        link.tenants
            .iter()
            .filter_map(|tenant| tenant.name.as_deref())
    };
    // A class may mean a tenant whose name could not be read.
    let all_named = names().count() == link.tenants.len();
    for (name, span) in link
        .classes
        .iter()
        .filter_map(|class| class.tenant.as_ref())
    {
        if all_named && !names().any(|known| known == name) {
            findings.add(unknown(link, name, span, names()));
        }
    }
    for tenant in &link.tenants {
        let has_classes = link.classes.iter().any(
            |class| matches!(&class.tenant, Some((name, _)) if Some(name) == tenant.name.as_ref()),
        );
        if !has_classes {
            let warning = Diagnostic::warning(
                Code::EmptyTenant,
                format!("no class belongs to tenant `{}`", tenant.shown_name()),
                format!(
                    "put tenant = \"{}\" into its classes, or remove the tenant",
                    tenant.shown_name()
                ),
            );
            findings.add(warning.at(&tenant.span, "shares nothing"));
        }
    }
}

fn unknown<'a>(
    link: &ReadLink,
    name: &str,
    span: &Span,
    names: impl Iterator<Item = &'a str>,
) -> Diagnostic {
    let help = match closest(name, names) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => format!(
            "add it, [[link.{}.tenant]] with its name, or leave tenant out",
            link.device
        ),
    };
    Diagnostic::error(
        Code::UnknownTenant,
        format!("{} has no tenant `{name}`", link.device),
        help,
    )
    .at(span, "unknown tenant")
}
